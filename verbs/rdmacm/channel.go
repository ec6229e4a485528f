package rdmacm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/pollfd"
)

// Channel is an event channel. One goroutine reads it, sleeping in the
// netpoller, and hands each event to the id that it is for; the program reads
// none of it. It is safe for concurrent use.
//
// Most programs need none: ids share one that is there while they are.
type Channel struct {
	obj  life.Object
	raw  crdmacm.Channel
	file *os.File // a duplicate of the channel's descriptor
	dead chan struct{}

	mu  sync.Mutex
	ids map[*ID]struct{}
	err error // why the reader stopped
}

// NewChannel makes an event channel.
//
// It fails with ErrLibraryNotFound where librdmacm is not installed, and with
// fs.ErrNotExist where the kernel has no connection manager for programs.
//
// Implements: rdma_create_event_channel, rdma_get_cm_event, rdma_ack_cm_event.
func NewChannel() (*Channel, error) {
	const op = "create event channel"
	raw, err := crdmacm.CreateChannel()
	if err != nil {
		return nil, &OpError{Op: op, Err: err, Hint: channelHint(err)}
	}
	file, err := pollfd.Duplicate(raw.FD(), "rdma_cm event channel")
	if err != nil {
		raw.Destroy()
		return nil, &OpError{Op: op, Err: err}
	}
	conn, err := file.SyscallConn()
	if err != nil {
		err = errors.Join(err, file.Close())
		raw.Destroy()
		return nil, &OpError{Op: op, Err: err}
	}
	ch := &Channel{raw: raw, file: file, dead: make(chan struct{}), ids: map[*ID]struct{}{}}
	life.Enter(&ch.obj, ch, "event channel")
	go ch.read(conn)
	return ch, nil
}

// channelHint looks for the device node that stands between a program and the
// kernel's connection manager.
func channelHint(err error) string {
	if errors.Is(err, ErrLibraryNotFound) || errors.Is(err, ErrNotSupported) {
		return ""
	}
	const node = "/dev/infiniband/rdma_cm"
	f, nerr := os.OpenFile(node, os.O_RDWR, 0)
	switch {
	case nerr == nil:
		// Nothing was written.
		_ = f.Close()
		return ""
	case errors.Is(nerr, fs.ErrNotExist):
		return node + " is missing: load the module rdma_ucm; in a container, pass it in"
	case errors.Is(nerr, fs.ErrPermission):
		return "no permission on " + node + ": the user needs read and write access to it"
	}
	return nerr.Error()
}

// read hands out events until the channel is closed or fails.
func (ch *Channel) read(conn syscall.RawConn) {
	var failure error
	err := conn.Read(func(uintptr) (done bool) {
		for {
			ev, err := ch.raw.Next()
			switch {
			case err == nil:
				dispatch(ev)
			case errors.Is(err, syscall.EAGAIN):
				return false
			case errors.Is(err, syscall.EINTR):
			default:
				failure = err
				return true
			}
		}
	})
	ch.mu.Lock()
	ch.err = errors.Join(failure, err)
	waiting := make([]*ID, 0, len(ch.ids))
	for id := range ch.ids {
		waiting = append(waiting, id)
	}
	ch.mu.Unlock()
	close(ch.dead)
	for _, id := range waiting {
		id.end(fmt.Errorf("event channel failed: %w", errors.Join(failure, err)))
	}
}

// dispatch hands over an event and acknowledges it. The event's id is looked up
// by its C handle: an id that is being closed is not found any more, and what
// comes for it late is dropped.
func dispatch(raw crdmacm.Event) {
	var orphan crdmacm.ID
	if EventType(raw.Type) == EventConnectRequest {
		if listener := known.find(raw.Listener); listener == nil || !listener.request(raw) {
			orphan = raw.ID
		}
	} else if id := known.find(raw.ID); id != nil {
		id.put(eventOf(&raw))
	}
	// It fails for no event only.
	_ = raw.Ack()
	if orphan != (crdmacm.ID{}) {
		// Nobody can be told; the kernel refuses the request.
		_ = orphan.Destroy()
	}
}

// known finds ids by their C handles, whatever channel they are on: a migrating
// one is on two.
var known ids

type ids struct{ m sync.Map }

func (k *ids) add(id *ID)    { k.m.Store(id.raw, id) }
func (k *ids) remove(id *ID) { k.m.CompareAndDelete(id.raw, id) }

func (k *ids) find(raw crdmacm.ID) *ID {
	v, _ := k.m.Load(raw)
	id, _ := v.(*ID)
	return id
}

func (ch *Channel) enter(id *ID) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.ids[id] = struct{}{}
}

// leave reports whether the id was the last.
func (ch *Channel) leave(id *ID) bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	delete(ch.ids, id)
	return len(ch.ids) == 0
}

// Close stops the reader and closes the channel. It fails with ErrBusy while ids
// are on it.
//
// Implements: rdma_destroy_event_channel.
func (ch *Channel) Close() error {
	err := ch.obj.Close(func() error {
		ch.mu.Lock()
		n := len(ch.ids)
		ch.mu.Unlock()
		if n > 0 {
			return fmt.Errorf("%d ids are on it: %w", n, ErrBusy)
		}
		// The descriptor is a duplicate that nothing was written to.
		_ = ch.file.Close()
		<-ch.dead
		ch.raw.Destroy()
		return nil
	})
	if err != nil {
		return &OpError{Op: "close event channel", Err: err}
	}
	return nil
}

// CloseAll closes the ids on the channel, and the channel.
func (ch *Channel) CloseAll() error {
	ch.mu.Lock()
	var list []*ID
	for id := range ch.ids {
		list = append(list, id)
	}
	ch.mu.Unlock()
	var errs []error
	for _, id := range list {
		errs = append(errs, id.Close())
	}
	return errors.Join(append(errs, ch.Close())...)
}

// shared is the channel of ids that name none. It is there while they are.
var shared struct {
	mu   sync.Mutex
	ch   *Channel
	uses int
}

// acquireShared returns the shared channel for one more id.
func acquireShared() (*Channel, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.ch == nil {
		ch, err := NewChannel()
		if err != nil {
			return nil, err
		}
		shared.ch = ch
	}
	shared.uses++
	return shared.ch, nil
}

func releaseShared() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.uses--; shared.uses > 0 {
		return nil
	}
	ch := shared.ch
	shared.ch = nil
	return ch.Close()
}
