package perftest

import "github.com/gofabric/gofabric/internal/report"

// Address returns the form of k that is printed. The memory is left out where
// the test does not name the peer's, as in a send.
func (k Key) Address(withMemory bool) report.Address {
	a := report.Address{LID: k.LID, QPN: k.QPN, PSN: k.PSN}
	if withMemory {
		a.Memory = &report.Memory{RKey: k.RKey, VAddr: k.VAddr}
	}
	if k.GID != nil {
		gid := [16]byte(*k.GID)
		a.GID = &gid
	}
	return a
}
