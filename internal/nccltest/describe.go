package nccltest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/nccltest/limit"
	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
)

// device is a line of the device report.
type device struct {
	Rank, Group, PID int
	Host             string
	Ordinal          int
	Address          string // "0000:1b:00"
	Name             string
	Memory           uint64
	Hopper           bool // fp8 works
}

// introduction is what a process tells the others.
type introduction struct {
	Tool, Flags string
	Devices     []device
	// Links are what the process knows of its GPUs' links, nil if it did not
	// look.
	Links *limit.Facts
}

// describe finds the GPUs of all processes, prints the head of the output and
// settles what depends on them: the types, and the sizes that fit.
func (r *run) describe(ctx context.Context) error {
	cfg := r.cfg
	r.ranks = r.job.places * cfg.Threads * cfg.GPUs
	own, err := r.devices()
	if err != nil {
		return err
	}
	flags := strings.Join(cfg.ownArgs(), " ")
	data, err := json.Marshal(introduction{cfg.Tool.Name, flags, own, r.links(own)})
	if err != nil {
		return err
	}
	parts, err := r.job.session.AllGather(ctx, data)
	if err != nil {
		return err
	}
	var (
		all   []device
		links []*limit.Facts
		least uint64 = math.MaxUint64
		fp8          = true
	)
	for process, part := range parts {
		var other introduction
		if err := json.Unmarshal(part, &other); err != nil {
			return fmt.Errorf("process %d is not this program: %w", process, err)
		}
		if other.Tool != cfg.Tool.Name || other.Flags != flags {
			return fmt.Errorf("process %d runs %s with the flags %q, and process %d %s with %q: give all the same", process, other.Tool, other.Flags, r.job.rank, cfg.Tool.Name, flags)
		}
		all, links = append(all, other.Devices...), append(links, other.Links)
	}
	for _, d := range all {
		least, fp8 = min(least, d.Memory), fp8 && d.Hopper
	}
	r.out.path = r.path(links)
	if err := r.settle(fp8); err != nil {
		return err
	}
	if err := r.out.head(all); err != nil {
		return err
	}
	if err := r.reduceSizes(least); err != nil {
		return err
	}
	return r.check()
}

func (r *run) devices() ([]device, error) {
	count, err := cuda.DeviceCount()
	if err != nil {
		return nil, err
	}
	n := r.cfg.Threads * r.cfg.GPUs
	if last := r.ordinal(n - 1); last >= count {
		return nil, fmt.Errorf("GPU %d is asked for and %d were found: check the processes of a host, -t and -g, %s and CUDA_VISIBLE_DEVICES", last, count, envDevice)
	}
	host, err := hostname()
	if err != nil {
		return nil, err
	}
	var list []device
	for i := range n {
		info, err := cuda.Info(r.ordinal(i))
		if err != nil {
			return nil, err
		}
		address, _, _ := strings.Cut(info.PCIAddress, ".")
		list = append(list, device{
			Rank: r.job.place*n + i, Group: r.job.color, PID: os.Getpid(), Host: host, Ordinal: info.Ordinal,
			Address: address, Name: info.Name, Memory: info.Memory, Hopper: info.ComputeCapability.Major >= 9,
		})
	}
	return list, nil
}

// Releases that bring what a library may lack.
const (
	windowSince  nccl.Version = 22703
	avgSince     nccl.Version = 21003
	mulsumSince  nccl.Version = 21103
	captureSince nccl.Version = 20900
)

// settle chooses the types, the reductions and the ways of --mode auto that the
// library and the GPUs have.
func (r *run) settle(fp8 bool) error {
	cfg := r.cfg
	r.types = cfg.Types
	if r.types == nil {
		for _, dt := range nccl.DataTypes() {
			if dt.Since() <= r.release && (fp8 || dt < nccl.Float8E4M3) {
				r.types = append(r.types, dt)
			}
		}
	}
	if cfg.Ops == nil {
		for _, op := range values.Ops() {
			if op == values.Avg && r.release < avgSince || op == values.MulSum && r.release < mulsumSince {
				continue
			}
			cfg.Ops = append(cfg.Ops, op)
		}
	}
	if cfg.Register == registerSymmetric && r.release < windowSince {
		if err := r.out.comment("-R 2 needs NCCL %v, and this is %v: -R 1 is used", windowSince, r.release); err != nil {
			return err
		}
		cfg.Register = registerLocal
	}
	for _, way := range ways {
		if way.register == registerSymmetric && r.release < windowSince || way.register == registerLocal && r.release < memAllocSince ||
			way.graph > 0 && r.release < captureSince {
			continue
		}
		r.ways = append(r.ways, way)
	}
	return nil
}

// reduceSizes makes the sizes fit in the least GPU's memory: two buffers, and the
// checked result, beside what NCCL and CUDA need.
func (r *run) reduceSizes(memory uint64) error {
	const gib = 1 << 30
	cfg := r.cfg
	reserve := min((memory+16*gib-1)/(16*gib)*gib, 4*gib) + gib
	parts := uint64(2)
	if cfg.Checks > 0 {
		parts = 3
	}
	if memory <= reserve {
		return fmt.Errorf("a GPU has %d bytes of memory, too little for the test", memory)
	}
	most := (memory - reserve) / parts
	if cfg.MaxBytes <= most {
		return nil
	}
	cfg.MaxBytes = most
	cfg.MinBytes = min(cfg.MinBytes, most)
	if err := r.out.print("#\n"); err != nil {
		return err
	}
	return r.out.comment("Reducing maxBytes to %d due to memory limitation", most)
}
