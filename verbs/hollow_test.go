//go:build linux && cgo

package verbs_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callAll calls every method of an object with arguments that are zero or nil. None
// may panic. What they return does not matter, but what they make is closed.
func callAll(t *testing.T, object any, but ...string) {
	t.Helper()
	v := reflect.ValueOf(object)
	for i := range v.NumMethod() {
		name, m := v.Type().Method(i).Name, v.Method(i)
		if slices.Contains(but, name) {
			continue
		}
		args := make([]reflect.Value, 0, m.Type().NumIn())
		for j := range m.Type().NumIn() {
			in := m.Type().In(j)
			if m.Type().IsVariadic() && j == m.Type().NumIn()-1 {
				break
			}
			args = append(args, reflect.Zero(in))
		}
		assert.NotPanics(t, func() {
			for _, out := range m.Call(args) {
				c, ok := out.Interface().(interface{ CloseAll() error })
				if ok && !out.IsNil() && !slices.Contains([]string{"Device", "PD", "CQ"}, name) {
					_ = c.CloseAll()
				}
			}
		}, "%T.%s", object, name)
	}
}

// TestObjectsThatWereNeverMade: the zero values of all types answer, mostly
// ErrClosed, whatever is asked of them.
func TestObjectsThatWereNeverMade(t *testing.T) {
	for _, object := range []any{
		new(verbs.Device), new(verbs.PD), new(verbs.MR), new(verbs.MW), new(verbs.DM), new(verbs.TD), new(verbs.CQ),
		new(verbs.CQEx), new(verbs.Poller), new(verbs.QP), new(verbs.SRQ), new(verbs.WQ), new(verbs.XRCD), new(verbs.Flow),
		new(verbs.Counters), new(verbs.EventQueue), new(verbs.DMAHandle), new(verbs.IndirectionTable), new(verbs.AddressHandle),
		new(verbs.Completion), new(verbs.CompletionEx), new(verbs.GPUDirectError),
		new(verbs.QP).SendBatch(), new(verbs.QP).RecvBatch(), new(verbs.SRQ).RecvBatch(), new(verbs.WQ).RecvBatch(),
	} {
		t.Run(fmt.Sprintf("%T", object), func(t *testing.T) { callAll(t, object) })
	}
}

// TestNothingGiven: open objects refuse arguments that are zero or nil, or take them
// for the default.
func TestNothingGiven(t *testing.T) {
	dev := openLoop(t, "loop110")
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	cq, err := dev.CreateCQEx(verbs.CQExOptions{})
	require.NoError(t, err)
	qp, err := pd.CreateQP(verbs.QPOptions{SendCQ: cq.CQ(), RecvCQ: cq.CQ()})
	require.NoError(t, err)
	built, err := pd.CreateQPEx(verbs.QPExOptions{
		QPOptions: verbs.QPOptions{SendCQ: cq.CQ(), RecvCQ: cq.CQ()}, SendOps: verbs.OpSend | verbs.OpBindMW | verbs.OpFlush,
	})
	require.NoError(t, err)
	mr, err := pd.AllocMR(64, verbs.MROptions{})
	require.NoError(t, err)
	mw, err := pd.AllocMW(verbs.MWType2)
	require.NoError(t, err)
	dm, err := dev.AllocDM(64, verbs.DMOptions{})
	require.NoError(t, err)
	td, err := dev.AllocTD()
	require.NoError(t, err)
	x, err := dev.OpenXRCD(verbs.XRCDOptions{})
	require.NoError(t, err)
	srq, err := pd.CreateSRQEx(verbs.SRQExOptions{XRCD: x, CQ: cq.CQ()})
	require.NoError(t, err)
	receiver, err := x.CreateQP(verbs.QPOptions{})
	require.NoError(t, err)
	events, err := dev.Events(verbs.EventOptions{})
	require.NoError(t, err)
	for _, object := range []any{
		dev, events, pd, cq, cq.Poller(), cq.CQ(), qp, qp.SendBatch(), qp.RecvBatch(), built, built.SendBatch(), mr, mw, dm, td, x, srq,
		srq.RecvBatch(), receiver, receiver.SendBatch(), receiver.RecvBatch(),
	} {
		callAll(t, object, "Close", "CloseAll")
	}
}
