package nvml

import (
	"errors"
	"fmt"
	"sort"
)

// Snapshot is what a source said at one moment, as data. It marshals to JSON and
// is a Source itself, so that what was captured on one machine can be read on
// another. It must not be changed while it is in use.
type Snapshot struct {
	Versions  System               `json:"system"`
	Inventory []GPU                `json:"gpus"`
	NVLinks   map[string][]Link    `json:"links,omitempty"`     // by UUID
	Pairs     []SnapshotPair       `json:"pairs,omitempty"`     // ordered pairs: from the first to the second
	Statuses  map[string]Status    `json:"status,omitempty"`    // by UUID
	Users     map[string][]Process `json:"processes,omitempty"` // by UUID
}

// SnapshotPair is a Pair with its ends.
type SnapshotPair struct {
	From string `json:"from"` // UUID
	To   string `json:"to"`
	Pair
}

// Take asks a source everything but its events. The snapshot holds what could be
// read, beside an error that joins what could not.
func Take(source Source) (*Snapshot, error) {
	s := &Snapshot{
		NVLinks: map[string][]Link{}, Statuses: map[string]Status{}, Users: map[string][]Process{},
	}
	var problems []error
	note := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	var err error
	s.Versions, err = source.System()
	note(err)
	s.Inventory, err = source.GPUs()
	note(err)
	for _, a := range s.Inventory {
		s.NVLinks[a.UUID], err = source.Links(a.UUID)
		note(err)
		s.Statuses[a.UUID], err = source.Status(a.UUID)
		note(err)
		s.Users[a.UUID], err = source.Processes(a.UUID)
		note(err)
		for _, b := range s.Inventory {
			if a.UUID == b.UUID {
				continue
			}
			pair, err := source.Pair(a.UUID, b.UUID)
			note(err)
			s.Pairs = append(s.Pairs, SnapshotPair{From: a.UUID, To: b.UUID, Pair: pair})
		}
	}
	return s, errors.Join(problems...)
}

var _ Source = (*Snapshot)(nil)

// Check tells what is wrong with a snapshot that came from outside: a GPU
// without a UUID or with another's, two at one PCI address, an address that is
// none, links or pairs of a GPU that is not listed.
func (s *Snapshot) Check() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	known, places := map[string]bool{}, map[string]string{}
	for i, g := range s.Inventory {
		if g.UUID == "" {
			bad("GPU %d has no UUID", i)
			continue
		}
		if known[g.UUID] {
			bad("two GPUs have the UUID %s", g.UUID)
		}
		known[g.UUID] = true
		if g.PCIAddress == "" {
			continue
		}
		if address, err := ParsePCIAddress(g.PCIAddress); err != nil {
			bad("%s: %w", g.UUID, err)
		} else if address != g.PCIAddress {
			bad("%s: PCI address %s is not written as %s", g.UUID, g.PCIAddress, address)
		} else if other, taken := places[address]; taken {
			bad("%s and %s have one PCI address, %s", other, g.UUID, address)
		}
		places[g.PCIAddress] = g.UUID
	}
	var named []string
	for uuid := range s.NVLinks {
		named = append(named, uuid)
	}
	for uuid := range s.Statuses {
		named = append(named, uuid)
	}
	for uuid := range s.Users {
		named = append(named, uuid)
	}
	for _, p := range s.Pairs {
		named = append(named, p.From, p.To)
	}
	sort.Strings(named)
	for i, uuid := range named {
		if !known[uuid] && (i == 0 || named[i-1] != uuid) {
			bad("%q has data and is not in the inventory", clip(uuid))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("nvml: not a machine's snapshot: %w", errors.Join(problems...))
}

func (s *Snapshot) find(op, uuid string) error {
	if _, device, ok := Find(s.Inventory, uuid); ok && device == nil {
		return nil
	}
	return NoGPU(op, uuid, s.Inventory)
}

// System returns the versions.
func (s *Snapshot) System() (System, error) { return s.Versions, nil }

// GPUs lists the GPUs.
func (s *Snapshot) GPUs() ([]GPU, error) { return append([]GPU(nil), s.Inventory...), nil }

// Links lists a GPU's NVLinks.
func (s *Snapshot) Links(gpu string) ([]Link, error) {
	if err := s.find("read the NVLinks", gpu); err != nil {
		return nil, err
	}
	return append([]Link(nil), s.NVLinks[gpu]...), nil
}

// Pair tells what lies between two GPUs; all is absent if that was not taken.
func (s *Snapshot) Pair(a, b string) (Pair, error) {
	for _, uuid := range []string{a, b} {
		if err := s.find("compare two GPUs", uuid); err != nil {
			return Pair{}, err
		}
	}
	for _, p := range s.Pairs {
		if p.From == a && p.To == b {
			return p.Pair, nil
		}
	}
	return Pair{}, nil
}

// Status reads what was taken; all is absent if it was not.
func (s *Snapshot) Status(gpu string) (Status, error) {
	return s.Statuses[gpu], s.find("read the status", gpu)
}

// Processes lists who used a GPU.
func (s *Snapshot) Processes(gpu string) ([]Process, error) {
	if err := s.find("list the processes", gpu); err != nil {
		return nil, err
	}
	return append([]Process(nil), s.Users[gpu]...), nil
}

// Watch is ErrNotSupported: nothing happens in a snapshot.
func (s *Snapshot) Watch(EventKind, ...string) (Watch, error) {
	return nil, &OpError{Op: "watch for events", Err: fmt.Errorf("a snapshot has none: %w", ErrNotSupported)}
}
