package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Address is one queue pair's end of the connection.
type Address struct {
	LID uint16
	QPN uint32
	PSN uint32
	// OutReads is the number of reads and atomics that the queue pair answers at
	// a time; tests that read print it.
	OutReads *uint16
	Memory   *Memory
	// GID is nil where no GID is used.
	GID *[16]byte
}

// Memory is the region that the peer may read or write. It is nil where the
// operation does not name remote memory, as in a send.
type Memory struct {
	RKey  uint32
	VAddr uint64
}

// WriteAddresses writes the queue pairs of both sides, and the rule after them.
func WriteAddresses(w io.Writer, local, remote []Address) error {
	var b bytes.Buffer
	for _, a := range local {
		a.format(&b, "local")
	}
	for _, a := range remote {
		a.format(&b, "remote")
	}
	b.WriteString(rule())
	_, err := w.Write(b.Bytes())
	return err
}

func (a Address) format(b *bytes.Buffer, side string) {
	fmt.Fprintf(b, " %s address: LID %s QPN %s PSN %s", side,
		cHex(uint64(a.LID), 4), cHex(uint64(a.QPN), 6), cHex(uint64(a.PSN), 6))
	if a.OutReads != nil {
		fmt.Fprintf(b, " OUT %s", cHex(uint64(*a.OutReads), 4))
	}
	if a.Memory != nil {
		fmt.Fprintf(b, " RKey %s VAddr %s", cHex(uint64(a.Memory.RKey), 8), cHex(a.Memory.VAddr, 16))
	}
	b.WriteByte('\n')
	if a.GID != nil {
		b.WriteString(" GID: ")
		for i, octet := range a.GID {
			if i > 0 {
				b.WriteByte(':')
			}
			fmt.Fprintf(b, "%02d", octet) // decimal, as the C tools have it
		}
		b.WriteByte('\n')
	}
}

// cHex is C's %#0<width>x: the 0x counts in the width, and zero has none.
func cHex(v uint64, width int) string {
	if v == 0 {
		return strings.Repeat("0", width)
	}
	return fmt.Sprintf("0x%0*x", width-2, v)
}
