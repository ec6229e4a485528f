package pairs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
)

// Message is what one side of a control connection wrote before the other side
// wrote: the tools take turns, so that it is one message of their protocol.
type Message struct {
	// Client tells that the client wrote it.
	Client bool
	Bytes  []byte
}

// Recorder stands between a client and a server on this machine, passes on what
// they write, and keeps it.
type Recorder struct {
	listener *net.TCPListener
	target   int
	done     chan struct{}
	err      error

	mutex    sync.Mutex
	messages []Message
	open     []io.Closer
	ended    bool
}

// Record begins to listen on a free port of 127.0.0.1. The one client that comes
// is connected to the target port.
func Record(target int) (*Recorder, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	r := &Recorder{listener: listener, target: target, done: make(chan struct{}), open: []io.Closer{listener}}
	go func() {
		defer close(r.done)
		r.err = r.pass()
	}()
	return r, nil
}

// Port is where the client has to connect.
func (r *Recorder) Port() int { return r.listener.Addr().(*net.TCPAddr).Port }

// Close ends the recording, once both sides have closed their ends or when ctx
// ends, and returns the messages in order.
func (r *Recorder) Close(ctx context.Context) ([]Message, error) {
	stop := context.AfterFunc(ctx, r.hangUp)
	defer stop()
	<-r.done
	r.hangUp()
	return r.messages, errors.Join(context.Cause(ctx), r.err)
}

func (r *Recorder) hangUp() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.ended = true
	for _, c := range r.open {
		_ = c.Close()
	}
}

// holds keeps a connection for hangUp, which may have been already.
func (r *Recorder) holds(c io.Closer) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.open = append(r.open, c)
	if r.ended {
		_ = c.Close()
	}
}

func (r *Recorder) pass() error {
	client, err := r.listener.AcceptTCP()
	if err != nil {
		return err
	}
	r.holds(client)
	dialled, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.target)))
	if err != nil {
		_ = client.Close()
		return fmt.Errorf("the server does not listen: %w", err)
	}
	server := dialled.(*net.TCPConn)
	r.holds(server)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.copy(client, server, false)
	}()
	r.copy(server, client, true)
	<-ended
	return nil
}

// copy passes on what from writes until it closes its end. A reset ends the
// recording as a close does: the tools leave each other with unread bytes.
func (r *Recorder) copy(to, from *net.TCPConn, client bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			r.keep(client, buffer[:n])
			if _, werr := to.Write(buffer[:n]); werr != nil {
				// The reader has gone; what is still to come is recorded all the same.
				_, _ = io.Copy(io.Discard, from)
				return
			}
		}
		if err != nil {
			_ = to.CloseWrite()
			return
		}
	}
}

func (r *Recorder) keep(client bool, text []byte) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if last := len(r.messages) - 1; last >= 0 && r.messages[last].Client == client {
		r.messages[last].Bytes = append(r.messages[last].Bytes, text...)
		return
	}
	r.messages = append(r.messages, Message{Client: client, Bytes: append([]byte(nil), text...)})
}
