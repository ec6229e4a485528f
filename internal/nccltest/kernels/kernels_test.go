package kernels

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "make kernels.ptx anew if its sources have changed")

// What the PTX is lowered to: see the package's comment.
const (
	isa    = "4.0"
	target = "sm_50"
)

var sources = []string{"kernels.cu", "series.cuh"}

// TestPTXIsMadeFromItsSources fails where a source has changed since the PTX was
// made, or where the PTX was changed by hand.
func TestPTXIsMadeFromItsSources(t *testing.T) {
	text := PTX
	if *update && !current(t, text) {
		text = compile(t)
		require.NoError(t, os.WriteFile("kernels.ptx", text, 0o644))
	}
	assert.True(t, current(t, text), "run go generate where CUDA's compiler is")
}

func current(t *testing.T, text []byte) bool {
	header, body, found := bytes.Cut(text, []byte("\n\n"))
	return found && string(header) == head(t, body)
}

// head is the first lines of the PTX.
func head(t *testing.T, body []byte) string {
	var b strings.Builder
	b.WriteString("// Made from kernels.cu and series.cuh by go generate. DO NOT EDIT.")
	for _, name := range sources {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		fmt.Fprintf(&b, "\n// %-10s  sha256 %s", name, sum(data))
	}
	fmt.Fprintf(&b, "\n// %-10s  sha256 %s", "the rest", sum(body))
	return b.String()
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

var (
	comments  = regexp.MustCompile(`(?m)^//.*\n`)
	toolkit   = regexp.MustCompile(`(?m)^// (Cuda compilation tools, .*)$`)
	directive = regexp.MustCompile(`(?m)^\.(version|target) .*$`)
)

// compile runs CUDA's compiler for the lowest GPU that it knows, lowers what the
// PTX asks for, and has the assembler judge that.
func compile(t *testing.T) []byte {
	nvcc := strings.Fields(os.Getenv("NVCC"))
	if len(nvcc) == 0 {
		nvcc = []string{"nvcc"}
	}
	if _, err := exec.LookPath(nvcc[0]); err != nil {
		require.NoError(t, err, "kernels.ptx is older than its sources: install CUDA's compiler, or set NVCC to it")
	}
	file := filepath.Join(t.TempDir(), "kernels.ptx")
	run := func(args ...string) ([]byte, error) {
		return exec.Command(nvcc[0], append(nvcc[1:len(nvcc):len(nvcc)], args...)...).CombinedOutput()
	}
	output, err := run("-ptx", "-arch=compute_50", "-o", file, "kernels.cu")
	if err != nil {
		// CUDA 13 begins with compute_75.
		output, err = run("-ptx", "-arch=compute_75", "-o", file, "kernels.cu")
	}
	require.NoError(t, err, "%s", output)
	made, err := os.ReadFile(file)
	require.NoError(t, err)

	body := comments.ReplaceAll(made, nil)
	body = directive.ReplaceAllFunc(body, func(line []byte) []byte {
		if bytes.HasPrefix(line, []byte(".version")) {
			return []byte(".version " + isa)
		}
		return []byte(".target " + target)
	})
	body = append(bytes.TrimSpace(body), '\n')
	if by := toolkit.FindSubmatch(made); by != nil {
		body = append([]byte("// "+string(by[1])+"\n"), body...)
	}
	text := append([]byte(head(t, body)+"\n\n"), body...)

	require.NoError(t, os.WriteFile(file, text, 0o644))
	output, err = run("-cubin", "-arch=sm_90", "-o", file+".cubin", file)
	require.NoError(t, err, "the assembler refuses PTX %s for %s: raise them\n%s", isa, target, output)
	return text
}
