package conformance

import (
	"encoding/binary"
	"sync"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var atomicCases = []Case{
	{"FetchAdd", fetchAdd},
	{"CompareSwap", compareSwap},
	{"AtomicsOfTwoQueuePairs", atomicsTogether},
	{"AtomicsAreCheckedFirst", atomicsChecked},
	{"AtomicNotAllowed", atomicNotAllowed},
}

// word is 8 bytes of a region as the processor sees them.
func word(mr *verbs.MR, i int) uint64 { return binary.NativeEndian.Uint64(mr.Bytes()[8*i:]) }

func setWord(mr *verbs.MR, i int, v uint64) { binary.NativeEndian.PutUint64(mr.Bytes()[8*i:], v) }

func (r *Rig) needAtomics() {
	require.NotEqual(r, verbs.AtomicNone, r.Dev.Attributes().AtomicCap, "the device has no atomics")
}

func fetchAdd(r *Rig) {
	r.needAtomics()
	a, _ := r.pair(pairOptions{})
	local, remote := r.memory(64), r.memory(64)
	setWord(remote, 3, 0x0102030405060708)
	want := uint64(0x0102030405060708)
	for i, add := range []uint64{1, 1 << 40, ^uint64(0)} {
		a.QP.SendBatch().FetchAdd(uint64(i), remote.Remote().At(24, 8), add, local.SGE(8*i, 8))
		a.post(1)
		c := a.sent()
		r.good(c, uint64(i), verbs.WCFetchAdd)
		require.Equal(r, 8, c.Len())
		require.Equal(r, want, word(local, i), "what was there before")
		want += add
		require.Equal(r, want, word(remote, 3))
	}
	requireZero(r, remote.Bytes()[:24])
	requireZero(r, remote.Bytes()[32:])
}

func compareSwap(r *Rig) {
	r.needAtomics()
	a, _ := r.pair(pairOptions{})
	local, remote := r.memory(16), r.memory(16)
	setWord(remote, 1, 77)
	target := remote.Remote().At(8, 8)
	a.QP.SendBatch().CompareSwap(1, target, 77, 0xfeedfacecafebeef, local.SGE(0, 8))
	a.QP.SendBatch().CompareSwap(2, target, 77, 5, local.SGE(8, 8))
	a.post(2)
	r.good(a.sent(), 1, verbs.WCCompareSwap)
	r.good(a.sent(), 2, verbs.WCCompareSwap)
	require.Equal(r, uint64(77), word(local, 0))
	require.Equal(r, uint64(0xfeedfacecafebeef), word(local, 1), "the second found another value")
	require.Equal(r, uint64(0xfeedfacecafebeef), word(remote, 1), "and changed nothing")
}

// atomicsTogether: two queue pairs add to one place; nothing is lost, and no
// two see the same value.
func atomicsTogether(r *Rig) {
	r.needAtomics()
	const rounds = 100
	remote := r.memory(8)
	locals := []*verbs.MR{r.memory(8 * rounds), r.memory(8 * rounds)}
	var wg sync.WaitGroup
	for _, local := range locals {
		a, _ := r.pair(pairOptions{})
		wg.Add(1)
		go func() {
			defer wg.Done()
			wc := make([]verbs.Completion, 1)
			for i := range rounds {
				a.QP.SendBatch().FetchAdd(uint64(i), remote.Remote(), 1, local.SGE(8*i, 8))
				if _, err := a.QP.SendBatch().Post(); !assert.NoError(r, err) {
					return
				}
				if _, err := a.Send.Wait(r.ctx, wc); !assert.NoError(r, err) || !assert.NoError(r, wc[0].Err()) {
					return
				}
			}
		}()
	}
	wg.Wait()
	require.Equal(r, uint64(2*rounds), word(remote, 0))
	seen := map[uint64]bool{}
	for _, local := range locals {
		for i := range rounds {
			require.False(r, seen[word(local, i)], "value %d was seen twice", word(local, i))
			seen[word(local, i)] = true
		}
	}
}

func atomicsChecked(r *Rig) {
	a, _ := r.pair(pairOptions{qp: verbs.QPOptions{MaxInline: 8}})
	mr := r.memory(64)
	s := a.QP.SendBatch()
	for text, add := range map[string]func(){
		"multiple of 8":       func() { s.FetchAdd(1, mr.Remote().At(4, 8), 1, mr.SGE(0, 8)) },
		"has 4 bytes":         func() { s.FetchAdd(1, mr.Remote(), 1, mr.SGE(0, 4)) },
		"has 16 bytes":        func() { s.CompareSwap(1, mr.Remote(), 1, 2, mr.SGE(0, 16)) },
		"remote buffer has 4": func() { s.CompareSwap(1, mr.Remote().At(0, 4), 1, 2, mr.SGE(0, 8)) },
		"outside its buffer":  func() { s.FetchAdd(1, mr.Remote().At(60, 8), 1, mr.SGE(0, 8)) },
		"outside its memory":  func() { s.FetchAdd(1, mr.Remote(), 1, mr.SGE(60, 8)) },
		"cannot be inline":    func() { s.FetchAdd(1, mr.Remote(), 1, mr.SGE(0, 8)).Inline() },
	} {
		add()
		n, err := s.Post()
		require.ErrorContains(r, err, text)
		require.Zero(r, n)
	}
	r.quiet(a.Send)
	requireZero(r, mr.Bytes())
}

func atomicNotAllowed(r *Rig) {
	r.needAtomics()
	mr := r.memoryWith(64, verbs.AccessLocalWrite|verbs.AccessRemoteWrite|verbs.AccessRemoteRead)
	add := func(s *verbs.SendBatch, to verbs.RemoteBuffer, local verbs.SGE) {
		local.Length = 8
		s.FetchAdd(1, to, 1, local)
	}
	r.refused(mr.Remote(), add)
	requireZero(r, mr.Bytes())
}
