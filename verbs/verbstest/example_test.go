//go:build linux && cgo

package verbstest_test

import (
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/verbstest"
)

// begin stands for the beginning of a test function, which gets its t from
// package testing. The function that it returns is the test's end.
func begin() (t *fake, end func()) {
	t = newFake()
	return t, func() {
		t.end()
		for _, problem := range t.errors {
			fmt.Println(problem)
		}
	}
}

// transfer is code under test: it opens a device by name.
func transfer(device string) error {
	dev, err := verbs.Open(device)
	if err != nil {
		return err
	}
	return dev.Close()
}

// The code under test gets the device's name, as it would get that of hardware.
func ExampleOpen() {
	t, end := begin() // in a test: func TestTransfer(t *testing.T)
	defer end()

	dev := verbstest.Open(t)
	fmt.Println(transfer(dev.Name()))
	// Output: <nil>
}

// Two connected queue pairs, with all that they need.
func ExamplePair() {
	t, end := begin()
	defer end()

	a, b := verbstest.Pair(t, verbstest.PairOptions{})
	n := copy(a.MR.Bytes(), "hello")
	a.QP.SendBatch().Write(1, b.MR.Remote(), a.MR.SGE(0, n))
	if _, err := a.QP.SendBatch().Post(); err != nil {
		t.Fatalf("%v", err)
	}
	done := make([]verbs.Completion, 1)
	if _, err := a.SendCQ.Wait(t.Context(), done); err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Printf("%v %s\n", done[0].Err(), b.MR.Bytes()[:n])
	// Output: <nil> hello
}

// A cluster is several devices; they are on one network.
func ExampleOpenWith() {
	t, end := begin()
	defer end()

	left := verbstest.OpenWith(t, verbstest.Options{Ports: 2})
	right := verbstest.OpenWith(t, verbstest.Options{Ports: 2})
	a, b := verbstest.Pair(t, verbstest.PairOptions{
		Device: left, Peer: right,
		QP: verbs.QPOptions{Port: 2},
	})
	fmt.Println(a.Device == left, b.Device == right)
	// Output: true true
}

// A peer that is gone: more messages are lost than the connection retries.
func ExampleDevice_Drop() {
	t, end := begin()
	defer end()

	a, b := verbstest.Pair(t, verbstest.PairOptions{
		Connect: verbs.ConnectOptions{Retries: 2, Timeout: 1},
	})
	a.Device.Drop(a.QP, 1000)
	a.QP.SendBatch().Write(1, b.MR.Remote().At(0, 8), a.MR.SGE(0, 8))
	if _, err := a.QP.SendBatch().Post(); err != nil {
		t.Fatalf("%v", err)
	}
	done := make([]verbs.Completion, 1)
	if _, err := a.SendCQ.Wait(t.Context(), done); err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Println(errors.Is(done[0].Err(), verbs.StatusRetryExceeded))
	// Output: true
}

// An adapter that is pulled out while the program waits for it.
func ExampleDevice_Remove() {
	t, end := begin()
	defer end()

	a, _ := verbstest.Pair(t, verbstest.PairOptions{})
	a.Device.Remove()
	_, err := a.RecvCQ.Wait(t.Context(), make([]verbs.Completion, 1))
	fmt.Println(errors.Is(err, verbs.ErrDeviceGone))
	// Output: true
}

// The in-process device refuses what it could not imitate honestly.
func ExampleRefusals() {
	for _, r := range verbstest.Refusals()[:2] {
		fmt.Printf("%s: %s\n", r.Feature, r.Reason)
	}
	// Output:
	// RSS and work queues: there is no wire and no packet that could be looked at
	// flow steering: there is no wire and no packet that could be looked at
}
