package perftest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofabric/gofabric/topo"
)

// bindNear stands for the CPUs near the device.
const bindNear = "near"

// placement is where the threads of a run belong; the zero value leaves that to
// the kernel.
type placement struct {
	cpus []int
	// spread gives each thread a CPU of its own.
	spread bool
}

// parseBind reads a list of CPUs such as "0-3,8". That of bindNear is nil.
func parseBind(text string) ([]int, error) {
	if text == bindNear {
		return nil, nil
	}
	cpus, err := topo.ParseCPUList(text)
	if err != nil || len(cpus) == 0 {
		return nil, fmt.Errorf("%q is neither %q nor a list of CPUs like 0-3,8", text, bindNear)
	}
	return cpus, nil
}

// place finds the CPUs that the run's threads are to be bound to.
func place(c *Config, device string) (placement, error) {
	if c.Bind == "" {
		return placement{}, nil
	}
	cpus, err := parseBind(c.Bind)
	if err != nil {
		return placement{}, err
	}
	if cpus == nil {
		if cpus, err = near(device); err != nil {
			return placement{}, fmt.Errorf("--bind: %w", err)
		}
	}
	p := placement{cpus: cpus, spread: c.Threads > 0}
	return p, p.try(c.lanes())
}

// try binds as so many threads will, so that what cannot be is told before the
// peers meet.
func (p placement) try(threads int) error {
	for i := range threads {
		release, err := p.enter(i)
		if err == nil {
			err = release()
		}
		if err != nil {
			return fmt.Errorf("--bind: %w", err)
		}
	}
	return nil
}

// near are the CPUs of the device's NUMA node, or all that are online where it has
// none.
func near(device string) ([]int, error) {
	system, err := topo.Live(topo.ReadOptions{})
	if err != nil {
		return nil, err
	}
	for _, hca := range system.HCAs {
		if hca.Name != device {
			continue
		}
		if cpus := system.CPUsFor(hca).CPUs; len(cpus) > 0 {
			return cpus, nil
		}
	}
	var all []int
	for _, node := range system.Nodes {
		all = append(all, node.CPUs...)
	}
	if len(all) == 0 {
		return nil, errors.New("this machine does not tell its CPUs: give them, as --bind=0-3")
	}
	slices.Sort(all)
	return all, nil
}

// String lists the CPUs, "0-3", and is empty without.
func (p placement) String() string {
	if len(p.cpus) == 0 {
		return ""
	}
	return topo.CPUSet(p.cpus).String()
}

// enter binds the calling goroutine, the i-th of the run, until release.
func (p placement) enter(i int) (release func() error, err error) {
	if len(p.cpus) == 0 {
		return func() error { return nil }, nil
	}
	cpus := p.cpus
	if p.spread {
		cpus = []int{p.cpus[i%len(p.cpus)]}
	}
	bound, err := topo.BindThread(topo.Affinity{CPUs: topo.CPUSet(cpus)}, topo.BindOptions{})
	if err != nil {
		return nil, err
	}
	return bound.Restore, nil
}
