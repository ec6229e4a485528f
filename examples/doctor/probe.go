package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/doctor"
	"github.com/gofabric/gofabric/verbs"
)

// probe asks the libraries for what no file tells. What cannot be asked stays
// unknown; the errors say why.
func probe(m *doctor.Machine) []error {
	var problems []error
	note := func(what string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", what, err))
		}
	}
	m.Facts.ActiveMTU, m.Facts.DMABufHCA = map[string]int{}, map[string]bool{}
	for _, h := range m.System.HCAs {
		if !h.Management {
			note(h.Name, probeHCA(m, h))
		}
	}
	if len(m.System.GPUs) > 0 {
		note("CUDA", probeCUDA(m))
		library, err := nccl.Library()
		note("NCCL", err)
		if err == nil {
			m.Facts.NCCL = library.Version.String()
		}
	}
	return problems
}

func probeHCA(m *doctor.Machine, h *topo.HCA) (err error) {
	device, err := verbs.Open(h.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.CloseAll()) }()
	for _, p := range h.Ports {
		attr, err := device.Port(p.Number)
		if err != nil {
			return err
		}
		if bytes := attr.ActiveMTU.Bytes(); bytes > 0 {
			m.Facts.ActiveMTU[fmt.Sprintf("%s/%d", h.Name, p.Number)] = bytes
		}
	}
	pd, err := device.AllocPD()
	if err != nil {
		return err
	}
	// A file that is no dma-buf: a device that knows them says so, another says
	// that it has none.
	file, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer file.Close()
	mr, err := pd.RegisterDMABuf(int(file.Fd()), 0, 4096, 0, verbs.AccessLocalWrite)
	if err == nil {
		return errors.Join(errors.New("the device took /dev/null for a dma-buf"), mr.Close())
	}
	m.Facts.DMABufHCA[h.Name] = !errors.Is(err, verbs.ErrNotSupported)
	return nil
}

func probeCUDA(m *doctor.Machine) (err error) {
	device, err := cuda.Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	v, err := device.Attribute(cuda.AttributeDMABuf)
	if err != nil {
		return err
	}
	exports := v != 0
	m.Facts.DMABuf = &exports
	return nil
}
