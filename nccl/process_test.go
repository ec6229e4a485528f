//go:build linux && cgo

package nccl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// idEnv hands a unique id to the process of the other rank.
const idEnv = "GOFABRIC_TEST_NCCL_ID"

// TestPeerProcess is the other rank: it reduces once, says so, and then waits to
// be told whether to end in good order, or killed.
func TestPeerProcess(t *testing.T) {
	text := os.Getenv(idEnv)
	if text == "" {
		testutil.Skip(t, "is the other process of the tests of two")
	}
	var id UniqueID
	require.NoError(t, id.UnmarshalText([]byte(text)))
	r := newBench(t, 2)
	c, err := InitRank(r.ctx, r.devs[1], id, 1, 2, Config{})
	require.NoError(t, err)
	b := r.alloc(1, elements(t, Float32, 8, func(int) float64 { return 2 })).Span()
	require.NoError(t, c.AllReduce(r.ctx, b, b, 8, Float32, Sum, r.streams[1]))
	require.NoError(t, c.Wait(r.ctx, r.streams[1]))
	assert.Equal(t, elements(t, Float32, 8, func(int) float64 { return 3 }), r.read(1, b))
	fmt.Println("reduced")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, c.Close(r.ctx))
	fmt.Println("closed")
}

// peer is the process of rank 1.
type peer struct {
	*exec.Cmd
	in  *os.File
	out *bufio.Scanner
}

func startPeer(t testing.TB, id UniqueID) *peer {
	t.Helper()
	text, err := id.MarshalText()
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestPeerProcess$", "-test.v")
	cmd.Env = append(os.Environ(), idEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdin = read
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, read.Close())
	p := &peer{Cmd: cmd, in: write, out: bufio.NewScanner(stdout)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = write.Close()
	})
	return p
}

// says waits for a line.
func (p *peer) says(t testing.TB, want string) {
	t.Helper()
	var seen []string
	for p.out.Scan() {
		if p.out.Text() == want {
			return
		}
		seen = append(seen, p.out.Text())
	}
	require.Fail(t, "the peer has ended", "it said %s", strings.Join(seen, "\n"))
}

// withPeer makes a communicator with another process and reduces once.
func (r *rig) withPeer() (*Comm, *peer, cuda.Span) {
	r.t.Helper()
	id, err := NewUniqueID()
	require.NoError(r.t, err)
	p := startPeer(r.t, id)
	c, err := InitRank(r.ctx, r.devs[0], id, 0, 2, Config{})
	require.NoError(r.t, err)
	b := r.alloc(0, elements(r.t, Float32, 8, func(int) float64 { return 1 })).Span()
	require.NoError(r.t, c.AllReduce(r.ctx, b, b, 8, Float32, Sum, r.streams[0]))
	require.NoError(r.t, c.Wait(r.ctx, r.streams[0]))
	assert.Equal(r.t, elements(r.t, Float32, 8, func(int) float64 { return 3 }), r.read(0, b))
	p.says(r.t, "reduced")
	return c, p, b
}

func TestTwoProcesses(t *testing.T) {
	r := newBench(t, 2)
	c, p, _ := r.withPeer()
	_, err := p.in.WriteString("end\n")
	require.NoError(t, err)
	require.NoError(t, c.Close(r.ctx))
	p.says(t, "closed")
	require.NoError(t, p.Wait())
}

// The peer's process is killed during a collective. NCCL notices or does not; the
// program gets its error or its deadline, aborts within the bound, and builds a
// new communicator.
func TestPeerKilledDuringACollective(t *testing.T) {
	r := newBench(t, 2)
	c, p, b := r.withPeer()
	require.NoError(t, c.AllReduce(r.ctx, b, b, 8, Float32, Sum, r.streams[0]))
	require.NoError(t, p.Process.Kill())
	err := c.Wait(soon(t), r.streams[0])
	require.Error(t, err)
	assert.True(t, errors.Is(err, ResultRemoteError) || errors.Is(err, ResultSystemError) || errors.Is(err, context.DeadlineExceeded), "%v", err)
	require.NoError(t, c.Abort(r.ctx))
	require.NoError(t, r.streams[0].Synchronize(r.ctx))
	r.init(Config{})
	r.sumOnce()
}

// child runs tests of this binary in a process with another environment.
func child(t testing.TB, tests string, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run="+tests, "-test.v")
	cmd.Env = append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}

// expectEnv tells TestLoad what to find.
const expectEnv = "GOFABRIC_TEST_NCCL_LOAD"

func TestLoad(t *testing.T) {
	if expect, ok := os.LookupEnv(expectEnv); ok {
		loadAsTold(t, expect)
		return
	}
	fakes(t)
	info, err := Library()
	require.NoError(t, err)
	// Nowhere.
	empty := t.TempDir()
	nothing := []string{"VIRTUAL_ENV=" + empty, "CONDA_PREFIX=", "PATH=" + empty, "HOME=" + empty}
	child(t, "^TestLoad$", append(nothing, PathEnv+"="+filepath.Join(empty, "none.so"), expectEnv+"=")...)
	// In a wheel below the virtual environment. A library of the machine's own,
	// where it has one, comes first.
	site := filepath.Join(empty, "lib", "python3.12", "site-packages", "nvidia", "nccl", "lib")
	require.NoError(t, os.MkdirAll(site, 0o755))
	require.NoError(t, os.Symlink(info.Path, filepath.Join(site, "libnccl.so.2")))
	t.Setenv("VIRTUAL_ENV", empty)
	assert.Contains(t, wheels(), filepath.Join(site, "libnccl.so.2"))
	// By the dynamic linker.
	child(t, "^TestLoad$", append(nothing, PathEnv+"=", "LD_LIBRARY_PATH="+site, expectEnv+"="+info.Path)...)
}

func loadAsTold(t *testing.T, expect string) {
	// The fake libnccl wants a libcuda in the process.
	_, err := cuda.DeviceCount()
	require.NoError(t, err)
	info, err := Library()
	if expect == "" {
		require.ErrorIs(t, err, ErrLibraryNotFound)
		_, err = NewUniqueID()
		require.ErrorIs(t, err, ErrLibraryNotFound)
		_, err = MemAlloc(nil, 1)
		require.ErrorIs(t, err, ErrLibraryNotFound)
		return
	}
	require.NoError(t, err)
	assert.Equal(t, expect, info.Path)
}
