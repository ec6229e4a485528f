package cuda

import (
	"fmt"
	"sync"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/life"
)

// Graph is work that a capture recorded. It is safe for concurrent use. It must
// be instantiated to be run. Communicators whose work it holds cannot close
// before it.
type Graph struct {
	obj   life.Object
	dev   *Device
	h     uintptr
	users []*life.Object // the communicators
	turn  *sync.Mutex    // see turn of GraphExec
}

// GraphExec is a graph that can be launched, again and again. It is safe for
// concurrent use; its launches run one after the other. It does not need its
// Graph any more, but keeps the same communicators open.
type GraphExec struct {
	obj life.Object
	dev *Device
	h   uintptr
	// turn is that of the Graph and of all that is instantiated from it: the
	// driver does not synchronise what belongs to one graph, and crashed where one
	// thread instantiated what another destroyed.
	turn *sync.Mutex
}

// enterGraph makes a Graph. The capture that it comes from is still open, and so
// is whatever that holds.
func (d *Device) enterGraph(h uintptr, users []*life.Object) *Graph {
	g := &Graph{dev: d, h: h, users: users, turn: &sync.Mutex{}}
	life.Enter(&g.obj, g, fmt.Sprintf("graph %d of GPU %d", d.number(), d.info.Ordinal), g.parents()...)
	return g
}

// parents returns what must stay open as long as the graph and what is
// instantiated from it.
func (g *Graph) parents() []*life.Object {
	return append([]*life.Object{&g.dev.obj}, g.users...)
}

func (g *Graph) use() error {
	if g == nil {
		return ErrClosed
	}
	return g.obj.Use()
}

func (g *Graph) device() *Device {
	if g == nil {
		return nil
	}
	return g.dev
}

// Nodes returns how many pieces of work the graph has.
//
// Implements: cuGraphGetNodes.
func (g *Graph) Nodes() (int, error) {
	const op = "count graph nodes"
	if err := g.use(); err != nil {
		return 0, g.device().err(op, err)
	}
	defer g.obj.Done()
	g.turn.Lock()
	n, r := g.dev.ctx.GraphNodes(g.h)
	g.turn.Unlock()
	return n, g.dev.check(op, r)
}

// Instantiate makes the graph ready to be launched. It needs CUDA 11.4.
//
// Implements: cuGraphInstantiateWithFlags.
func (g *Graph) Instantiate() (*GraphExec, error) {
	const op = "instantiate graph"
	if err := g.use(); err != nil {
		return nil, g.device().err(op, err)
	}
	defer g.obj.Done()
	d := g.dev
	g.turn.Lock()
	h, r := d.ctx.Instantiate(g.h)
	g.turn.Unlock()
	if r != 0 {
		return nil, d.check(op, r)
	}
	x := &GraphExec{dev: d, h: h, turn: g.turn}
	life.Enter(&x.obj, x, fmt.Sprintf("instantiated graph %d of GPU %d", d.number(), d.info.Ordinal), g.parents()...)
	return x, nil
}

// Close destroys the graph. What was instantiated from it stays.
//
// Implements: cuGraphDestroy.
func (g *Graph) Close() error {
	if g == nil || g.dev == nil {
		return nil
	}
	return g.dev.closing("destroy graph", &g.obj, func() ccuda.Result {
		g.turn.Lock()
		defer g.turn.Unlock()
		return g.dev.ctx.DestroyGraph(g.h)
	})
}

// CloseAll is Close: nothing hangs on a graph.
func (g *Graph) CloseAll() error { return g.Close() }

func (x *GraphExec) use() error {
	if x == nil {
		return ErrClosed
	}
	return x.obj.Use()
}

func (x *GraphExec) device() *Device {
	if x == nil {
		return nil
	}
	return x.dev
}

// Launch puts the whole graph on the stream. It allocates nothing. A stream that
// is being captured refuses it (ErrorStreamCaptureUnsupported).
//
// Implements: cuGraphLaunch.
func (x *GraphExec) Launch(s *Stream) error {
	const op = "launch graph"
	if err := x.use(); err != nil {
		return x.device().err(op, err)
	}
	defer x.obj.Done()
	if err := s.use(); err != nil {
		return x.dev.err(op, err)
	}
	defer s.life.Done()
	if err := s.notCapturing(op); err != nil {
		return err
	}
	x.turn.Lock()
	r := s.dev.ctx.LaunchGraph(x.h, s.h)
	x.turn.Unlock()
	return s.dev.check(op, r)
}

// Close destroys the instantiated graph. Wait for its launches before.
//
// Implements: cuGraphExecDestroy.
func (x *GraphExec) Close() error {
	if x == nil || x.dev == nil {
		return nil
	}
	return x.dev.closing("destroy instantiated graph", &x.obj, func() ccuda.Result {
		x.turn.Lock()
		defer x.turn.Unlock()
		return x.dev.ctx.DestroyExec(x.h)
	})
}

// CloseAll is Close: nothing hangs on an instantiated graph.
func (x *GraphExec) CloseAll() error { return x.Close() }
