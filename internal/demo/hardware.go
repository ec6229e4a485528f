package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofabric/gofabric/verbs"
)

// listHardware says what this machine has of its own.
func listHardware(w io.Writer) error {
	found, err := verbs.Devices()
	if err != nil {
		return err
	}
	if len(found) == 0 {
		fmt.Fprintln(w, "RDMA devices of this machine: none.")
	}
	for _, d := range found {
		for _, p := range d.Ports {
			fmt.Fprintf(w, "RDMA device of this machine: %s port %d, %v, %v, %v.\n", d.Name, p.Number, p.State, p.LinkLayer, p.Rate)
		}
	}
	gpus := nvidiaGPUs("/proc/driver/nvidia/gpus")
	if len(gpus) == 0 {
		fmt.Fprintln(w, "NVIDIA GPUs of this machine: none.")
	}
	for _, model := range gpus {
		fmt.Fprintf(w, "GPU of this machine: %s.\n", model)
	}
	return nil
}

// checkDevice answers which devices there are if the one asked for is not.
func checkDevice(name string) error {
	found, err := verbs.Devices()
	if err != nil {
		return err
	}
	var names []string
	for _, d := range found {
		if d.Name == name {
			return nil
		}
		names = append(names, d.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s=%s: this machine has no RDMA device; without %s the demo runs in a virtual machine", deviceEnv, name, deviceEnv)
	}
	return fmt.Errorf("%s=%s: this machine has %s", deviceEnv, name, strings.Join(names, ", "))
}

// nvidiaGPUs lists the models that the driver shows below dir.
func nvidiaGPUs(dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*", "information"))
	if err != nil {
		return nil
	}
	var models []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if model, ok := strings.CutPrefix(line, "Model:"); ok {
				models = append(models, strings.TrimSpace(model))
			}
		}
	}
	return models
}
