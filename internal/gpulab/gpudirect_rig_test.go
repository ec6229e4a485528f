//go:build linux && cgo

package gpulab

import (
	"cmp"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/gpudirect"
	"github.com/gofabric/gofabric/internal/sysfs"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	_ "github.com/gofabric/gofabric/verbs/verbstest" // loop0
)

const everyRight = verbs.AccessLocalWrite | verbs.AccessRemoteWrite | verbs.AccessRemoteRead | verbs.AccessRemoteAtomic

// side is one end of a connection, with a protection domain of its own.
type side struct {
	pd *verbs.PD
	cq *verbs.CQ
	qp *verbs.QP
}

// wire is two connected queue pairs of the device in this process.
type wire struct {
	t    testing.TB
	ctx  context.Context
	dev  *verbs.Device
	a, b side
}

// adapter is the device to move memory of GPUs with: the one in this process, or
// the adapter that the environment names.
func adapter() string { return cmp.Or(os.Getenv(testutil.DeviceEnv), inProcess) }

const inProcess = "loop0"

func newWire(t testing.TB, ctx context.Context) *wire {
	t.Helper()
	dev, err := verbs.Open(adapter())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.CloseAll()) })
	w := &wire{t: t, ctx: ctx, dev: dev}
	w.a, w.b = w.side(), w.side()
	w.connect(w.a, w.b)
	return w
}

func (w *wire) side() (s side) {
	w.t.Helper()
	var err error
	s.pd, err = w.dev.AllocPD()
	require.NoError(w.t, err)
	s.cq, err = w.dev.CreateCQ(verbs.CQOptions{})
	require.NoError(w.t, err)
	s.qp, err = s.pd.CreateQP(verbs.QPOptions{SendCQ: s.cq, RecvCQ: s.cq, MaxInline: 64, MaxSendSGE: 4, MaxRecvSGE: 4})
	require.NoError(w.t, err)
	return s
}

func (w *wire) connect(a, b side) {
	w.t.Helper()
	forA, err := b.qp.Endpoint()
	require.NoError(w.t, err)
	forB, err := a.qp.Endpoint()
	require.NoError(w.t, err)
	require.NoError(w.t, a.qp.Connect(w.ctx, forA, verbs.ConnectOptions{}))
	require.NoError(w.t, b.qp.Connect(w.ctx, forB, verbs.ConnectOptions{}))
}

// post posts what the batch of the side holds and returns its one completion.
func (w *wire) post(s side) *verbs.Completion {
	w.t.Helper()
	_, err := s.qp.SendBatch().Post()
	require.NoError(w.t, err)
	return w.poll(s)
}

func (w *wire) poll(s side) *verbs.Completion {
	w.t.Helper()
	wc := make([]verbs.Completion, 1)
	n, err := s.cq.Spin(w.ctx, wc)
	require.NoError(w.t, err)
	require.Equal(w.t, 1, n)
	return &wc[0]
}

// operations move n bytes of src to dst, which lie at a and at b.
var operations = []struct {
	name string
	run  func(w *wire, dst, src *verbs.MR, to, from, n int) error
}{
	{"write", func(w *wire, dst, src *verbs.MR, to, from, n int) error {
		w.a.qp.SendBatch().Write(1, dst.Remote().At(uint64(to), uint64(n)), src.SGE(from, n))
		return w.post(w.a).Err()
	}},
	{"read", func(w *wire, dst, src *verbs.MR, to, from, n int) error {
		w.b.qp.SendBatch().Read(2, src.Remote().At(uint64(from), uint64(n)), dst.SGE(to, n))
		return w.post(w.b).Err()
	}},
	{"send", func(w *wire, dst, src *verbs.MR, to, from, n int) error {
		w.b.qp.RecvBatch().Recv(3, dst.SGE(to, n))
		if _, err := w.b.qp.RecvBatch().Post(); err != nil {
			return err
		}
		w.a.qp.SendBatch().Send(4, src.SGE(from, n))
		if err := w.post(w.a).Err(); err != nil {
			return err
		}
		return w.poll(w.b).Err()
	}},
}

const hostPage = 4096

// ownPages is the least that cuMemAlloc puts on pages of its own. The driver packs
// what is smaller than its pages; the fake begins with less.
func ownPages() int {
	if realGPU {
		return 2 << 20
	}
	return 64 << 10
}

// wholePages rounds up to that.
func wholePages(n int) uint64 {
	if realGPU {
		n = (n + ownPages() - 1) / ownPages() * ownPages()
	}
	return uint64(max(n, ownPages())+hostPage-1) / hostPage * hostPage
}

// noise fills a slice with bytes that depend on their place.
func noise(p []byte, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for len(p) >= 8 {
		binary.LittleEndian.PutUint64(p, r.Uint64())
		p = p[8:]
	}
	for i := range p {
		p[i] = byte(r.Uint32())
	}
}

// supports reports whether the GPU has an attribute.
func supports(t testing.TB, d *cuda.Device, a cuda.Attribute) bool {
	t.Helper()
	v, err := d.Attribute(a)
	require.NoError(t, err)
	return v != 0
}

var notDirect sync.Once

// direct lists the methods that reach the memory of the GPU itself on this machine.
// The device in this process takes addresses too.
func direct(t testing.TB, d *cuda.Device) (methods []verbs.GPUMethod) {
	t.Helper()
	if supports(t, d, cuda.AttributeDMABuf) {
		methods = append(methods, verbs.GPUDMABuf)
	}
	if _, _, loaded := gpudirect.New(sysfs.Dir("/")).PeerModule(); loaded || adapter() == inProcess {
		methods = append(methods, verbs.GPUPeerMem)
	}
	if len(methods) < 2 {
		notDirect.Do(func() { figure("gpudirect: %s and %s: only %v here", d.Info().Name, adapter(), methods) })
	}
	if len(methods) == 0 {
		testutil.Skip(t, "nothing lets the adapter at the GPU's memory: no dma-bufs, no nvidia_peermem")
	}
	return methods
}

// allocators are the kinds of memory of a GPU.
var allocators = []struct {
	name  string
	alloc func(d *cuda.Device, n uint64) (*cuda.Buffer, error)
}{
	{"cuMemAlloc", func(d *cuda.Device, n uint64) (*cuda.Buffer, error) { return d.Alloc(n) }},
	{"VMM", func(d *cuda.Device, n uint64) (*cuda.Buffer, error) { return d.AllocVMM(n, cuda.VMMOptions{}) }},
}
