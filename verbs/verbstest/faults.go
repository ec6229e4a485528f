package verbstest

import (
	"time"

	"github.com/gofabric/gofabric/internal/loopdev"
	"github.com/gofabric/gofabric/verbs"
)

// check ends the test if a fault could not be injected.
func (d *Device) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatalf("verbstest: %v", err)
	}
}

// Drop loses the next n messages that the queue pair sends; each retry is a
// message of its own. A reliable connection retries after ConnectOptions.Timeout
// and ends with StatusRetryExceeded once it has lost one message more than
// ConnectOptions.Retries; with the defaults that takes about 30 ms here. Other
// transports do not notice. Zero ends the fault.
func (d *Device) Drop(qp *verbs.QP, n int) {
	d.t.Helper()
	d.check(loopdev.DropMessages(d.Name(), qp.Num(), n))
}

// Delay makes each message that the queue pair sends leave later by that much,
// until Delay is called with zero. The order of messages stays.
func (d *Device) Delay(qp *verbs.QP, by time.Duration) {
	d.t.Helper()
	d.check(loopdev.DelayMessages(d.Name(), qp.Num(), by))
}

// StormRNR makes the queue pair answer that no receive is posted to the next n
// messages that need one, whatever is posted. The sender waits for
// ConnectOptions.MinRNRTimer of this end, tries again, and ends with
// StatusRNRRetryExceeded after ConnectOptions.RNRRetries. Unreliable transports
// lose the message. Zero ends the fault.
func (d *Device) StormRNR(qp *verbs.QP, n int) {
	d.t.Helper()
	d.check(loopdev.StormRNR(d.Name(), qp.Num(), n))
}

// FailPosts makes the next n calls of Post on the queue pair, of sends or
// receives, take nothing and answer syscall.ENOMEM. The queue pair is well
// afterwards. Zero ends the fault.
func (d *Device) FailPosts(qp *verbs.QP, n int) {
	d.t.Helper()
	d.check(loopdev.FailPosts(d.Name(), qp.Num(), n))
}

// SpuriousEvents raises n events without a completion for each CQ of the queue
// pair that was made with Events. CQ.Wait goes back to sleep on them.
func (d *Device) SpuriousEvents(qp *verbs.QP, n int) {
	d.t.Helper()
	d.check(loopdev.SpuriousEvents(d.Name(), qp.Num(), n))
}

// LateEvents makes the completion events of the device come later than their
// completions by that much, until LateEvents is called with zero. A completion
// can be polled at once.
func (d *Device) LateEvents(by time.Duration) {
	d.t.Helper()
	d.check(loopdev.LateEvents(d.Name(), by))
}

// FailAllocations makes the next n calls that make an object on the device (PD,
// CQ, QP and so on) answer syscall.ENOMEM. Each is one call of the library: the
// first CQ with Events makes a completion channel too. Zero ends the fault.
func (d *Device) FailAllocations(n int) {
	d.t.Helper()
	d.check(loopdev.FailAllocations(d.Name(), n))
}

// SetPort brings a port of the device, from 1, up or down, as pulling its cable
// would. While it is down, nothing that is sent from it or to it arrives: see
// Drop for what senders notice.
func (d *Device) SetPort(number int, up bool) {
	d.t.Helper()
	d.check(loopdev.SetPort(d.Name(), number, up))
}

// Remove takes the device away, as pulling out the adapter would. CQ.Wait
// answers ErrDeviceGone, every call that needs the device syscall.EIO, and peers
// hear no more of it. What was made on it can and must be closed; requests that
// were in flight are delivered as StatusFlushed when their queue pair is closed,
// which may take a second.
func (d *Device) Remove() {
	d.t.Helper()
	if d.takeOut() {
		d.check(loopdev.RemoveDevice(d.Name()))
	}
}

// Refusal is a feature that the in-process device does not have, and why.
type Refusal struct {
	Feature string
	Reason  string
}

// Refusals lists what the in-process device does not imitate, because it could
// not do so honestly. Where the interface has a call for the feature, the call
// answers verbs.ErrNotSupported. Test such code in the lab or on hardware.
func Refusals() []Refusal {
	var list []Refusal
	for _, r := range loopdev.Refusals() {
		list = append(list, Refusal(r))
	}
	return list
}
