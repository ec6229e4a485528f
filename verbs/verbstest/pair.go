package verbstest

import (
	"errors"
	"testing"

	"github.com/gofabric/gofabric/verbs"
)

// PairOptions are the options of Pair.
type PairOptions struct {
	// Device is where the first end is; nil opens one.
	Device *Device
	// Peer is where the second end is; nil is the first one's device.
	Peer *Device
	// QP are the options of both queue pairs. SendCQ and RecvCQ are filled in.
	QP verbs.QPOptions
	// CQ are the options of all CQs. Events is set, so that Wait works.
	CQ verbs.CQOptions
	// Connect are the options of the connection.
	Connect verbs.ConnectOptions
	// Memory is the length in bytes of each end's memory region; zero is 64 KiB.
	Memory int
}

// End is one end of a connection, and all that it takes.
type End struct {
	Device *Device
	PD     *verbs.PD
	QP     *verbs.QP
	SendCQ *verbs.CQ
	RecvCQ *verbs.CQ
	// MR is memory with all rights, for the end and its peer.
	MR *verbs.MR
}

// Pair makes two connected queue pairs, each with a PD, a CQ for sends, a CQ for
// receives and memory of its own. They are closed when the test ends.
func Pair(t testing.TB, opts PairOptions) (a, b *End) {
	t.Helper()
	if opts.Device == nil {
		opts.Device = Open(t)
	}
	if opts.Peer == nil {
		opts.Peer = opts.Device
	}
	a, b = newEnd(t, opts.Device, opts), newEnd(t, opts.Peer, opts)
	connect(t, a, b, opts.Connect)
	connect(t, b, a, opts.Connect)
	return a, b
}

func newEnd(t testing.TB, dev *Device, opts PairOptions) *End {
	t.Helper()
	e := &End{Device: dev}
	t.Cleanup(func() {
		t.Helper()
		if err := e.close(); err != nil {
			t.Errorf("verbstest: %v", err)
		}
	})
	if err := e.make(opts); err != nil {
		t.Fatalf("verbstest: %v", err)
	}
	return e
}

func (e *End) make(opts PairOptions) (err error) {
	const (
		memory    = 64 << 10
		allRights = verbs.AccessLocalWrite | verbs.AccessRemoteWrite | verbs.AccessRemoteRead | verbs.AccessRemoteAtomic
	)
	if opts.Memory == 0 {
		opts.Memory = memory
	}
	if e.PD, err = e.Device.AllocPD(); err != nil {
		return err
	}
	if e.MR, err = e.PD.AllocMR(opts.Memory, verbs.MROptions{Access: allRights}); err != nil {
		return err
	}
	opts.CQ.Events = true
	for _, cq := range []**verbs.CQ{&e.SendCQ, &e.RecvCQ} {
		if *cq, err = e.Device.CreateCQ(opts.CQ); err != nil {
			return err
		}
	}
	opts.QP.SendCQ, opts.QP.RecvCQ = e.SendCQ, e.RecvCQ
	e.QP, err = e.PD.CreateQP(opts.QP)
	return err
}

// close closes what the end was made of, as far as that went. What the test made
// on top and left open is the device's to report.
func (e *End) close() error {
	var errs []error
	add := func(err error) {
		if !errors.Is(err, verbs.ErrBusy) {
			errs = append(errs, err)
		}
	}
	if e.QP != nil {
		add(e.QP.Close())
	}
	if e.SendCQ != nil {
		add(e.SendCQ.Close())
	}
	if e.RecvCQ != nil {
		add(e.RecvCQ.Close())
	}
	if e.MR != nil {
		add(e.MR.Close())
	}
	if e.PD != nil {
		add(e.PD.Close())
	}
	return errors.Join(errs...)
}

func connect(t testing.TB, from, to *End, opts verbs.ConnectOptions) {
	t.Helper()
	peer, err := to.QP.Endpoint()
	if err == nil {
		err = from.QP.Connect(t.Context(), peer, opts)
	}
	if err != nil {
		t.Fatalf("verbstest: %v", err)
	}
}
