package rdmacm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHelloSurvivesTheWire(t *testing.T) {
	h := hello{version: wireVersion, window: 64, bufferSize: 8192, large: 4, maxMessage: 64 << 20}
	b := h.append(nil)
	require.Len(t, b, helloLen)
	got, err := parseHello(b)
	require.NoError(t, err)
	assert.Equal(t, h, got)
	// A later version may say more.
	got, err = parseHello(append(b, 1, 2, 3))
	require.NoError(t, err)
	assert.Equal(t, h, got)
}

func TestRegionSurvivesTheWire(t *testing.T) {
	r := regionNote{id: 7, access: RegionRead, addr: 1 << 40, length: 4096, rkey: 99, name: "table"}
	got, err := parseRegion(r.append(nil))
	require.NoError(t, err)
	assert.Equal(t, r, got)
}

// FuzzConnWire gives every parser what a peer could send.
func FuzzConnWire(f *testing.F) {
	f.Add(uint32(0x02000001), hello{version: 1, window: 1, bufferSize: 256, large: 1, maxMessage: 256}.append(nil))
	f.Add(uint32(0x07000000), regionNote{access: RegionRead | RegionWrite, length: 1, name: "x"}.append(nil))
	f.Add(uint32(0x05000000), grant{addr: 1, rkey: 2}.append(nil))
	f.Add(uint32(0x04000000), appendOffer(nil, 1<<30))
	f.Add(uint32(0x08000000), appendID(nil, 3))
	f.Add(^uint32(0), []byte(nil))
	f.Fuzz(func(t *testing.T, imm uint32, body []byte) {
		if k, credits, err := parseImm(imm); err == nil {
			assert.Equal(t, imm, packImm(k, credits))
		} else {
			assert.ErrorIs(t, err, ErrProtocol)
		}
		if h, err := parseHello(body); err == nil {
			assert.Equal(t, body[:6], h.append(nil)[:6])
			assert.LessOrEqual(t, uint64(h.bufferSize), h.maxMessage)
		} else {
			assert.ErrorIs(t, err, ErrForeignPeer)
		}
		if r, err := parseRegion(body); err == nil {
			again, err := parseRegion(r.append(nil))
			require.NoError(t, err)
			assert.Equal(t, r, again)
		} else {
			assert.ErrorIs(t, err, ErrProtocol)
		}
		if n, err := parseOffer(body); err == nil {
			assert.Equal(t, body, appendOffer(nil, n))
		}
		if g, err := parseGrant(body); err == nil {
			assert.Equal(t, body[:12], g.append(nil)[:12])
		}
		if id, err := parseID(body); err == nil {
			assert.Equal(t, body, appendID(nil, id))
		}
	})
}
