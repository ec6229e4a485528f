//go:build linux && amd64

package faultlab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/verbs"
)

const (
	chunk   = 16 << 10
	places  = 256 // chunks that the target holds
	window  = 8   // chunks in flight
	receive = 16  // receives posted at once
)

// worker is one end of a connection.
type worker struct {
	ctx    context.Context
	files  string // what was open before
	others int    // goroutines before

	dev        *verbs.Device
	target     *verbs.MR // the peer writes here
	source     *verbs.MR
	sent, recv *verbs.CQ
	qp         *verbs.QP
	peer       verbs.RemoteBuffer

	finish   atomic.Bool
	reportAt atomic.Int64  // say how far the transfer is at this many chunks
	busy     chan struct{} // closed when the transfer or the receiving is over
}

func newWorker() *worker {
	w := &worker{ctx: context.Background(), busy: make(chan struct{})}
	close(w.busy)
	w.files, w.others = openFiles(), runtime.NumGoroutine()
	return w
}

func (w *worker) run(commands io.Reader) {
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		var c command
		err := json.Unmarshal(lines.Bytes(), &c)
		if err == nil {
			err = w.do(c)
		}
		if err != nil {
			fail(fmt.Errorf("%s: %w", c.Do, err))
		}
	}
}

func (w *worker) do(c command) error {
	switch c.Do {
	case "open":
		return w.open()
	case "connect":
		w.peer = c.Remote
		if err := w.qp.Connect(w.ctx, *c.Peer, c.Options); err != nil {
			return err
		}
		say(message{Is: "connected"})
	case "write", "send":
		w.busy = make(chan struct{})
		w.reportAt.Store(int64(c.Chunks))
		go w.transfer(c.Do == "send")
	case "report":
		w.reportAt.Store(int64(c.Chunks))
	case "receive":
		if err := w.postReceives(receive); err != nil {
			return err
		}
		w.busy = make(chan struct{})
		go w.receive()
		say(message{Is: "receiving"})
	case "finish":
		w.finish.Store(true)
	case "check":
		return w.check(c.Chunks)
	case "close QP":
		if err := w.qp.Close(); err != nil {
			return err
		}
		say(message{Is: "closed QP"})
	case "close":
		return w.close()
	default:
		return fmt.Errorf("the worker knows no command %q", c.Do)
	}
	return nil
}

func (w *worker) open() (err error) {
	if w.dev, err = verbs.Open("rxe0"); err != nil {
		return err
	}
	pd, err := w.dev.AllocPD()
	if err != nil {
		return err
	}
	rights := verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite}
	if w.target, err = pd.AllocMR(places*chunk, rights); err != nil {
		return err
	}
	if w.source, err = pd.AllocMR(window*chunk, verbs.MROptions{}); err != nil {
		return err
	}
	if w.sent, err = w.dev.CreateCQ(verbs.CQOptions{Events: true}); err != nil {
		return err
	}
	if w.recv, err = w.dev.CreateCQ(verbs.CQOptions{Events: true}); err != nil {
		return err
	}
	if w.qp, err = pd.CreateQP(verbs.QPOptions{SendCQ: w.sent, RecvCQ: w.recv}); err != nil {
		return err
	}
	own, err := w.qp.Endpoint()
	if err != nil {
		return err
	}
	say(message{Is: "open", Endpoint: &own, Remote: w.target.Remote()})
	return nil
}

// transfer moves chunks until it is told to finish, or a request fails.
func (w *worker) transfer(send bool) {
	defer close(w.busy)
	m := message{Is: "ended"}
	posted := 0
	last := time.Now()
	wc := make([]verbs.Completion, window)
	for {
		for posted-m.Chunks < window && !w.finish.Load() {
			at := posted % window * chunk
			fillChunk(w.source.Bytes()[at:at+chunk], posted)
			if send {
				w.qp.SendBatch().Send(uint64(posted), w.source.SGE(at, chunk))
			} else {
				w.qp.SendBatch().Write(uint64(posted), w.peer.At(uint64(posted%places*chunk), chunk), w.source.SGE(at, chunk))
			}
			if _, err := w.qp.SendBatch().Post(); err != nil {
				fail(err)
			}
			posted++
		}
		if posted == m.Chunks {
			break
		}
		n, err := w.sent.Wait(w.ctx, wc)
		if err != nil {
			fail(err)
		}
		now := time.Now()
		for _, c := range wc[:n] {
			if c.Err() != nil {
				m.Status, m.Stall, m.Text = c.Status(), now.Sub(last), c.Err().Error()
				say(m)
				return
			}
			m.Chunks++
		}
		m.Stall, last = max(m.Stall, now.Sub(last)), now
		if at := w.reportAt.Load(); at > 0 && int64(m.Chunks) >= at && w.reportAt.CompareAndSwap(at, 0) {
			say(message{Is: "progress", Chunks: m.Chunks})
		}
	}
	say(m)
}

// fillChunk makes the n-th chunk's content, which is no other's.
func fillChunk(p []byte, n int) {
	r := rand.NewPCG(uint64(n), 0x9e3779b97f4a7c15)
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], r.Uint64())
	}
}

// check compares the target with what the first n chunks must have left there.
func (w *worker) check(n int) error {
	want := make([]byte, chunk)
	for place := range places {
		clear(want)
		// The last chunk below n that was for this place.
		if last := n - 1 - (n-1-place+places)%places; n > place {
			fillChunk(want, last)
		}
		if got := w.target.Bytes()[place*chunk:][:chunk]; !bytes.Equal(got, want) {
			return fmt.Errorf("after %d chunks, place %d holds other bytes", n, place)
		}
	}
	say(message{Is: "checked"})
	return nil
}

func (w *worker) postReceives(n int) error {
	for i := range n {
		w.qp.RecvBatch().Recv(uint64(i), w.target.SGE(i%places*chunk, chunk))
	}
	_, err := w.qp.RecvBatch().Post()
	return err
}

// receive keeps receives posted until the queue pair is closed.
func (w *worker) receive() {
	defer close(w.busy)
	wc := make([]verbs.Completion, receive)
	for {
		n, err := w.recv.Wait(w.ctx, wc)
		if err == nil && wc[0].Status() == verbs.StatusFlushed {
			return
		}
		if err == nil {
			err = errors.Join(wc[0].Err(), w.postReceives(n))
		}
		if err != nil {
			fail(err)
		}
	}
}

// close closes everything and says what is left.
func (w *worker) close() error {
	if err := w.dev.CloseAll(); err != nil {
		return err
	}
	<-w.busy
	const grace = 5 * time.Second
	left := w.left()
	for end := time.Now().Add(grace); left != "" && time.Now().Before(end); left = w.left() {
		time.Sleep(10 * time.Millisecond)
	}
	say(message{Is: "closed", Text: left})
	os.Exit(0)
	return nil
}

// left lists what the worker did not have when it started.
func (w *worker) left() string {
	var left []string
	for _, o := range life.Open() {
		left = append(left, o.Name)
	}
	if now := openFiles(); now != w.files {
		left = append(left, "files: "+now)
	}
	if n := runtime.NumGoroutine(); n > w.others {
		left = append(left, fmt.Sprintf("%d goroutines", n-w.others))
	}
	return strings.Join(left, "; ")
}

// openFiles lists open descriptors by what they lead to, but for the runtime's
// own, which it opens once and keeps.
func openFiles() string {
	found, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		fail(err)
	}
	var list []string
	for _, f := range found {
		to, err := os.Readlink(f)
		if err == nil && to != "anon_inode:[eventpoll]" && to != "anon_inode:[eventfd]" && !strings.HasPrefix(to, "/proc/") {
			list = append(list, to)
		}
	}
	return strings.Join(list, " ")
}
