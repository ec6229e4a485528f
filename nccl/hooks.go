package nccl

import (
	"cmp"
	"errors"
	"slices"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cudahook"
	"github.com/gofabric/gofabric/internal/life"
)

// captures is what captured graphs hang on. It stands apart from the
// communicator's own object, because graphs must close before everything else
// that belongs to the communicator.
type captures struct{ life.Object }

// CloseAll closes the graphs, and the captures that are open.
func (c *captures) CloseAll() error { return c.CloseChildren() }

func deviceObject(dev *cuda.Device) *life.Object { return cudahook.Device(dev) }

// beginUse keeps a stream open, and tells a capture that is open on it whose
// work it is about to record, until endUse.
func (c *Comm) beginUse(s *cuda.Stream) error {
	if err := cudahook.Begin(s); err != nil {
		return err
	}
	if err := c.noteCapture(s); err != nil {
		endUse(s)
		return err
	}
	return nil
}

// sortStreams puts streams in the order in which they are taken.
func sortStreams(list []*cuda.Stream) {
	slices.SortFunc(list, func(a, b *cuda.Stream) int { return cmp.Compare(cudahook.Serial(a), cudahook.Serial(b)) })
}

func endUse(s *cuda.Stream) { cudahook.End(s) }

// keepStream keeps captures off a stream until the communicator is aborted: NCCL
// is still at work on an operation that was given up, and what it puts into a
// capture then would be nobody's. The turn is taken and the stream in use.
func (c *Comm) keepStream(s *cuda.Stream) {
	cudahook.Keep(s)
	c.kept = append(c.kept, s)
}

// leaveStreams ends that.
func (c *Comm) leaveStreams() {
	for _, s := range c.kept {
		cudahook.Unkeep(s)
	}
	c.kept = nil
}

// noteCapture is called between the stream's Begin and End.
func (c *Comm) noteCapture(s *cuda.Stream) error {
	if err := c.graphs.Use(); err != nil {
		return err
	}
	defer c.graphs.Done()
	return cudahook.HoldCapture(s, &c.graphs.Object)
}

// closeOwn runs end if neither graphs nor anything else uses the communicator.
func (c *Comm) closeOwn(end func() error) error {
	return c.graphs.Close(func() error { return c.obj.Close(end) })
}

// withoutGraphs runs end if no graphs use the communicator's work.
func (c *Comm) withoutGraphs(end func() error) error {
	var result error
	err := c.graphs.Close(func() error {
		result = end()
		return errKeep
	})
	if err == errKeep {
		return result
	}
	return err
}

// errKeep makes the registry look for children and keep the object.
var errKeep = errors.New("keep")
