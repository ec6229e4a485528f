package bootstrap

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExpandHostlist(t *testing.T) {
	for list, want := range map[string]string{
		"n1":                     "n1",
		"n1,n2":                  "n1 n2",
		"gpu[001-003,7],other":   "gpu001 gpu002 gpu003 gpu7 other",
		"gpu[7,001]":             "gpu7 gpu001",
		"n[9-11]":                "n9 n10 n11",
		"n[09-11]":               "n09 n10 n11",
		"n[098-101]":             "n098 n099 n100 n101",
		"r[1-2]n[0-1]":           "r1n0 r1n1 r2n0 r2n1",
		"r[1-2]n[0-1]-ib,x":      "r1n0-ib r1n1-ib r2n0-ib r2n1-ib x",
		"[1-2]":                  "1 2",
		"n[1[0-1],5]":            "n10 n11 n5",
		"n[1-2[0-1]]":            "n10 n11 n20 n21",
		"n[[1-2],[4]]":           "n1 n2 n4",
		"a.b-c_d":                "a.b-c_d",
		"n[000000000000000001]":  "n000000000000000001",
		"n[999999999999999998-]": "",
		"n[999999999999999998-999999999999999999]": "n999999999999999998 n999999999999999999",
		"": "", ",": "", "n,": "", ",n": "", "n[": "", "n]": "", "n[]": "", "n[1": "", "n[1-]": "", "n[-1]": "", "n[2-1]": "",
		"n[a-c]": "", "n[1,]": "", "n[1,,2]": "", "n 1": "", "n/1": "", "n\x00": "", "nä": "", "n[1-2-3]": "", "bgp[000x133]": "",
		"n[1234567890123456789]": "", "n[[[[[[[[[1]]]]]]]]]": "",
		"n[0-65536]": "", "n[0-999999999999999999]": "", "a[0-999]b[0-999]c[0-999]": "",
	} {
		got, err := ExpandHostlist(list)
		if want == "" {
			assert.ErrorIs(t, err, errHostlist, "%q", list)
			continue
		}
		require.NoError(t, err, "%q", list)
		assert.Equal(t, strings.Fields(want), got, "%q", list)
		first, err := firstHost(list)
		require.NoError(t, err)
		assert.Equal(t, got[0], first)
	}
	first, err := firstHost("a[5-999999999]b[00-999999999]")
	require.NoError(t, err, "the first name needs no others")
	assert.Equal(t, "a5b00", first)
	most, err := ExpandHostlist("n[0-65535]")
	require.NoError(t, err)
	assert.Len(t, most, maxHosts)
}

func FuzzExpandHostlist(f *testing.F) {
	for _, seed := range []string{"", "n1", "gpu[001-003,7],other", "r[1-2]n[0-1]", "n[1[0-1],5]", "n[[[[", "n[0-999999999999999999]", "a[0-99]b[0-99]c[0-99]d[0-99]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names, err := ExpandHostlist(list)
		first, firstErr := firstHost(list)
		if err != nil {
			assert.ErrorIs(t, err, errHostlist)
			return
		}
		require.NoError(t, firstErr)
		require.NotEmpty(t, names)
		assert.LessOrEqual(t, len(names), maxHosts)
		assert.Equal(t, names[0], first)
		for _, name := range names {
			if name == "" || strings.ContainsAny(name, "[], \n") {
				require.Fail(t, "no name", "%q of %q", name, list)
			}
		}
	})
}

func TestTasksOfNode(t *testing.T) {
	for _, c := range []struct {
		list string
		node int
		want int
	}{
		{"4", 0, 4}, {"2(x3),1", 0, 2}, {"2(x3),1", 2, 2}, {"2(x3),1", 3, 1}, {"1,2,3", 1, 2},
		{"2(x3),1", 4, 0}, {"", 0, 0}, {"2(x", 0, 0}, {"2(x)", 0, 0}, {"0", 0, 0}, {"x", 0, 0}, {"2(x0)", 0, 0}, {"99999999", 0, 0},
	} {
		got, err := tasksOfNode(c.list, c.node)
		assert.Equal(t, c.want, got, "%q", c.list)
		assert.Equal(t, c.want == 0, err != nil, "%q: %v", c.list, err)
	}
}

func FuzzTasksOfNode(f *testing.F) {
	f.Add("2(x3),1", 3)
	f.Add("4", 0)
	f.Fuzz(func(t *testing.T, list string, node int) {
		n, err := tasksOfNode(list, node)
		assert.Equal(t, err == nil, n > 0)
	})
}

func TestParseStat(t *testing.T) {
	stat := "4711 (hydra_pmi) proxy) S 4242 4711 4242 34816 4711 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2"
	name, parent, start, ok := parseStat([]byte(stat))
	require.True(t, ok)
	assert.Equal(t, "hydra_pmi) proxy", name)
	assert.Equal(t, 4242, parent)
	assert.Equal(t, "987654", start)
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("4711 (x) S 4242 4711 4242 34816 4711 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2"))
	f.Add([]byte(") ("))
	f.Fuzz(func(t *testing.T, stat []byte) {
		name, _, start, ok := parseStat(stat)
		if !ok {
			assert.Empty(t, name+start)
		}
	})
}

func TestRendezvousText(t *testing.T) {
	r := rendezvous{addresses: []string{"10.0.0.1:7", "[fd00::1]:8"}, host: "n1", pid: 5}
	fill(r.session[:])
	fill(r.key[:])
	got, err := parseRendezvous(r.encode())
	require.NoError(t, err)
	assert.Equal(t, r, got)
	for _, bad := range []string{"", "{}", "null", `{"gofabric_rendezvous":2}`, strings.Replace(string(r.encode()), "10.0.0.1:7", "10.0.0.1", 1)} {
		_, err := parseRendezvous([]byte(bad))
		assert.ErrorIs(t, err, errRendezvous, bad)
	}
}

func FuzzParseRendezvous(f *testing.F) {
	f.Add(rendezvous{addresses: []string{"10.0.0.1:7"}, host: "n1", pid: 5}.encode())
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRendezvous(data)
		if err != nil {
			return
		}
		again, err := parseRendezvous(r.encode())
		require.NoError(t, err)
		assert.Equal(t, r, again)
	})
}

func TestChooseAddresses(t *testing.T) {
	machine := []netInterface{
		{"lo", true, true, []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP("::1")}},
		{"docker0", true, false, []net.IP{net.ParseIP("172.17.0.1")}},
		{"eth0", true, false, []net.IP{net.ParseIP("fe80::1"), net.ParseIP("fd00::5"), net.ParseIP("10.0.0.5")}},
		{"eth1", false, false, []net.IP{net.ParseIP("10.1.0.5")}},
		{"ib0", true, false, []net.IP{net.ParseIP("192.168.0.5")}},
		{"ib1", true, false, []net.IP{net.ParseIP("192.168.1.5")}},
	}
	for pattern, want := range map[string]string{
		"":             "10.0.0.5 192.168.0.5 192.168.1.5 fd00::5 172.17.0.1 127.0.0.1 ::1",
		"ib":           "192.168.0.5 192.168.1.5",
		"ib1,ib0":      "192.168.1.5 192.168.0.5",
		"=ib0":         "192.168.0.5",
		"=ib":          "",
		"^docker,lo":   "10.0.0.5 192.168.0.5 192.168.1.5 fd00::5",
		"^=ib0,=lo":    "error",
		"^=ib0,lo,ib1": "10.0.0.5 fd00::5 172.17.0.1",
		"eth1":         "",
		"wlan":         "",
		",":            "error",
		"a b":          "error",
		"^":            "error",
	} {
		all, err := chooseAddresses(machine, pattern)
		if want == "" || want == "error" {
			var e *WorldError
			assert.ErrorAs(t, err, &e, "%q", pattern)
			continue
		}
		require.NoError(t, err, "%q", pattern)
		var offered []string
		for _, a := range all {
			assert.NotEmpty(t, a.Why)
			if a.Offered {
				offered = append(offered, a.Address)
			}
		}
		assert.Equal(t, strings.Fields(want), offered, "%q", pattern)
		assert.Len(t, all, 9)
	}
	_, err := chooseAddresses(machine, "wlan")
	assert.ErrorContains(t, err, "eth0", "what there is helps")
}

func TestHeadAddressesOfThisMachine(t *testing.T) {
	all, err := HeadAddresses("")
	require.NoError(t, err)
	assert.True(t, all[0].Offered)
}

func FuzzParseInterfaces(f *testing.F) {
	for _, seed := range []string{"", "eth,ib", "=eth0", "^docker", "^=lo", ",", "^^"} {
		f.Add(seed, "eth0")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		filter, err := parseInterfaces(pattern)
		if err != nil {
			return
		}
		_, taken := filter.match(name)
		opposite := filter
		opposite.except = !filter.except
		if filter.names != nil {
			_, otherwise := opposite.match(name)
			assert.NotEqual(t, taken, otherwise)
		}
	})
}

func TestRankList(t *testing.T) {
	assert.Equal(t, "1-3,7,9-10", rankList([]int{1, 2, 3, 7, 9, 10}))
	assert.Equal(t, "4", rankList([]int{4}))
}
