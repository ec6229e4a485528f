package verbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Endpoint is what a peer must know of a queue pair to connect to it. Both ends
// exchange theirs over any channel that they have, as text or as bytes.
type Endpoint struct {
	QPN      uint32 // 24 bits
	PSN      uint32 // 24 bits: of the first packet that the queue pair sends
	LID      uint16 // InfiniBand; 0 on RoCE
	MTU      MTU    // the port's active MTU
	MaxReads uint8  // RDMA reads and atomics that the queue pair serves at once
	GID      GID
}

// Endpoint returns the queue pair's own.
func (qp *QP) Endpoint() (Endpoint, error) {
	if qp.pd == nil {
		return Endpoint{}, qp.err("read endpoint", ErrClosed)
	}
	if qp.opts.Unaddressed {
		return Endpoint{}, qp.err("read endpoint", errors.New("the queue pair was made without an address (Unaddressed)"))
	}
	port, err := qp.pd.dev.Port(qp.opts.Port)
	if err != nil {
		return Endpoint{}, err
	}
	return Endpoint{
		QPN:      qp.num,
		PSN:      qp.psn,
		LID:      port.LID,
		MTU:      port.ActiveMTU,
		MaxReads: clampReads(qp.pd.dev.attr.MaxQPReads),
		GID:      qp.gid.GID,
	}, nil
}

// clampReads fits a device's limit into the 8 bits that the wire has.
func clampReads(n int) uint8 { return uint8(max(0, min(n, 255))) }

// endpointTag begins the text and carries its version; endpointVersion begins
// the bytes.
const (
	endpointTag     = "gf1"
	endpointVersion = 1
	endpointLen     = 32
)

// String returns the text form, such as
// "gf1:qpn=0x000012,psn=0xbbb318,lid=0,mtu=4096,reads=16,gid=0000:…:0001".
func (e Endpoint) String() string {
	return fmt.Sprintf("%s:qpn=0x%06x,psn=0x%06x,lid=%d,mtu=%d,reads=%d,gid=%v",
		endpointTag, e.QPN, e.PSN, e.LID, e.MTU.Bytes(), e.MaxReads, e.GID)
}

// MarshalText returns the same text as String.
func (e Endpoint) MarshalText() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	return []byte(e.String()), nil
}

// UnmarshalText reads the text that MarshalText writes.
func (e *Endpoint) UnmarshalText(text []byte) error {
	v, err := parseEndpoint(string(text))
	if err != nil {
		return fmt.Errorf("verbs: %q is not an endpoint: %w", clip(string(text)), err)
	}
	*e = v
	return nil
}

func parseEndpoint(s string) (Endpoint, error) {
	rest, ok := strings.CutPrefix(s, endpointTag+":")
	if !ok {
		return Endpoint{}, fmt.Errorf("it does not begin with %q", endpointTag+":")
	}
	var e Endpoint
	number := func(bits int, store func(uint64)) func(string) error {
		return func(v string) error {
			n, err := strconv.ParseUint(v, 0, bits)
			store(n)
			return err
		}
	}
	fields := []struct {
		name string
		set  func(string) error
	}{
		{"qpn", number(24, func(n uint64) { e.QPN = uint32(n) })},
		{"psn", number(24, func(n uint64) { e.PSN = uint32(n) })},
		{"lid", number(16, func(n uint64) { e.LID = uint16(n) })},
		{"mtu", func(v string) error {
			n, err := strconv.Atoi(v)
			if err == nil {
				e.MTU, err = MTUFromBytes(n)
			}
			return err
		}},
		{"reads", number(8, func(n uint64) { e.MaxReads = uint8(n) })},
		{"gid", func(v string) (err error) {
			e.GID, err = ParseGID(v)
			return err
		}},
	}
	parts := strings.Split(rest, ",")
	if len(parts) != len(fields) {
		return Endpoint{}, fmt.Errorf("it has %d fields: want %d", len(parts), len(fields))
	}
	for i, f := range fields {
		v, ok := strings.CutPrefix(parts[i], f.name+"=")
		if !ok {
			return Endpoint{}, fmt.Errorf("field %d is not %s=", i+1, f.name)
		}
		if err := f.set(v); err != nil {
			return Endpoint{}, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return e, nil
}

// MarshalBinary returns the binary form, 32 bytes in network order.
func (e Endpoint) MarshalBinary() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	b := make([]byte, 0, endpointLen)
	b = append(b, endpointVersion, byte(e.MTU), e.MaxReads, 0)
	b = binary.BigEndian.AppendUint32(b, e.QPN)
	b = binary.BigEndian.AppendUint32(b, e.PSN)
	b = binary.BigEndian.AppendUint16(b, e.LID)
	b = append(b, 0, 0)
	return append(b, e.GID[:]...), nil
}

// UnmarshalBinary reads the bytes that MarshalBinary writes.
func (e *Endpoint) UnmarshalBinary(b []byte) error {
	if len(b) != endpointLen || b[0] != endpointVersion {
		return fmt.Errorf("verbs: %d bytes are not an endpoint: want %d, the first of them %d", len(b), endpointLen, endpointVersion)
	}
	v := Endpoint{
		MTU:      MTU(b[1]),
		MaxReads: b[2],
		QPN:      binary.BigEndian.Uint32(b[4:]),
		PSN:      binary.BigEndian.Uint32(b[8:]),
		LID:      binary.BigEndian.Uint16(b[12:]),
		GID:      GID(b[16:]),
	}
	if err := v.check(); err != nil {
		return err
	}
	*e = v
	return nil
}

// check answers what no queue pair can be.
func (e Endpoint) check() error {
	const most = 1<<24 - 1
	switch {
	case e.QPN > most:
		return fmt.Errorf("verbs: endpoint: QPN 0x%x has more than 24 bits", e.QPN)
	case e.PSN > most:
		return fmt.Errorf("verbs: endpoint: PSN 0x%x has more than 24 bits", e.PSN)
	case e.MTU.Bytes() == 0:
		return fmt.Errorf("verbs: endpoint: %d is no MTU code", e.MTU)
	}
	return nil
}
