//go:build linux && cgo

package verbstest_test

import (
	"testing"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/verbstest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { verbstest.Main(m) }

func TestDevicesOfOneTestReachEachOther(t *testing.T) {
	for _, infiniBand := range []bool{false, true} {
		opts := verbstest.Options{Ports: 2, InfiniBand: infiniBand}
		one, two := verbstest.OpenWith(t, opts), verbstest.OpenWith(t, opts)
		assert.NotEqual(t, one.Name(), two.Name())
		assert.Equal(t, 2, two.Attributes().Ports)
		a, b := verbstest.Pair(t, verbstest.PairOptions{
			Device: one, Peer: two, QP: verbs.QPOptions{Port: 2}, Memory: 100,
		})
		assert.Equal(t, one, a.Device)
		assert.Equal(t, two, b.Device)
		copy(a.MR.Bytes(), "over the network")
		a.QP.SendBatch().Write(7, b.MR.Remote().At(50, 16), a.MR.SGE(0, 16))
		post(t, a)
		c := wait(t, a.SendCQ)
		assert.EqualValues(t, 7, c.ID())
		assert.Equal(t, "over the network", string(b.MR.Bytes()[50:66]))
	}
}

func TestDevicesOfParallelTests(t *testing.T) {
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a, b := verbstest.Pair(t, verbstest.PairOptions{})
			a.Device.SetPort(1, false)
			port, err := b.Device.Port(1)
			require.NoError(t, err)
			assert.Equal(t, verbs.PortDown, port.State)
		})
	}
}

func TestOpenRefusesWrongOptions(t *testing.T) {
	f := newFake()
	problems := f.run(func() { verbstest.OpenWith(f, verbstest.Options{Ports: 9}) })
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "9 ports")
}

func TestPairRefusesWrongOptions(t *testing.T) {
	f := newFake()
	problems := f.run(func() { verbstest.Pair(f, verbstest.PairOptions{QP: verbs.QPOptions{MaxSend: -1}}) })
	require.Len(t, problems, 1, "what was made before the failure is closed")
	assert.Contains(t, problems[0], "MaxSend")
}

func TestDeviceIsGoneAfterItsTest(t *testing.T) {
	var name string
	f := newFake()
	assert.Empty(t, f.run(func() { name = verbstest.Open(f).Name() }))
	_, err := verbs.Open(name)
	assert.Error(t, err)
}

func TestLeftOpenIsReported(t *testing.T) {
	f := newFake()
	problems := f.run(func() {
		a, _ := verbstest.Pair(f, verbstest.PairOptions{})
		_, err := a.PD.AllocMR(17, verbs.MROptions{})
		assert.NoError(t, err)
	})
	require.Len(t, problems, 2, "the region and the domain that it keeps open")
	assert.Contains(t, problems[1], "MR of 17 bytes")
	assert.Contains(t, problems[1], "TestLeftOpenIsReported", "the stack that made it")
}

func TestLeftOpenByAnotherHandleIsReported(t *testing.T) {
	f := newFake()
	var dev *verbs.Device
	problems := f.run(func() {
		var err error
		dev, err = verbs.Open(verbstest.Open(f).Name())
		assert.NoError(t, err)
	})
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], dev.Name())
	require.NoError(t, dev.Close())
}

func TestCheckLeaks(t *testing.T) {
	dev, err := verbs.Open("loop0")
	require.NoError(t, err)
	f := newFake()
	problems := f.run(func() {
		verbstest.CheckLeaks(f)
		_, err := dev.AllocPD()
		assert.NoError(t, err)
	})
	require.Len(t, problems, 1, "the PD and not the device, which was open before")
	assert.Contains(t, problems[0], "PD on device loop0")
	require.NoError(t, dev.CloseAll())

	f = newFake()
	assert.Empty(t, f.run(func() { verbstest.CheckLeaks(f) }))
}

func TestFailedTestsReportNoLeaks(t *testing.T) {
	f := newFake()
	problems := f.run(func() {
		_, err := verbstest.Open(f).AllocPD()
		assert.NoError(t, err)
		f.Fatalf("the test's own failure")
	})
	assert.Equal(t, []string{"the test's own failure"}, problems)
}

func TestRefusalsSayWhy(t *testing.T) {
	for _, r := range verbstest.Refusals() {
		assert.NotEmpty(t, r.Feature)
		assert.NotEmpty(t, r.Reason, r.Feature)
	}
	assert.NotEmpty(t, verbstest.Refusals())
}
