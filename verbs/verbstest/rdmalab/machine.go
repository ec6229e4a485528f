package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gofabric/gofabric/internal/lab"
)

// machineEnv tells what runs in the guest which machine it has.
const machineEnv = "GOFABRIC_LAB_MACHINE"

func machineNames() string {
	return strings.Join(slices.Sorted(maps.Keys(lab.Machines())), ", ")
}

// stage gives the jobs the machine of a name or a file. What runs in the guest
// finds the name in its environment.
func (o *options) stage(name string) error {
	if o.verb == verbPair {
		return errors.New("a pair takes no --machine")
	}
	m, err := readMachine(name)
	if err != nil {
		return err
	}
	o.job.Machine = &m
	o.cfg.ExtraModules = append(o.cfg.ExtraModules, m.Modules()...)
	o.machine = name
	return nil
}

func readMachine(name string) (lab.Machine, error) {
	if m, ok := lab.Machines()[name]; ok {
		return m, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return lab.Machine{}, fmt.Errorf("machine %q is neither a file nor one of %s", name, machineNames())
	}
	if err != nil {
		return lab.Machine{}, err
	}
	m, err := lab.ParseMachine(text)
	if err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func printMachine(w io.Writer, name string) error {
	if name == "" {
		return fmt.Errorf("name a machine: %s", machineNames())
	}
	m, err := readMachine(name)
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(m)
}
