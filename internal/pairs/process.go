package pairs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Tool is a program that speaks perftest's protocol.
type Tool struct {
	// Name stands for it in messages: "C", "Go".
	Name string
	// Argv is the command, with the arguments that come before all others.
	Argv []string
	// Env are variables added to this process's environment.
	Env []string
	// Attr is how the process is made; nil is the usual way.
	Attr *syscall.SysProcAttr
}

// Process is a running tool.
type Process struct {
	Tool           Tool
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan struct{}
	err            error
}

// Output is how a process ended and what it wrote.
type Output struct {
	Tool           string
	Stdout, Stderr string
	// Status is the exit status, or -1 if a signal killed it.
	Status int
}

// Start starts a tool. It is killed when ctx ends.
func Start(ctx context.Context, tool Tool, args ...string) (*Process, error) {
	p := &Process{Tool: tool, done: make(chan struct{})}
	argv := append(append([]string{}, tool.Argv...), args...)
	p.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	p.cmd.Env = append(os.Environ(), tool.Env...)
	p.cmd.SysProcAttr = tool.Attr
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Signal sends the process a signal.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Wait waits for the end. An exit status is no error.
func (p *Process) Wait() (Output, error) {
	<-p.done
	out := Output{Tool: p.Tool.Name, Stdout: p.stdout.String(), Stderr: p.stderr.String(), Status: p.cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		return out, p.err
	}
	return out, nil
}

// end kills the process and waits for it.
func (p *Process) end() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Listening waits until a process listens on the TCP port, as /proc/net/tcp has
// it. It fails if the process ends before.
func (p *Process) Listening(ctx context.Context, port int) error {
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		table, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			tick.Stop()
			return err
		}
		if listens(string(table), port) {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
			continue
		case <-p.done:
			err = fmt.Errorf("%s ended before it listened on port %d: %s", p.Tool.Name, port, strings.TrimSpace(p.stderr.String()))
		case <-ctx.Done():
			err = ctx.Err()
		}
		tick.Stop()
		return err
	}
}

// ListeningCM waits until a process listens on the port of the connection manager,
// as iproute2's rdma shows it. It fails if the process ends before.
func (p *Process) ListeningCM(ctx context.Context, port int) error {
	for {
		table, err := exec.CommandContext(ctx, "rdma", "resource", "show", "cm_id").Output()
		if err != nil {
			return fmt.Errorf("rdma resource show cm_id: %w", err)
		}
		if listensCM(string(table), port) {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-p.done:
			return fmt.Errorf("%s ended before it listened on port %d: %s", p.Tool.Name, port, strings.TrimSpace(p.stderr.String()))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listensCM looks for a listener of the port in what "rdma resource show cm_id"
// prints.
func listensCM(table string, port int) bool {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if slices.Contains(fields, "LISTEN") && slices.ContainsFunc(fields, func(f string) bool { return strings.HasSuffix(f, fmt.Sprintf(":%d", port)) }) {
			return true
		}
	}
	return false
}

// listens looks for a listening socket of the port in the text of
// /proc/net/tcp.
func listens(table string, port int) bool {
	const listening = "0A"
	want := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) > 3 && strings.HasSuffix(fields[1], want) && fields[3] == listening {
			return true
		}
	}
	return false
}

// Pair is a server and a client.
type Pair struct {
	Server, Client         Tool
	ServerArgs, ClientArgs []string
	// Port is the TCP port of the control connection.
	Port int
	// Host is the server's address; empty is 127.0.0.1.
	Host string
	// CM tells that the control connection is the connection manager's.
	CM bool
}

// Run runs both to their ends.
func (p Pair) Run(ctx context.Context) (server, client Output, err error) {
	s, c, err := p.Start(ctx)
	if err != nil {
		return server, client, err
	}
	client, err = c.Wait()
	if err == nil && client.Status != 0 {
		// The server of a client that never connected would wait for ever.
		_ = s.Signal(syscall.SIGTERM)
	}
	server, serverErr := s.Wait()
	return server, client, errors.Join(err, serverErr)
}

// Start starts the server, waits until it listens, and starts the client.
func (p Pair) Start(ctx context.Context) (server, client *Process, err error) {
	port := fmt.Sprint(p.Port)
	server, err = Start(ctx, p.Server, append([]string{"-p", port}, p.ServerArgs...)...)
	if err != nil {
		return nil, nil, err
	}
	listening := server.Listening
	if p.CM {
		listening = server.ListeningCM
	}
	if err := listening(ctx, p.Port); err != nil {
		server.end()
		return nil, nil, err
	}
	host := p.Host
	if host == "" {
		host = "127.0.0.1"
	}
	args := append([]string{"-p", port}, p.ClientArgs...)
	if client, err = Start(ctx, p.Client, append(args, host)...); err != nil {
		server.end()
		return nil, nil, err
	}
	return server, client, nil
}
