package verbs

import "github.com/gofabric/gofabric/internal/cverbs"

// SrcQP returns the number of the queue pair that sent a received datagram; ok
// is false if the completion is not of a receive.
func (c *Completion) SrcQP() (qpn uint32, ok bool) {
	op, ok := c.Opcode()
	if !ok || op < WCRecv {
		return 0, false
	}
	return c.wc.SrcQP, true
}

// HasGRH reports whether the first GRHLen bytes of a received datagram hold a
// header.
func (c *Completion) HasGRH() bool { return c.ok() && c.wc.Flags&cverbs.IBV_WC_GRH != 0 }
