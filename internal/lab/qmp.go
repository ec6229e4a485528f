package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// monitorConn is a stream whose waiting can be ended.
type monitorConn interface {
	io.ReadWriteCloser
	SetDeadline(t time.Time) error
}

// monitor is a client of QEMU's machine protocol, QMP: one JSON object a line,
// answers in the order of the commands, events in between.
type monitor struct {
	mu    sync.Mutex
	conn  monitorConn
	lines *bufio.Reader
	ready bool // the greeting was answered
}

func newMonitor(conn monitorConn) *monitor {
	return &monitor{conn: conn, lines: bufio.NewReader(conn)}
}

// do runs a command. After an error that is not QEMU's the connection is lost.
func (m *monitor) do(ctx context.Context, command string, arguments map[string]any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.conn.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("lab: QEMU's monitor: %w", err)
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		// A connection that has no deadline is closed: nothing is waited for.
		_ = m.conn.SetDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	err := m.exchange(command, arguments)
	if !stop() {
		// The next command's deadline must not be this one's end.
		<-interrupted
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("lab: QEMU's monitor: %s: %w", command, err)
	}
	return nil
}

func (m *monitor) exchange(command string, arguments map[string]any) error {
	if !m.ready {
		if err := m.send("qmp_capabilities", nil); err != nil {
			return err
		}
		if err := m.answer(); err != nil {
			return err
		}
		m.ready = true
	}
	if err := m.send(command, arguments); err != nil {
		return err
	}
	return m.answer()
}

func (m *monitor) send(command string, arguments map[string]any) error {
	text, err := json.Marshal(struct {
		Execute   string         `json:"execute"`
		Arguments map[string]any `json:"arguments,omitempty"`
	}{command, arguments})
	if err != nil {
		return err
	}
	_, err = m.conn.Write(append(text, '\n'))
	return err
}

// answer reads up to the next answer, past the greeting and events.
func (m *monitor) answer() error {
	for {
		line, err := m.lines.ReadBytes('\n')
		if err != nil {
			return noEOF(err)
		}
		if done, err := qmpAnswer(line); done || err != nil {
			return err
		}
	}
}

// qmpAnswer reads one line: done says that it ends a command, and err how.
func qmpAnswer(line []byte) (done bool, err error) {
	var reply struct {
		Return json.RawMessage `json:"return"`
		Error  *struct {
			Class string `json:"class"`
			Desc  string `json:"desc"`
		} `json:"error"`
	}
	if err := json.Unmarshal(line, &reply); err != nil {
		return false, fmt.Errorf("a line that is not JSON: %w", err)
	}
	if reply.Error != nil {
		return true, fmt.Errorf("%s: %s", reply.Error.Class, reply.Error.Desc)
	}
	return reply.Return != nil, nil
}
