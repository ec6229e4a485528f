package rsocket

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReleaseOf(t *testing.T) {
	for path, want := range map[string]int{
		"/usr/lib/x86_64-linux-gnu/librdmacm.so.1.3.44.0": 44,
		"librdmacm.so.1.3.56.1":                           56,
		"librdmacm.so.1":                                  0,
		"librdmacm.so.1.3.x.1":                            0,
		"":                                                0,
	} {
		assert.Equal(t, want, releaseOf(path), path)
	}
}

func FuzzReleaseOf(f *testing.F) {
	for _, path := range []string{"librdmacm.so.1.3.44.0", ".so.", ".so.1.2.99999999999999999999", "x"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) { releaseOf(path) })
}

func TestOptionsAreChecked(t *testing.T) {
	assert.NoError(t, Options{}.check())
	for _, o := range []Options{
		{SendBuffer: -1}, {SendQueue: 1 << 16}, {IOMaps: 129}, {KeepAlive: 1}, {Linger: -1}, {Backlog: -1},
	} {
		assert.Error(t, o.check(), "%+v", o)
		_, err := Listen("127.0.0.1:0", o)
		assert.Error(t, err)
	}
	for _, addr := range []string{"", "host:1", "10.0.0.1", "ib:[fe80::1]:7"} {
		_, err := Listen(addr, Options{})
		assert.Error(t, err, addr)
		_, err = ListenPacket(addr, Options{})
		assert.Error(t, err, addr)
	}
}
