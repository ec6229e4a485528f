package verbs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// roceTable builds an Ethernet port from lines of "index version address".
func roceTable(t testing.TB, table ...string) PortInfo {
	t.Helper()
	p := PortInfo{Device: "mlx5_0", Number: 1, LinkLayer: LinkLayerEthernet, Netdev: "eth0", GIDTableLen: 16}
	types := map[string]GIDType{"v1": GIDTypeRoCEv1, "v2": GIDTypeRoCEv2, "??": GIDTypeUnknown}
	for _, line := range table {
		f := strings.Fields(line)
		require.Len(t, f, 3)
		p.GIDs = append(p.GIDs, GIDEntry{
			Index: int(f[0][0] - '0'), Type: types[f[1]], GID: mustGID(t, f[2]), Netdev: "eth0",
		})
	}
	return p
}

func TestChooseGIDOnRoCE(t *testing.T) {
	for name, c := range map[string]struct {
		table []string
		want  int
	}{
		"the habit":            {[]string{"0 v1 fe80::1", "1 v2 fe80::1", "2 v1 10.0.0.1", "3 v2 10.0.0.1"}, 3},
		"not the habit":        {[]string{"0 v2 10.0.0.1", "3 v2 fe80::1"}, 0},
		"private as any other": {[]string{"4 v2 10.0.0.1", "5 v2 198.51.100.7"}, 4},
		"IPv4 before IPv6":     {[]string{"2 v2 2001:db8::1", "5 v2 192.168.1.1"}, 5},
		"IPv6 before local":    {[]string{"1 v2 fe80::1", "3 v2 2001:db8::1"}, 3},
		"unique local is IPv6": {[]string{"1 v2 fe80::1", "3 v2 fd00::1"}, 3},
		"IPv4 link-local":      {[]string{"1 v2 169.254.0.1", "3 v2 2001:db8::1"}, 3},
		"local before v1":      {[]string{"0 v1 10.0.0.1", "1 v2 fe80::1"}, 1},
		"v1 at last":           {[]string{"1 v1 fe80::1", "2 v1 10.0.0.1"}, 1},
		"lowest of equals":     {[]string{"7 v2 10.0.0.1", "3 v2 10.0.0.2", "5 v2 10.0.0.3"}, 3},
		"no loopback":          {[]string{"0 v2 127.0.0.1", "1 v2 ::1", "2 v1 fe80::1"}, 2},
		"no unknown version":   {[]string{"0 ?? 10.0.0.1", "1 v1 fe80::1"}, 1},
		"no multicast":         {[]string{"0 v2 224.0.0.1", "1 v2 ff02::1", "2 v2 fe80::1"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			port := roceTable(t, c.table...)
			before := append([]GIDEntry(nil), port.GIDs...)
			choice, err := ChooseGID(port)
			require.NoError(t, err)
			assert.Equal(t, c.want, choice.Index)
			assert.Equal(t, before, port.GIDs, "the table is not touched")
			require.Len(t, choice.Candidates, len(c.table))
			taken := 0
			for i, cand := range choice.Candidates {
				assert.NotEmpty(t, cand.Why)
				if cand.Taken {
					taken++
					assert.Equal(t, c.want, cand.Index)
				}
				if i > 0 {
					assert.Less(t, choice.Candidates[i-1].Index, cand.Index)
				}
			}
			assert.Equal(t, 1, taken)
		})
	}
}

func TestChooseGIDOfFixtures(t *testing.T) {
	for name, want := range map[string]int{"bond": 3, "roce-vlan": 3, "rxe-6.1": 1, "dual-port": 0, "efa": 0, "ib-down-and-vf": 0} {
		choice, err := ChooseGID(readDevices(t, name)[0].Ports[0])
		require.NoError(t, err, name)
		assert.Equal(t, want, choice.Index, name)
	}
}

func TestExplain(t *testing.T) {
	choice, err := ChooseGID(readDevices(t, "bond")[0].Ports[0])
	require.NoError(t, err)
	assert.Equal(t, `mlx5_bond_0 port 1 (Ethernet): GID index 3, RoCE v2, 10.0.0.1 on bond0: RoCE v2 with an IPv4 address
  index  type     address              netdev  verdict
  0      RoCE v1  fe80::200:ff:fe00:1  bond0   not taken: RoCE v1, which reaches one broadcast domain; index 3 is better
  1      RoCE v2  fe80::200:ff:fe00:1  bond0   not taken: RoCE v2 with a link-local address, which reaches one segment; index 3 is better
  2      RoCE v1  10.0.0.1             bond0   not taken: RoCE v1, which reaches one broadcast domain; index 3 is better
  3      RoCE v2  10.0.0.1             bond0   taken: RoCE v2 with an IPv4 address`, choice.Explain())

	choice, err = ChooseGID(readDevices(t, "dual-port")[0].Ports[0])
	require.NoError(t, err)
	assert.Contains(t, choice.Explain(), "index 0, as always on InfiniBand")

	choice, err = ChooseGID(roceTable(t, "1 v2 10.0.0.1", "2 v2 10.0.0.2", "3 v2 127.0.0.1"))
	require.NoError(t, err)
	assert.Contains(t, choice.Explain(), "index 1 is as good and lower")
	assert.Contains(t, choice.Explain(), "cannot be used: a loopback address")
}

func TestNoGID(t *testing.T) {
	var none *NoGIDError

	_, err := ChooseGID(roceTable(t, "0 v2 127.0.0.1"))
	require.ErrorAs(t, err, &none)
	assert.Len(t, none.Candidates, 1)
	assert.ErrorContains(t, err, "ip addr add ADDRESS/PREFIX dev eth0")
	assert.ErrorContains(t, err, "a loopback address")
	assert.ErrorContains(t, err, "mlx5_0 port 1 (Ethernet)")

	dual := readDevices(t, "dual-port")[0]
	_, err = ChooseGID(dual.Ports[1])
	require.ErrorAs(t, err, &none)
	assert.Equal(t, "verbs: no usable GID on mlx4_0 port 2 (Ethernet): give its network interface eth2 an IPv4 or IPv6 address (ip addr add ADDRESS/PREFIX dev eth2) and set it up (ip link set dev eth2 up) (none of the 2 entries of its GID table is in use)", err.Error())

	unseen := roceTable(t)
	unseen.Netdev = ""
	_, err = ChooseGID(unseen)
	require.ErrorAs(t, err, &none)
	assert.ErrorContains(t, err, "another network namespace")

	hidden := readDevices(t, "hfi1-mlx4-mlx5")[0].Ports[0]
	_, err = ChooseGID(hidden)
	require.ErrorAs(t, err, &none)
	assert.ErrorContains(t, err, "no GID table is seen; make /sys/class/infiniband/hfi1_0/ports/1/gids visible")

	vf := readDevices(t, "ib-down-and-vf")[1]
	_, err = ChooseGID(vf.Ports[0])
	require.ErrorAs(t, err, &none)
	assert.ErrorContains(t, err, "ip link set dev PF vf N port_guid GUID")

	// On InfiniBand a GID at another index does not stand in for index 0.
	ib := PortInfo{Device: "mlx5_0", Number: 1, LinkLayer: LinkLayerInfiniBand,
		GIDs: []GIDEntry{{Index: 1, GID: mustGID(t, "fe80::2:c903:a0:5a11")}}}
	_, err = ChooseGID(ib)
	require.ErrorAs(t, err, &none)
	_, err = ChooseGIDIndex(ib, 1)
	require.NoError(t, err, "but it may be asked for")
}

func TestChooseGIDIndex(t *testing.T) {
	port := roceTable(t, "0 v1 fe80::1", "1 v2 fe80::1", "2 v1 10.0.0.1", "3 v2 10.0.0.1", "4 v2 127.0.0.1")

	choice, err := ChooseGIDIndex(port, 1)
	require.NoError(t, err, "link-local is a choice that one may make")
	assert.Equal(t, 1, choice.Index)
	assert.Contains(t, choice.Explain(), "asked for; RoCE v2 with a link-local address")
	assert.Contains(t, choice.Explain(), "another index was asked for")

	for index, want := range map[int]struct {
		problem GIDIndexProblem
		text    string
	}{
		-1: {GIDIndexOutOfRange, "the table has 0 to 15"},
		16: {GIDIndexOutOfRange, "the table has 0 to 15"},
		9:  {GIDIndexEmpty, "is empty; use one of: 1 (RoCE v2, fe80::1), 3 (RoCE v2, 10.0.0.1)"},
		0:  {GIDIndexV1, "is RoCE v1"},
		2:  {GIDIndexV1, "use one of: 1 (RoCE v2, fe80::1), 3 (RoCE v2, 10.0.0.1)"},
		4:  {GIDIndexUnusable, "RoCE v2, 127.0.0.1: a loopback address"},
	} {
		var bad *GIDIndexError
		_, err := ChooseGIDIndex(port, index)
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, want.problem, bad.Problem, index)
		assert.Equal(t, index, bad.Index)
		assert.ErrorContains(t, err, want.text)
		assert.NotContains(t, err.Error(), "\n")
	}

	choice, err = ChooseGIDIndex(roceTable(t, "0 v1 fe80::1", "2 v1 10.0.0.1"), 2)
	require.NoError(t, err, "RoCE v1 is fine where there is nothing else")
	assert.Equal(t, 2, choice.Index)

	unknown := roceTable(t)
	unknown.GIDTableLen = 0
	_, err = ChooseGIDIndex(unknown, 3)
	assert.ErrorContains(t, err, "is empty; the table has no other that could be used")
	_, err = ChooseGIDIndex(unknown, -3)
	assert.ErrorContains(t, err, "is out of range")
}
