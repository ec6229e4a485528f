package topo

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/printable"
)

// evil holds what terminals, shells and markup take for their own.
const evil = "a\x1b]0;x\x07\u009b31m\u202e\r\x08\x7f\xff\ufffe<b>&\"'$(id)`]]>\\\n-->{}|"

func evilSystem(t *testing.T) *System {
	t.Helper()
	node, up, kind := 0, true, 1
	s := &System{
		Source: evil,
		Host:   Host{CPU: CPUInfo{Arch: evil, Vendor: evil}, Container: evil},
		Nodes:  []*NUMANode{{ID: 0, Online: true, Mask: evil}},
		PCI: []*PCIDevice{
			{Address: "0000:01:00.0", Class: 0x030200, Vendor: vendorNVIDIA, StatedNode: &node, Placed: true, Root: evil, Name: evil, Driver: evil},
			{Address: "0000:02:00.0", Class: 0x020000, Vendor: vendorMellanox, StatedNode: &node, Placed: true, Root: evil, Name: evil},
			{Address: "0000:03:00.0", Class: 0x020000, Placed: true, Root: evil},
		},
		GPUs: []*GPU{{PCI: "0000:01:00.0", UUID: evil, Name: evil, MIG: []MIG{{UUID: "MIG" + evil, Name: evil}}}},
		HCAs: []*HCA{{Name: evil, PCI: []Address{"0000:02:00.0"}, NodeGUID: evil, Firmware: evil, Uverbs: evil, Parent: evil,
			Ports: []Port{{Number: 1, State: evil, LinkLayer: evil, Netdevs: []string{evil}, GIDs: []GID{{GID: evil, Type: evil}}}}}},
		Netdevs:  []*Netdev{{Name: evil, PCI: "0000:03:00.0", Up: &up, MAC: evil, Type: &kind, Lower: []string{evil}}},
		Stated:   []StatedPath{{A: "GPU0", B: evil, Path: SYS, By: evil}},
		Warnings: []Warning{{Code: WarnUnreadable, Device: evil, Text: evil}},
	}
	require.NoError(t, s.Finish())
	return s
}

func TestNamesCannotCommandATerminal(t *testing.T) {
	s := evilSystem(t)
	for name, write := range map[string]func(io.Writer) error{
		"matrix": func(w io.Writer) error { return s.Matrix(w, MatrixOptions{}) },
		"table":  s.Table, "json": s.JSON, "svg": s.SVG, "dot": s.DOT, "nccl": s.NCCLXML,
	} {
		var b bytes.Buffer
		require.NoError(t, write(&b), name)
		bad := strings.IndexFunc(b.String(), func(r rune) bool {
			return r == unicode.ReplacementChar || r != '\n' && r != '\t' && !unicode.IsGraphic(r)
		})
		assert.Negative(t, bad, "%s: %q", name, b.String())
		if name == "svg" || name == "nccl" {
			d := xml.NewDecoder(&b)
			for {
				if _, err := d.Token(); err != nil {
					assert.ErrorIs(t, err, io.EOF, name)
					break
				}
			}
		}
	}
	for _, v := range s.NCCLEnv() {
		assert.Equal(t, printable.Text(v.Value+v.Reason), v.Value+v.Reason)
	}
	e, err := s.Find(printable.Text(evil))
	require.NoError(t, err)
	assert.Equal(t, printable.Text(evil), e.Label())
}

func TestRefusalsAreOneLine(t *testing.T) {
	s := &System{HCAs: []*HCA{{Name: evil}, {Name: evil}}}
	err := s.Finish()
	var invalid *InvalidError
	require.True(t, errors.As(err, &invalid))
	assert.Equal(t, printable.Text(err.Error()), err.Error())
}
