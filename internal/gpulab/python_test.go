//go:build linux && cgo

package gpulab

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nccl"
)

// Programs for the python3 on PATH.
var (
	//go:embed testdata/library.py
	libraryProgram string
	//go:embed testdata/rank.py
	rankProgram string
	//go:embed testdata/peer.py
	peerProgram string
)

const (
	withEnv = "GOFABRIC_GPULAB_WITH" // the module that the other rank uses: cupy or torch
	mayFail = "GOFABRIC_GPULAB_MAY_FAIL"
)

// python is a command for a program. The program's limit is its first argument.
func python(name, program string, limit time.Duration, args ...string) command {
	return command{
		name: name, limit: limit,
		args: append([]string{"python3", "-u", "-c", program, fmt.Sprint(int(limit.Seconds()))}, args...),
	}
}

// hasPython reports whether a module can be imported.
func hasPython(module string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	check := "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
	return exec.CommandContext(ctx, "python3", "-c", check, module).Run() == nil
}

func needPython(t testing.TB, module string) {
	t.Helper()
	if !realGPU || !hasPython(module) {
		testutil.Skip(t, "needs GPUs and a python3 with "+module)
	}
}

// pythonLibrary is the libnccl that a Python module loads.
type pythonLibrary struct {
	Path    string
	Version int
}

func (l pythonLibrary) String() string {
	return fmt.Sprintf("NCCL %v (%s)", nccl.Version(l.Version), l.Path)
}

func libraryOf(t tester, module string) (l pythonLibrary) {
	t.Helper()
	p := launch(t, python(module, libraryProgram, 90*time.Second, module))
	require.NoError(t, p.wait())
	for line := range bytes.Lines(p.output.Bytes()) {
		if line[0] == '{' { // the rest are warnings
			require.NoError(t, json.Unmarshal(line, &l))
		}
	}
	require.NotEmpty(t, l.Path, "%s", p.said())
	return l
}

// besideRole is rank 0, in Go; it starts rank 1, in Python, on the next GPU.
func besideRole(p *process) {
	module := os.Getenv(withEnv)
	r := newBench(p, 1)
	lib, err := nccl.Library()
	require.NoError(p, err)
	id, err := nccl.NewUniqueID()
	require.NoError(p, err)
	other := launch(p, python(module, rankProgram, 50*time.Second, module, offer(p, id, module == "cupy"), fmt.Sprint(ordinalOf(1))))

	start := time.Now()
	ctx, cancel := context.WithTimeout(r.ctx, 40*time.Second)
	defer cancel()
	// There is no use in waiting for a rank 1 that has ended.
	starting, stop := context.WithCancel(ctx)
	begun := make(chan struct{})
	go func() {
		select {
		case <-other.done:
			stop()
		case <-begun:
		}
	}()
	c, err := nccl.InitRank(starting, r.devs[0], id, 0, 2, nccl.Config{AbortTimeout: 10 * time.Second})
	close(begun)
	if err != nil && os.Getenv(mayFail) != "" {
		<-other.done
		figure("mixed libraries: Go with NCCL %v (%s) was refused after %.2f s: %v", lib.Version, lib.Path, time.Since(start).Seconds(), err)
		figure("mixed libraries: the Python side ended with %v", other.err)
		return
	}
	if err != nil {
		_ = other.cmd.Process.Kill()
		<-other.done
		fatal(p, "%v\n%s", err, other.said())
	}
	for range 20 {
		require.NoError(p, sumAlone(ctx, c, r.streams[0], 1, 11))
	}
	require.NoError(p, c.Close(ctx))
	require.NoError(p, other.wait())
	figure("Go rank 0 and Python rank 1 (%s), one communicator: 20 sums right on both; Go loaded NCCL %v from %s", module, lib.Version, lib.Path)
}

// offer makes the id known, by TCP to who connects first, or by a file, and
// answers where.
func offer(p *process, id nccl.UniqueID, byTCP bool) string {
	if !byTCP {
		dir, err := os.MkdirTemp("", "gpulab-")
		require.NoError(p, err)
		p.Cleanup(func() { os.RemoveAll(dir) })
		require.NoError(p, os.WriteFile(filepath.Join(dir, "new"), id[:], 0o600))
		require.NoError(p, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "id")))
		return "file:" + filepath.Join(dir, "id")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(p, err)
	p.Cleanup(func() { l.Close() })
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Write(id[:])
			conn.Close()
		}
	}()
	return "tcp:" + l.Addr().String()
}

// A Go rank and a Python rank in one communicator, over the libnccl that the
// module loads, so that both have the same file.
func besidePython(t *testing.T, module string) {
	t.Helper()
	begin(t, 2, 3*time.Minute)
	needPython(t, module)
	lib := libraryOf(t, module)
	figure("%s loads %v", module, lib)
	p := launch(t, role("beside", time.Minute, withEnv+"="+module, nccl.PathEnv+"="+lib.Path))
	require.NoError(t, p.wait())
}

func TestGoAndCuPyInOneCommunicator(t *testing.T) { besidePython(t, "cupy") }

func TestGoAndPyTorchInOneCommunicator(t *testing.T) { besidePython(t, "torch") }

// nccl#2289: two releases of NCCL in one communicator. Whatever NCCL makes of it,
// it is over soon, and the error or the result says which file was loaded here.
func TestMixedLibraryVersions(t *testing.T) {
	begin(t, 2, 3*time.Minute)
	needPython(t, "torch")
	mine, err := nccl.Library()
	require.NoError(t, err)
	theirs := libraryOf(t, "torch")
	if nccl.Version(theirs.Version) == mine.Version {
		testutil.Skip(t, fmt.Sprintf("needs two releases: here is NCCL %v and torch's is the same", mine.Version))
	}
	figure("mixed libraries: Go loads NCCL %v (%s), torch %v", mine.Version, mine.Path, theirs)
	p := launch(t, role("beside", time.Minute, withEnv+"=torch", nccl.PathEnv+"="+mine.Path, mayFail+"=1"))
	require.NoError(t, p.wait())
}
