package nccl

import (
	"context"

	"github.com/gofabric/gofabric/internal/cnccl"
)

// Properties is what NCCL says of a communicator.
type Properties struct {
	Rank, Size int
	CUDADevice int // CUDA's ordinal
	NVMLDevice int // NVML's index
	// DeviceAPI: kernels could communicate by themselves.
	DeviceAPI bool
	// Multimem: NVLink multicast works.
	Multimem bool
	// GIN is how kernels of this communicator reach the network.
	GIN GINType
	// Later is what NCCL 2.29.7 and later tell besides; nil before.
	Later *LaterProperties
}

// LaterProperties is what NCCL tells since 2.29.7.
type LaterProperties struct {
	LSATeams  int  // groups of ranks that load and store in each other's memory
	HostRMA   bool // PutSignal and its kin work
	RailedGIN GINType
}

// GINType is how kernels reach the network.
type GINType int

// NCCL's ways.
const (
	GINNone  GINType = 0
	GINProxy GINType = 2
	GINGDAKI GINType = 3
	GINGPI   GINType = 4
)

// Properties asks NCCL what the communicator can do. NCCL 2.29.2.
//
// Implements: ncclCommQueryProperties.
func (c *Comm) Properties(ctx context.Context) (p Properties, err error) {
	err = c.locked(ctx, "Properties", func() error {
		s := cnccl.NewSlot()
		s.PrepareProperties(int(c.lib.info.Version))
		if err := c.fill(ctx, s, cnccl.Op{Function: cnccl.FnCommQueryProperties}); err != nil {
			return err
		}
		raw := s.Properties()
		s.Free()
		p = Properties{
			Rank: raw.Rank, Size: raw.Ranks, CUDADevice: raw.CUDADevice, NVMLDevice: raw.NVMLDevice,
			DeviceAPI: raw.DeviceAPI, Multimem: raw.Multimem, GIN: GINType(raw.GIN),
		}
		if raw.Later {
			p.Later = &LaterProperties{LSATeams: raw.LSATeams, HostRMA: raw.HostRMA, RailedGIN: GINType(raw.RailedGIN)}
		}
		return nil
	})
	return p, err
}

// MemStats is the GPU memory that a communicator holds, in bytes.
type MemStats struct {
	Suspendable uint64 // what Suspend gives back
	Persistent  uint64 // what stays
	Total       uint64
	Suspended   bool
}

// MemStats asks NCCL for the memory it holds. NCCL 2.29.7.
//
// Implements: ncclCommMemStats.
func (c *Comm) MemStats(ctx context.Context) (m MemStats, err error) {
	err = c.locked(ctx, "MemStats", func() error {
		s, err := c.filled(ctx, cnccl.Op{Function: cnccl.FnCommMemStats})
		if err != nil {
			return err
		}
		stats := s.Stats()
		s.Free()
		m = MemStats{Suspendable: stats[0], Suspended: stats[1] != 0, Persistent: stats[2], Total: stats[3]}
		return nil
	}, suspended)
	return m, err
}

// suspendMemory is the only thing that NCCL can suspend.
const suspendMemory = 1

// Suspend gives GPU memory of an idle communicator back until Resume. Nothing
// else is allowed in between, but MemStats and Abort. Every rank must call it.
// NCCL 2.29.7.
//
// Implements: ncclCommSuspend.
func (c *Comm) Suspend(ctx context.Context) error {
	return c.locked(ctx, "Suspend", func() error {
		if err := c.control(ctx, cnccl.Op{Function: cnccl.FnCommSuspend, Flags: suspendMemory}); err != nil {
			return err
		}
		c.state.CompareAndSwap(ready, suspended)
		return nil
	})
}

// Resume takes back what Suspend gave. Every rank must call it. NCCL 2.29.7.
//
// Implements: ncclCommResume.
func (c *Comm) Resume(ctx context.Context) error {
	return c.locked(ctx, "Resume", func() error {
		if c.state.Load() != suspended {
			return badArgument("the communicator is not suspended")
		}
		if err := c.control(ctx, cnccl.Op{Function: cnccl.FnCommResume}); err != nil {
			return err
		}
		c.state.CompareAndSwap(suspended, ready)
		return nil
	}, suspended)
}
