package perftest

import "github.com/gofabric/gofabric/internal/report"

// Address returns the form of k that is printed: only tests that write or read
// memory name the peer's.
func (k Key) Address(verb Verb) report.Address {
	a := report.Address{LID: k.LID, QPN: k.QPN, PSN: k.PSN}
	if verb == VerbRead {
		reads := k.OutReads
		a.OutReads = &reads
	}
	if verb == VerbRead || verb == VerbWrite {
		a.Memory = &report.Memory{RKey: k.RKey, VAddr: k.VAddr}
	}
	if k.GID != nil {
		gid := [16]byte(*k.GID)
		a.GID = &gid
	}
	return a
}
