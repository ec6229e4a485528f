package bootstrap

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var testLimits = limits{size: 4, message: 1024}

func TestFrameRefusals(t *testing.T) {
	good := frame(kindContribute, []byte("body"))
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"nothing", nil, io.EOF},
		{"half a header", good[:7], io.ErrUnexpectedEOF},
		{"half a body", good[:14], io.ErrUnexpectedEOF},
		{"no body", good[:12], io.ErrUnexpectedEOF},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), ErrForeign},
		{"another version", change(3, 9), ErrVersion},
		{"no kind", change(4, 0), ErrForeign},
		{"an unknown kind", change(4, byte(kindEnd)), ErrForeign},
		{"reserved bytes", change(6, 1), ErrForeign},
		{"too long", change(9, 1), ErrTooLarge},
		{"much too long", change(8, 0xff), ErrTooLarge},
	} {
		_, _, err := readFrame(bytes.NewReader(c.data), testLimits.of)
		assert.ErrorIs(t, err, c.want, c.name)
	}
	kind, body, err := readFrame(bytes.NewReader(good), testLimits.of)
	require.NoError(t, err)
	assert.Equal(t, kindContribute, kind)
	assert.Equal(t, "body", string(body))
}

// TestPromisesTakeNoMemory: a header's length is not allocated before it comes.
func TestPromisesTakeNoMemory(t *testing.T) {
	huge := limits{size: 1, message: maxGather}
	header := frame(kindContribute, nil)
	binary.BigEndian.PutUint32(header[8:], maxGather)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := readFrame(bytes.NewReader(header), huge.of)
	runtime.ReadMemStats(&after)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

// frames of every kind, as the two sides make them.
func sampleFrames() [][]byte {
	h := hello{rank: 1, size: 4, localRank: -1, pid: 7, host: "n1", node: "n1/boot"}
	f := failure{code: failGaveUp, op: operation{3, opBroadcast, 1}, by: 2, missing: []int{0, 3}, died: []int{1}, left: []int{2}}
	op := operation{2, opAllGather, 0}
	return [][]byte{
		frame(kindHello, h.encode()),
		frame(kindChallenge, make([]byte, nonceLen)),
		frame(kindRefused, refusal{refuseDuplicate, 4, "n2", 9}.encode()),
		frame(kindWelcome, encodePeers(seat([]hello{h, h, h, h}))),
		frame(kindContribute, encodeContribution(op, []byte("data"))),
		frame(kindResult, encodeResult(2, [][]byte{{1}, nil, {2, 3}})),
		frame(kindFailed, f.encode()),
		frame(kindAbandon, []byte{0, 0, 0, 2}),
		frame(kindLeave, nil),
	}
}

func FuzzFrames(f *testing.F) {
	for _, sample := range sampleFrames() {
		f.Add(sample)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, body, err := readFrame(bytes.NewReader(data), testLimits.of)
		if err != nil {
			return
		}
		require.Equal(t, data[:headerLen+len(body)], frame(kind, body))
		// What decodes encodes to the same bytes: there is one form.
		switch kind {
		case kindHello:
			if h, err := decodeHello(body); err == nil {
				assert.Equal(t, body, h.encode())
			}
		case kindRefused:
			if r, err := decodeRefusal(body); err == nil {
				assert.Equal(t, body, r.encode())
				assert.Error(t, r.err(World{}))
			}
		case kindWelcome:
			if peers, err := decodePeers(body, testLimits.size); err == nil {
				assert.Equal(t, body, encodePeers(peers))
			}
		case kindContribute:
			if op, data, err := decodeContribution(body, testLimits.size); err == nil {
				assert.Equal(t, body, encodeContribution(op, data))
			}
		case kindResult:
			if sequence, parts, err := decodeResult(body); err == nil {
				assert.Equal(t, body, encodeResult(sequence, parts))
			}
		case kindFailed:
			if f, err := decodeFailure(body); err == nil {
				assert.Equal(t, body, f.encode())
				assert.NotEmpty(t, f.err(t.Context(), World{Size: 4}, operation{}, nil).Error())
			}
		}
	})
}

func TestSamplesDecode(t *testing.T) {
	for _, sample := range sampleFrames() {
		kind, body, err := readFrame(bytes.NewReader(sample), testLimits.of)
		require.NoError(t, err)
		switch kind {
		case kindHello:
			_, err = decodeHello(body)
		case kindRefused:
			_, err = decodeRefusal(body)
		case kindWelcome:
			_, err = decodePeers(body, 4)
		case kindContribute:
			_, _, err = decodeContribution(body, 4)
		case kindResult:
			_, _, err = decodeResult(body)
		case kindFailed:
			_, err = decodeFailure(body)
		}
		assert.NoError(t, err, "kind %d", kind)
	}
}
