//go:build linux && cgo

package nccl

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gofabric/gofabric/internal/cnccl"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// releases are those that brought something, and the newest.
var releases = []string{
	"2.14.3", "2.17.1", "2.18.1", "2.19.1", "2.22.3", "2.23.4", "2.24.3", "2.26.2", "2.27.3", "2.28.3", "2.28.7",
	"2.29.2", "2.29.7", "2.30.3", "2.30.4", "2.30.7",
}

// TestReleases runs what depends on the release once for each, in a process of
// its own, since a process has one libnccl.
func TestReleases(t *testing.T) {
	fakes(t)
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			output := otherLibrary(t, "^(TestOfOneRelease|TestInterruptedInitIsAnError)$", releaseEnv+"="+release)
			require.Contains(t, output, "--- PASS: TestOfOneRelease", "%s", output)
		})
	}
}

// otherLibrary runs tests in a process that builds and loads a library of its own.
func otherLibrary(t testing.TB, tests string, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run="+tests, "-test.v")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GOFABRIC_LIB") && !strings.HasPrefix(v, "GF1_FAKE_CONTROL") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}

// A library from before 2.14.3 has no configurations: blocking communicators work,
// others are refused with the function and the release.
func TestLibraryWithoutConfigurations(t *testing.T) {
	if os.Getenv(hideEnv) == "" {
		fakes(t)
		output := otherLibrary(t, "^TestLibraryWithoutConfigurations$", hideEnv+"=ncclCommInitRankConfig ncclCommFinalize ncclGetLastError")
		require.Contains(t, output, "--- PASS: TestLibraryWithoutConfigurations", "%s", output)
		return
	}
	r := newBench(t, 2)
	id, err := NewUniqueID()
	require.NoError(t, err)
	_, err = InitRank(r.ctx, r.devs[0], id, 0, 2, Config{})
	require.ErrorIs(t, err, ErrNotSupported)
	assert.Contains(t, err.Error(), "ncclCommInitRankConfig")
	_, err = InitAll(r.ctx, r.devs, Config{Blocking: true})
	require.ErrorIs(t, err, ErrNotSupported)
	r.comms = make([]*Comm, 2)
	for _, err := range make2(2, func(out chan error) {
		for rank := range 2 {
			go func() {
				c, err := InitRank(r.ctx, r.devs[rank], id, rank, 2, Config{Blocking: true})
				r.comms[rank] = c
				out <- err
			}()
		}
	}) {
		require.NoError(t, err)
	}
	r.sumOnce()
	require.ErrorIs(t, r.comms[0].Finalize(r.ctx), ErrNotSupported)
	r.close()
}

// nccl#2347: a configuration copied past its size. Whatever release is loaded,
// it gets a size and a version that it knows; what it does not know is an error
// that names the release.
func TestOfOneRelease(t *testing.T) {
	if os.Getenv(releaseEnv) == "" && !realGPU() {
		testutil.Skip(t, "is run by TestReleases")
	}
	r := newBench(t, 2)
	lib, err := load(LoadOptions{})
	require.NoError(t, err)
	if release := os.Getenv(releaseEnv); release != "" {
		require.Equal(t, release, lib.info.Version.String())
	}
	for i, f := range cnccl.Functions() {
		err := lib.need(i)
		if Version(f.Since) <= lib.info.Version {
			assert.NoError(t, err, f.Name)
			continue
		}
		require.ErrorIs(t, err, ErrNotSupported, f.Name)
		var u *UnsupportedError
		require.ErrorAs(t, err, &u)
		assert.Contains(t, err.Error(), f.Name)
		assert.Contains(t, err.Error(), Version(f.Since).String())
		assert.Contains(t, err.Error(), lib.info.Version.String())
	}
	everything := Config{
		NetName: "Socket", CGAClusterSize: Int(2), MinCTAs: 1, MaxCTAs: 8, SplitShare: true, TrafficClass: Int(0), Name: "x",
		CTAPolicy: CTAPolicyEfficiency, ShrinkShare: true, NVLSCTAs: 2, ChannelsPerNetPeer: 1, GraphUsage: Int(1),
		RMAContexts: 1, MaxP2PPeers: 1, GraphStreamOrdering: Int(1),
	}
	_, err = InitAll(r.ctx, r.devs, everything)
	if lib.info.Version < MakeVersion(2, 30, 7) {
		require.ErrorIs(t, err, ErrNotSupported)
	}
	// Each setting by itself, on the releases that know it.
	for _, s := range everything.settings() {
		if s.set && s.since <= lib.info.Version {
			one := only(everything, s.name)
			assert.NoError(t, one.check(lib), s.name)
		}
	}
	r.init(newest(everything, lib.info.Version))
	for _, dt := range DataTypes() {
		for _, c := range collectives(2, 5, 0, dt, Sum) {
			if dt.Since() <= lib.info.Version {
				r.check(dt, c, 5, false)
				continue
			}
			b := r.alloc(0, make([]byte, 64))
			err := r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 1, dt, Sum, r.streams[0])
			require.ErrorIs(t, err, ErrNotSupported)
			assert.Contains(t, err.Error(), dt.String())
		}
	}
	c, b := r.comms[0], r.alloc(0, make([]byte, 64)).Span()
	for name, call := range map[string]struct {
		since Version
		f     func() error
	}{
		"ncclCommSplit":           {21801, func() error { _, err := c.Split(r.ctx, NoColor, 0, Config{}); return err }},
		"ncclCommRegister":        {21901, func() error { _, err := c.Register(r.ctx, b); return err }},
		"ncclCommShrink":          {22703, func() error { _, err := c.Shrink(r.ctx, []int{1}, 0, Config{}); return err }},
		"ncclAlltoAll":            {22803, func() error { return c.AllToAll(r.ctx, b, b, 0, Int8, r.streams[0]) }},
		"ncclCommRevoke":          {22807, func() error { return c.Revoke(r.ctx) }},
		"ncclSignal":              {22902, func() error { return c.Signal(r.ctx, 1, SignalOptions{}, r.streams[0]) }},
		"ncclCommQueryProperties": {22902, func() error { _, err := c.Properties(r.ctx); return err }},
		"ncclCommMemStats":        {22907, func() error { _, err := c.MemStats(r.ctx); return err }},
		"ncclParamGetParameter":   {23004, func() error { _, err := Parameter("NCCL_DEBUG"); return err }},
		"ncclMemAlloc":            {21901, func() error { _, err := MemAlloc(r.devs[0], 1); return err }},
	} {
		if call.since <= lib.info.Version {
			continue
		}
		err := call.f()
		require.ErrorIs(t, err, ErrNotSupported, name)
		assert.Contains(t, err.Error(), name)
		assert.Contains(t, err.Error(), call.since.String())
	}
	r.sumOnce()
}

// only keeps one setting.
func only(c Config, name string) Config {
	full := c
	one := Config{}
	switch name {
	case "NetName":
		one.NetName = full.NetName
	case "CGAClusterSize":
		one.CGAClusterSize = full.CGAClusterSize
	case "MinCTAs":
		one.MinCTAs = full.MinCTAs
	case "MaxCTAs":
		one.MaxCTAs = full.MaxCTAs
	case "SplitShare":
		one.SplitShare = true
	case "TrafficClass":
		one.TrafficClass = full.TrafficClass
	case "Name":
		one.Name = full.Name
	case "CTAPolicy":
		one.CTAPolicy = full.CTAPolicy
	case "ShrinkShare":
		one.ShrinkShare = true
	case "NVLSCTAs":
		one.NVLSCTAs = full.NVLSCTAs
	case "ChannelsPerNetPeer":
		one.ChannelsPerNetPeer = full.ChannelsPerNetPeer
	case "GraphUsage":
		one.GraphUsage = full.GraphUsage
	case "RMAContexts":
		one.RMAContexts = full.RMAContexts
	case "MaxP2PPeers":
		one.MaxP2PPeers = full.MaxP2PPeers
	case "GraphStreamOrdering":
		one.GraphStreamOrdering = full.GraphStreamOrdering
	}
	return one
}

// newest drops what the release does not know.
func newest(c Config, version Version) Config {
	if version < 21701 {
		return Config{}
	}
	c.NetName = ""
	if version < 22602 {
		return Config{MinCTAs: c.MinCTAs, MaxCTAs: c.MaxCTAs}
	}
	if version < 23007 {
		return Config{MinCTAs: c.MinCTAs, MaxCTAs: c.MaxCTAs, SplitShare: true}
	}
	return c
}

func TestErrorsTellWhatHappened(t *testing.T) {
	e := &OpError{Op: "AllReduce", Rank: 1, Size: 4, Device: 2, Err: &Error{Code: ResultRemoteError, Text: "text", Last: "last"}}
	assert.Equal(t, "nccl: AllReduce on rank 1 of 4 (device 2): ncclRemoteError: text; NCCL's last message in this process: last", e.Error())
	assert.ErrorIs(t, e, ResultRemoteError)
	assert.NotErrorIs(t, e, ResultInternalError)
	assert.True(t, errors.Is(&UnsupportedError{What: "x"}, ErrNotSupported))
	assert.Equal(t, "ncclResult -7", Result(-7).String())
}
