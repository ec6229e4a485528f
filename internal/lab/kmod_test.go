package lab

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func makeModule(depends string) []byte {
	return makeELF("", nil, "", map[string][]byte{".modinfo": []byte("license=GPL\x00depends=" + depends + "\x00name=x\x00")})
}

func TestModuleOrder(t *testing.T) {
	dir := t.TempDir()
	writeRoot(t, dir, map[string][]byte{
		"kernel/drivers/infiniband/rxe/rdma_rxe.ko": makeModule("ib_core,ip6-udp-tunnel,builtin-thing"),
		"kernel/drivers/infiniband/ib_core.ko":      makeModule(""),
		"kernel/net/ip6_udp_tunnel.ko":              makeModule("udp_tunnel"),
		"kernel/net/udp_tunnel.ko":                  makeModule(""),
		"kernel/lib/a.ko":                           makeModule("b"),
		"kernel/lib/b.ko":                           makeModule("a"),
		"kernel/lib/notes.txt":                      nil,
		"modules.builtin":                           []byte("kernel/lib/builtin-thing.ko\n"),
	})
	x, err := openModules(dir)
	require.NoError(t, err)
	mods, err := x.order(context.Background(), []labModule{{name: "ib_core"}, {name: "crc32-none", optional: true}, {name: "rdma_rxe"}, {name: "builtin_thing"}})
	require.NoError(t, err)
	var names []string
	for _, m := range mods {
		names = append(names, m.name)
		assert.NotEmpty(t, m.image)
	}
	assert.Equal(t, []string{"ib_core", "udp_tunnel", "ip6_udp_tunnel", "rdma_rxe"}, names)

	_, err = x.order(context.Background(), []labModule{{name: "siw"}})
	assert.Error(t, err)
	_, err = x.order(context.Background(), []labModule{{name: "a"}})
	assert.Error(t, err)
	_, err = openModules(t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestModuleName(t *testing.T) {
	for file, want := range map[string]string{
		"kernel/crc32-pclmul.ko.xz": "crc32_pclmul", "veth.ko": "veth", "veth.ko.zst": "veth", "veth.kox": "", "modules.dep": "",
	} {
		name, ok := moduleName(file)
		assert.Equal(t, want != "", ok, file)
		if ok {
			assert.Equal(t, want, name)
		}
	}
}

func FuzzModuleDepends(f *testing.F) {
	f.Add(makeModule("a,b"))
	f.Add([]byte("depends="))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = moduleDepends(data)
		dependsOf(data)
	})
}
