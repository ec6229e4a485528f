package verbs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEnumsPrintAsIbvDevinfo(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"PORT_DOWN":                    PortDown,
		"PORT_INIT":                    PortInit,
		"PORT_ARMED":                   PortArmed,
		"PORT_ACTIVE":                  PortActive,
		"invalid state":                PortNop,
		"SLEEP":                        PhysSleep,
		"POLLING":                      PhysPolling,
		"DISABLED":                     PhysDisabled,
		"PORT_CONFIGURATION TRAINNING": PhysTraining,
		"LINK_UP":                      PhysLinkUp,
		"LINK_ERROR_RECOVERY":          PhysLinkErrorRecovery,
		"PHY TEST":                     PhysTest,
		"invalid physical state":       PhysUnknown,
		"InfiniBand":                   LinkLayerInfiniBand,
		"Ethernet":                     LinkLayerEthernet,
		"Unspecified":                  LinkLayerUnspecified,
		"Unknown":                      LinkLayer(9),
		"IB":                           GIDTypeIB,
		"RoCE v1":                      GIDTypeRoCEv1,
		"RoCE v2":                      GIDTypeRoCEv2,
		"unknown":                      GIDTypeUnknown,
		"Invalid gid type":             GIDType(9),
		"InfiniBand channel adapter":   NodeCA,
		"InfiniBand switch":            NodeSwitch,
		"InfiniBand router":            NodeRouter,
		"iWARP NIC":                    NodeRNIC,
		"usNIC":                        NodeUSNIC,
		"usNIC UDP":                    NodeUSNICUDP,
		"unspecified":                  NodeUnspecified,
		"256":                          MTU256,
		"512":                          MTU512,
		"1024":                         MTU1024,
		"2048":                         MTU2048,
		"4096":                         MTU4096,
		"invalid MTU":                  MTU(0),
	} {
		assert.Equal(t, want, got.String())
	}
	assert.Equal(t, "unknown", NodeType(-1).String())
	assert.Equal(t, "invalid state", PortActiveDefer.String())
	for state, want := range []string{
		"no state change (NOP)", "down", "init", "armed", "active", "active defer", "unknown",
	} {
		assert.Equal(t, want, PortState(state).Description())
	}
}

func TestMTUFromBytes(t *testing.T) {
	for m := MTU256; m <= MTU4096; m++ {
		back, err := MTUFromBytes(m.Bytes())
		require.NoError(t, err)
		assert.Equal(t, m, back)
	}
	for _, bad := range []int{-1, 0, 1, 128, 1500, 8192, 1 << 40} {
		_, err := MTUFromBytes(bad)
		assert.ErrorContains(t, err, "is not an RDMA MTU")
	}
	assert.Zero(t, MTU(6).Bytes())
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"2.5 Gb/sec (1X)":      {2.5, "1X", "SDR"},
		"2.5 Gb/sec (1X SDR)":  {2.5, "1X", "SDR"},
		"20 Gb/sec (4X DDR)":   {20, "4X", "DDR"},
		"120 Gb/sec (12X QDR)": {120, "12X", "QDR"},
		"40 Gb/sec (4X FDR10)": {40, "4X", "FDR10"},
		"56 Gb/sec (4X FDR)":   {56, "4X", "FDR"},
		"25 Gb/sec (1X EDR)":   {25, "1X", "EDR"},
		"100 Gb/sec (2X HDR)":  {100, "2X", "HDR"},
		"400 Gb/sec (4X NDR)":  {400, "4X", "NDR"},
		"1600 Gb/sec (8X XDR)": {1600, "8X", "XDR"},
		"3200 Gb/sec (8X GDR)": {3200, "8X", "GDR"}, // one that this code does not know
	} {
		got, err := parseRate(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
	for _, bad := range []string{
		"", "100", "100 Gb/sec", "100 Gb/sec (4X EDR", "x Gb/sec (4X EDR)", "-1 Gb/sec (4X EDR)", "NaN Gb/sec (4X EDR)",
		"Inf Gb/sec (4X EDR)", "100 Gb/sec (3X EDR)", "100 Gb/sec (EDR)", "100 Gb/sec (4X edr!)", "100 GB/sec (4X EDR)",
	} {
		_, err := parseRate(bad)
		assert.Error(t, err, bad)
	}
	edr := Rate{100, "4X", "EDR"}
	assert.Equal(t, 4, edr.Lanes())
	assert.InDelta(t, 12.5e9, edr.BytesPerSecond(), 0)
	assert.Equal(t, "unknown", Rate{}.String())
	assert.Zero(t, Rate{}.Lanes())
}

func FuzzParseRate(f *testing.F) {
	f.Add("100 Gb/sec (4X EDR)")
	f.Add("2.5 Gb/sec (1X)")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseRate(s)
		if err != nil {
			return
		}
		if r.Lanes() == 0 {
			t.Fatalf("%q has no lanes", s)
		}
		if back, err := parseRate(r.String()); err != nil || back != r {
			t.Fatalf("%q prints as %q, which reads as %v, %v", s, r, back, err)
		}
	})
}

// FuzzAttributeParsers feeds one text to every small parser of sysfs text.
func FuzzAttributeParsers(f *testing.F) {
	f.Add("4: ACTIVE")
	f.Add("5: LinkUp")
	f.Add("7: <unknown>")
	f.Add("InfiniBand")
	f.Add("0000:3b:00.0")
	f.Add("80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:a0:5a:11")
	f.Add("255")
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseNumbered(s); err == nil && (n < 0 || n > 255) {
			t.Fatalf("%q: %d", s, n)
		}
		if l, err := parseLinkLayer(s); err == nil && l > LinkLayerEthernet {
			t.Fatalf("%q: %d", s, l)
		}
		if n, ok := portNumber(s); ok && (n < 0 || n > 255) {
			t.Fatalf("%q: %d", s, n)
		}
		if isPCIAddress(s) && (len(s) < 12 || len(s) > 16) {
			t.Fatalf("%q is no PCI address", s)
		}
		if _, ok := guidOfHardwareAddress(s); ok && len(s) != 59 {
			t.Fatalf("%q is no hardware address", s)
		}
	})
}
