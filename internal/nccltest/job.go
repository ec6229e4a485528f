package nccltest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/gofabric/gofabric/nccl"
	"github.com/gofabric/gofabric/nccl/bootstrap"
)

// job is the processes of a run, and this one's place among them.
type job struct {
	session *bootstrap.Session
	// rank and size are of all processes. Those of one colour make a
	// communicator: this one is number place of places there.
	rank, size    int
	color         int
	place, places int
	leader        int // rank of the first process of the colour
	localRank     int
}

func connect(ctx context.Context, s split) (*job, error) {
	world, err := bootstrap.FromEnvironment(bootstrap.Options{})
	if err != nil {
		return nil, err
	}
	session, err := bootstrap.Connect(ctx, world, bootstrap.Options{})
	if err != nil {
		return nil, err
	}
	j := &job{session: session, rank: session.Rank(), size: session.Size(), localRank: session.LocalRank(), leader: -1}
	j.color = s.color(j.rank)
	for process := range j.size {
		if s.color(process) != j.color {
			continue
		}
		if j.leader < 0 {
			j.leader = process
		}
		if process < j.rank {
			j.place++
		}
		j.places++
	}
	return j, nil
}

func (j *job) main() bool { return j.rank == 0 }

func (j *job) close() error { return j.session.Close() }

// named says whose error it is, where there are several processes: launchers print
// all of them as they come.
func (j *job) named(err error) error {
	if err == nil || j.size == 1 {
		return err
	}
	host, failed := hostname()
	if failed != nil {
		host = "a host without a name"
	}
	return fmt.Errorf("process %d of %d, on %s: %w", j.rank, j.size, host, err)
}

// hostname is the host's name without its domain.
func hostname() (string, error) {
	name, err := os.Hostname()
	name, _, _ = strings.Cut(name, ".")
	return name, err
}

// barrier waits for all processes.
func (j *job) barrier(ctx context.Context) error {
	if j.size == 1 {
		return nil
	}
	return j.session.Barrier(ctx)
}

// id makes and shares the unique id of each colour.
func (j *job) id(ctx context.Context) (nccl.UniqueID, error) {
	var (
		id  nccl.UniqueID
		own []byte
		err error
	)
	if j.rank == j.leader {
		if id, err = nccl.NewUniqueID(); err != nil {
			return id, err
		}
		own = id[:]
	}
	all, err := j.session.AllGather(ctx, own)
	if err != nil {
		return id, err
	}
	return id, id.UnmarshalBinary(all[j.leader])
}

// gather gives numbers of every process to all, in their order.
func (j *job) gather(ctx context.Context, own []float64) ([]float64, error) {
	if j.size == 1 {
		return own, nil
	}
	data := make([]byte, 0, 8*len(own))
	for _, v := range own {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	parts, err := j.session.AllGather(ctx, data)
	if err != nil {
		return nil, err
	}
	var all []float64
	for process, part := range parts {
		if len(part) != len(data) {
			return nil, fmt.Errorf("process %d gave %d numbers and this one %d: give all processes the same flags", process, len(part)/8, len(own))
		}
		for ; len(part) > 0; part = part[8:] {
			all = append(all, math.Float64frombits(binary.LittleEndian.Uint64(part)))
		}
	}
	return all, nil
}

// combine makes one number of several.
func combine(list []float64, how Average) float64 {
	result := list[0]
	for _, v := range list[1:] {
		switch how {
		case AverageRank0:
		case AverageMin:
			result = min(result, v)
		case AverageMax:
			result = max(result, v)
		default:
			result += v
		}
	}
	if how == AverageMean {
		result /= float64(len(list))
	}
	return result
}
