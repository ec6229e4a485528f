package life

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Closer is an owner: CloseAll closes it and everything below it.
type Closer interface{ CloseAll() error }

// entry is an object's place in the registry. It keeps the owner alive: a
// queue pair whose last reference the program dropped is still one that
// CloseAll of its device closes.
type entry struct {
	id       uint64
	name     string
	parents  []*entry
	children map[uint64]*entry
	owner    Closer
	first    bool // closes before its siblings
	stack    []uintptr
}

// registry holds every open object; its lock guards all entries' children.
var registry = struct {
	sync.Mutex
	last uint64
	open map[uint64]*entry
}{open: map[uint64]*entry{}}

// callers returns the stack of whoever called Enter's caller. There may be very
// many objects, so it keeps no more than there is.
func callers() []uintptr {
	const skip, most = 4, 32
	var pcs [most]uintptr
	return slices.Clone(pcs[:runtime.Callers(skip, pcs[:])])
}

func (e *entry) enter() {
	registry.Lock()
	defer registry.Unlock()
	registry.last++
	e.id = registry.last
	registry.open[e.id] = e
	for _, p := range e.parents {
		if p.children == nil {
			p.children = map[uint64]*entry{}
		}
		p.children[e.id] = e
	}
}

func (e *entry) leave() {
	registry.Lock()
	defer registry.Unlock()
	delete(registry.open, e.id)
	for _, p := range e.parents {
		delete(p.children, e.id)
	}
}

// hold makes p a parent; release ends it. A parent held twice is released once.
func (e *entry) hold(p *entry) {
	registry.Lock()
	defer registry.Unlock()
	if slices.Contains(e.parents, p) {
		return
	}
	e.parents = append(e.parents, p)
	if p.children == nil {
		p.children = map[uint64]*entry{}
	}
	p.children[e.id] = e
}

func (e *entry) release(p *entry) {
	registry.Lock()
	defer registry.Unlock()
	e.parents = slices.DeleteFunc(e.parents, func(q *entry) bool { return q == p })
	delete(p.children, e.id)
}

// newestFirst returns the open children, those that close first before the rest.
func (e *entry) newestFirst() []*entry {
	registry.Lock()
	defer registry.Unlock()
	list := make([]*entry, 0, len(e.children))
	for _, c := range e.children {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *entry) int {
		switch {
		case a.first == b.first:
			return cmp.Compare(b.id, a.id)
		case a.first:
			return -1
		default:
			return 1
		}
	})
	return list
}

func (e *entry) busy() error {
	children := e.newestFirst()
	if len(children) == 0 {
		return nil
	}
	err := &BusyError{Object: e.name}
	for _, c := range children {
		err.Children = append(err.Children, c.info())
	}
	return err
}

// Info describes an open object.
type Info struct {
	// ID tells objects apart: no two of a process have the same.
	ID   uint64
	Name string
	// Root is the name of the object that everything above it hangs on: the
	// device.
	Root string
	// Stack is where the object was made, a line a frame.
	Stack string
}

func (e *entry) info() Info {
	registry.Lock()
	defer registry.Unlock()
	root := e
	for len(root.parents) > 0 {
		root = root.parents[0]
	}
	return Info{ID: e.id, Name: e.name, Root: root.name, Stack: stackText(e.stack)}
}

func stackText(pcs []uintptr) string {
	var b strings.Builder
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.Function != "" {
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// Open lists every open object, oldest first.
func Open() []Info {
	registry.Lock()
	var list []*entry
	for _, e := range registry.open {
		list = append(list, e)
	}
	registry.Unlock()
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.id, b.id) })
	infos := make([]Info, 0, len(list))
	for _, e := range list {
		infos = append(infos, e.info())
	}
	return infos
}
