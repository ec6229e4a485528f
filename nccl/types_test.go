package nccl

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	for v, want := range map[Version]string{22803: "2.28.3", 2804: "2.8.4", 21003: "2.10.3", 2305: "2.3.5", 23007: "2.30.7"} {
		assert.Equal(t, want, v.String())
		assert.Equal(t, v, MakeVersion(v.Parts()))
	}
}

func TestDataTypes(t *testing.T) {
	sizes := []int{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}
	require.Len(t, DataTypes(), len(sizes))
	for i, dt := range DataTypes() {
		assert.Equal(t, sizes[i], dt.Size(), dt)
		parsed, err := ParseDataType(dt.String())
		require.NoError(t, err)
		assert.Equal(t, dt, parsed)
	}
	for _, name := range []string{"", "complex", "float 32"} {
		_, err := ParseDataType(name)
		assert.ErrorIs(t, err, ResultInvalidArgument, name)
	}
	assert.Equal(t, 0, DataType(99).Size())
	assert.Equal(t, "DataType(99)", DataType(99).String())
}

func TestRedOps(t *testing.T) {
	for _, op := range RedOps() {
		parsed, err := ParseRedOp(op.String())
		require.NoError(t, err)
		assert.Equal(t, op, parsed)
	}
	_, err := ParseRedOp("mulsum")
	assert.ErrorIs(t, err, ResultInvalidArgument)
}

func FuzzParseDataType(f *testing.F) {
	for _, dt := range DataTypes() {
		f.Add(dt.String())
	}
	f.Add("FLOAT32")
	f.Fuzz(func(t *testing.T, name string) {
		dt, err := ParseDataType(name)
		if err == nil {
			require.True(t, dt.known())
		}
	})
}

func FuzzParseRedOp(f *testing.F) {
	for _, op := range RedOps() {
		f.Add(op.String())
	}
	f.Fuzz(func(t *testing.T, name string) {
		op, err := ParseRedOp(name)
		if err == nil {
			require.LessOrEqual(t, op, Avg)
		}
	})
}

func FuzzUniqueIDText(f *testing.F) {
	text, _ := UniqueID{1, 2, 3}.MarshalText()
	f.Add(string(text))
	f.Add("")
	f.Add("====")
	f.Fuzz(func(t *testing.T, text string) {
		var id UniqueID
		if id.UnmarshalText([]byte(text)) != nil {
			return
		}
		again, err := id.MarshalText()
		require.NoError(t, err)
		var same UniqueID
		require.NoError(t, same.UnmarshalText(again))
		require.Equal(t, id, same)
	})
}

func TestUniqueIDBinary(t *testing.T) {
	id := UniqueID{127: 9}
	data, err := id.MarshalBinary()
	require.NoError(t, err)
	var same UniqueID
	require.NoError(t, same.UnmarshalBinary(data))
	assert.Equal(t, id, same)
	assert.ErrorIs(t, same.UnmarshalBinary(data[:127]), ResultInvalidArgument)
}

func TestEncodeScalar(t *testing.T) {
	half := func(v float64) uint16 {
		b, err := encodeScalar(Float16, v)
		require.NoError(t, err)
		return binary.NativeEndian.Uint16(b)
	}
	for v, want := range map[float64]uint16{
		0: 0, 1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 65520: 0x7c00, math.Inf(-1): 0xfc00,
		math.Ldexp(1, -24): 1, math.Ldexp(1, -14): 0x0400, 1.0 / 3: 0x3555, 2049: 0x6800, 2051: 0x6802,
		math.Ldexp(1, -26): 0, 5.9e-8: 1,
	} {
		assert.Equal(t, want, half(v), "%v as half: %#x", v, half(v))
	}
	one := func(dt DataType, v float64) byte {
		b, err := encodeScalar(dt, v)
		require.NoError(t, err)
		return b[0]
	}
	for v, want := range map[float64]byte{0: 0, 1: 0x38, 448: 0x7e, 480: 0x7f, -1.5: 0xbc, math.Ldexp(1, -9): 1} {
		assert.Equal(t, want, one(Float8E4M3, v), "%v as e4m3", v)
	}
	for v, want := range map[float64]byte{1: 0x3c, 57344: 0x7b, 65536: 0x7c, -2: 0xc0} {
		assert.Equal(t, want, one(Float8E5M2, v), "%v as e5m2", v)
	}
	b, err := encodeScalar(BFloat16, 1)
	require.NoError(t, err)
	assert.Equal(t, uint16(0x3f80), binary.NativeEndian.Uint16(b))
	b, err = encodeScalar(Uint64, math.Ldexp(1, 63))
	require.NoError(t, err)
	assert.Equal(t, uint64(1)<<63, binary.NativeEndian.Uint64(b))
	b, err = encodeScalar(Int8, -128)
	require.NoError(t, err)
	assert.Equal(t, []byte{0x80}, b)

	for dt, v := range map[DataType]float64{Int8: 128, Uint8: -1, Int32: 0.5, Uint32: math.NaN(), Int64: math.Ldexp(1, 63), 77: 1} {
		_, err := encodeScalar(dt, v)
		assert.ErrorIs(t, err, ResultInvalidArgument, "%v as %v", v, dt)
	}
}
