package verbs

import "math"

const (
	// badAddr marks a piece that does not exist; no memory lies there.
	badAddr = math.MaxUint64
	maxSGE  = math.MaxUint32
)

// SGE is a piece of registered local memory (struct ibv_sge).
type SGE struct {
	Addr   uint64 // of the first byte
	Length uint32 // bytes
	LKey   uint32
}

// RemoteBuffer is memory of a peer: what MR.Remote returned there.
type RemoteBuffer struct {
	Addr uint64 // of the first byte
	RKey uint32
	Len  uint64 // bytes
}

// At returns n bytes of the buffer from off. A piece that does not lie within
// the buffer makes the batch that it is added to fail.
func (r RemoteBuffer) At(off, n uint64) RemoteBuffer {
	if off > r.Len || n > r.Len-off {
		return RemoteBuffer{Addr: badAddr}
	}
	return RemoteBuffer{Addr: r.Addr + off, RKey: r.RKey, Len: n}
}
