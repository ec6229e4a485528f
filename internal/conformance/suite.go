package conformance

import (
	"testing"
)

// Case is a promise and the code that checks it.
type Case struct {
	Name string
	Run  func(*Rig)
}

// Cases returns the whole list.
func Cases() []Case {
	var all []Case
	for _, topic := range [][]Case{
		transferCases, batchCases, waitCases, requestErrorCases, remoteErrorCases,
		stateCases, memoryCases, lifetimeCases, misuseCases, hostileCases,
		unreliableCases, datagramCases, atomicCases, sharedReceiveCases, sendStateCases, eventCases,
		queueChangeCases, multicastCases,
		dmaBufCases,
	} {
		all = append(all, topic...)
	}
	return all
}

// Run runs every case on a device, each with a fresh context.
func Run(t *testing.T, device string) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(newRig(t, device)) })
	}
}
