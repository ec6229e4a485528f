package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func makeBzImage(payload []byte) []byte {
	image := make([]byte, 5*512+16)
	image[0x1f1] = 4
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(image[0x206:], 0x20f)
	binary.LittleEndian.PutUint32(image[0x248:], 16)
	binary.LittleEndian.PutUint32(image[0x24c:], uint32(len(payload)))
	return append(image, payload...)
}

func TestKernelPayload(t *testing.T) {
	want := bytes.Repeat([]byte("kernel"), 100)
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, err := w.Write(want)
	require.NoError(t, err)
	require.NoError(t, w.Close())

	p, size, err := bzImagePayload(makeBzImage(z.Bytes()))
	require.NoError(t, err)
	assert.EqualValues(t, len(want), size)
	got, err := decompress(context.Background(), p)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	// Other formats have the size behind them.
	p, size, err = bzImagePayload(makeBzImage(append(append([]byte{}, xzMagic...), 7, 0, 0, 0)))
	require.NoError(t, err)
	assert.EqualValues(t, 7, size)
	assert.Equal(t, xzMagic, p)

	for _, bad := range [][]byte{nil, []byte("MZ"), make([]byte, 4096), makeBzImage(nil)} {
		_, _, err := bzImagePayload(bad)
		assert.ErrorIs(t, err, errNoPayload)
	}
	_, err = decompress(context.Background(), []byte("plain"))
	assert.ErrorIs(t, err, errNoPayload)
}

func TestNotes(t *testing.T) {
	note := func(name string, kind uint32, desc string) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(name)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(desc)))
		b = binary.LittleEndian.AppendUint32(b, kind)
		for _, s := range []string{name, desc} {
			b = append(b, s...)
			b = append(b, make([]byte, (4-len(s)%4)%4)...)
		}
		return b
	}
	notes := append(note("GNU\x00", 18, "abcde"), note("Xen\x00", 18, "xyz")...)
	assert.True(t, hasNote(notes, "Xen\x00", 18))
	assert.False(t, hasNote(notes, "Xen\x00", 17))
	assert.False(t, hasNote(notes[:30], "Xen\x00", 18))
	assert.False(t, hasPVH(makeELF("", nil, "", nil)))
}

func FuzzKernelImage(f *testing.F) {
	f.Add(makeBzImage([]byte("12345678")))
	f.Add(makeELF("", nil, "", nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _ = bzImagePayload(data)
		hasPVH(data)
		hasNote(data, "Xen\x00", 18)
	})
}
