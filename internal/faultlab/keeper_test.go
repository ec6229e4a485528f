//go:build linux && amd64

package faultlab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gofabric/gofabric/internal/lab"
)

// roleEnv says which part of the suite a process in a guest plays.
const roleEnv = "GOFABRIC_FAULTLAB_ROLE"

// TestMain makes this binary the init of the guests, and what runs in them.
func TestMain(m *testing.M) {
	lab.Guest()
	switch os.Getenv(roleEnv) {
	case "keeper":
		(&keeper{}).run(os.Stdin)
	case "worker":
		newWorker().run(os.Stdin)
	case "caller":
		newCaller().run(os.Stdin)
	default:
		os.Exit(m.Run())
	}
}

// keeper holds a worker, which it can kill while the guest lives on.
type keeper struct {
	worker *exec.Cmd
	input  io.WriteCloser
}

func (k *keeper) run(commands io.Reader) {
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			fail(err)
		}
		if c.Keeper {
			text, err := k.do(c)
			if err != nil {
				fail(fmt.Errorf("%s: %w: %s", c.Do, err, text))
			}
			say(message{Is: c.Do, Text: text})
			continue
		}
		if _, err := k.input.Write(append(lines.Bytes(), '\n')); err != nil {
			fail(err)
		}
	}
}

func (k *keeper) do(c command) (string, error) {
	switch c.Do {
	case "start":
		k.worker = exec.Command(os.Args[0])
		role := "worker"
		if len(c.Args) > 0 {
			role = c.Args[0]
		}
		k.worker.Env = append(os.Environ(), roleEnv+"="+role)
		k.worker.Stdout, k.worker.Stderr = os.Stdout, os.Stderr
		var err error
		if k.input, err = k.worker.StdinPipe(); err != nil {
			return "", err
		}
		return "", k.worker.Start()
	case "stop":
		return "", k.worker.Process.Signal(syscall.SIGSTOP)
	case "continue":
		return "", k.worker.Process.Signal(syscall.SIGCONT)
	case "kill":
		if err := k.worker.Process.Kill(); err != nil {
			return "", err
		}
		// Being killed is an error to Wait.
		_ = k.worker.Wait()
		return "", nil
	case "wait":
		return "", k.worker.Wait()
	case "tool":
		out, err := exec.Command(c.Args[0], c.Args[1:]...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	return "", fmt.Errorf("the keeper knows no command %q", c.Do)
}
