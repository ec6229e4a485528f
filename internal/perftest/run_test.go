//go:build linux && cgo

package perftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/pairs"
	"github.com/gofabric/gofabric/internal/report"
	"github.com/gofabric/gofabric/verbs"
)

// sides runs both ends on loop0, and returns what each printed.
func sides(t *testing.T, tool Tool, args ...string) (server, client string, serverErr, clientErr error) {
	t.Helper()
	config, err := ParseArgs(tool, append([]string{"-d", "loop0"}, args...))
	require.NoError(t, err, args)
	config.Duration /= 10
	return bothSides(t, context.Background(), config, config)
}

func bothSides(t *testing.T, ctx context.Context, serverConfig, clientConfig Config) (server, client string, serverErr, clientErr error) {
	t.Helper()
	listener, err := Listen(ctx, "127.0.0.1", 0)
	require.NoError(t, err)
	var serverOut, clientOut bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- runEnd(ctx, serverConfig, listening{listener: listener}, &serverOut, io.Discard) }()
	clientConfig.Host, clientConfig.Port = "127.0.0.1", listener.Addr().(*net.TCPAddr).Port
	clientErr = runEnd(ctx, clientConfig, tcpLink{}, &clientOut, io.Discard)
	serverErr = <-done
	require.NoError(t, listener.Close())
	return serverOut.String(), clientOut.String(), serverErr, clientErr
}

// The side that fails for a reason of its own is the one that is told about, not
// the other, which meets with a closed connection.
func TestRunWithoutRoomForOutput(t *testing.T) {
	config, err := ParseArgs(SendBW, []string{"-d", "loop0", "-n", "20", "-s", "64"})
	require.NoError(t, err)
	for n := range 11 {
		room := full(n * 100)
		require.ErrorIs(t, Run(t.Context(), config, &room, io.Discard), errFull, n)
	}
}

// CPUs that are not there are told about before anything is printed or measured.
func TestBindIsTriedFirst(t *testing.T) {
	for _, flags := range [][]string{{"--bind=8191"}, {"--bind=0,8191", "-q", "2", "--threads", "2"}} {
		config, err := ParseArgs(WriteBW, append([]string{"-d", "loop0", "-n", "20"}, flags...))
		require.NoError(t, err)
		var out bytes.Buffer
		require.ErrorContains(t, Run(t.Context(), config, &out, io.Discard), "--bind", flags)
		require.Empty(t, out.String())
	}
}

// A file that cannot be written is told about before a long run, and one that was
// not there does not stay.
func TestOutputFileIsTriedFirst(t *testing.T) {
	dir := t.TempDir()
	for _, flag := range []string{"--out_json_file", "--plot"} {
		config, err := ParseArgs(WriteBW, []string{"-d", "loop0", "-n", "20", flag, filepath.Join(dir, "missing", "file")})
		require.NoError(t, err)
		var out bytes.Buffer
		err = Run(t.Context(), config, &out, io.Discard)
		require.ErrorIs(t, err, fs.ErrNotExist, flag)
		require.ErrorContains(t, err, flag)
		require.Empty(t, out.String())
	}
	name := filepath.Join(dir, "file")
	require.NoError(t, canWrite(name))
	require.NoFileExists(t, name)
	require.NoError(t, os.WriteFile(name, []byte("kept"), 0o600))
	require.NoError(t, canWrite(name))
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "kept", string(got))
}

// Memory of gigabytes is filled quickly, to the last byte, and not after Ctrl-C.
func TestFill(t *testing.T) {
	for _, n := range []int{0, 1, 1<<20 + 3, 5<<20 + 1} {
		b := make([]byte, n)
		require.NoError(t, fill(t.Context(), b))
		for at := 0; at < n; at += 1 << 19 {
			require.NotZero(t, bytes.Compare(b[at:min(n, at+16)], make([]byte, min(n, at+16)-at)), "at %d of %d", at, n)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errFull)
	require.ErrorIs(t, fill(ctx, make([]byte, 5<<20)), errFull)
}

// Each tool with what it can, and numbers that do not divide each other.
func TestRunEveryTool(t *testing.T) {
	cases := map[string][]string{
		"": {"-n 20"},
		"bandwidth": {"-n 103 -q 3", "-n 20 -b", "-n 20 -b -q 2 --report-both", "-D 1 -f 0", "-D 1 -f 0 -b", "-n 53 -Q 7 -t 16 -q 2",
			"-n 21 --reversed", "-n 40 -l 4", "-n 41 -q 5 --threads 2 -Q 3", "-n 20 --mr_per_qp -q 2", "-n 20 --report_gbits -N", "-D 1 -f 0 --cpu_util"},
		"latency":   {"-n 5", "-n 12 -H", "-n 12 -U", "-D 1 -f 0"},
		"write_bw":  {"-n 5 -a", "-n 5 -a -b", "-n 20 -c UC", "-n 20 -I 64 -s 64", "-n 33 --perform_warm_up"},
		"read_bw":   {"-n 5 -a", "-n 20 -o 1", "-n 20 -e"},
		"atomic_bw": {"-n 20 -A CMP_AND_SWAP", "-n 20 -e"},
		"send_bw": {"-n 5 -a", "-n 5 -a -b", "-n 20 -c UC", "-n 20 -c UD -s 1024", "-n 20 -c UD -a", "-n 20 -c UD -b", "-n 20 -e", "-n 20 -e -b",
			"-n 40 --use-srq -q 3", "-n 40 --recv_post_list 4", "-n 21 -r 3", "-n 20 -I 64 -s 64", "-n 100 -r 2 -q 3"},
		"write_lat":  {"-n 5 -a", "-n 20 -c UC", "-n 300 -s 1", "-n 20 -s 64 -I 64"},
		"read_lat":   {"-n 5 -a", "-n 20 -e"},
		"send_lat":   {"-n 5 -a", "-n 20 -c UC", "-n 20 -c UD", "-n 20 -c UD -a", "-n 20 -e", "-n 20 --use-srq", "-n 20 -r 1", "-n 20 -s 64 -I 64"},
		"atomic_lat": {"-n 20 -A CMP_AND_SWAP", "-n 20 -e"},
	}
	for _, tool := range Tools {
		kind := "bandwidth"
		if tool.Latency {
			kind = "latency"
		}
		for _, list := range [][]string{cases[""], cases[kind], cases[tool.Name]} {
			for _, line := range list {
				t.Run(tool.Name+" "+line, func(t *testing.T) {
					server, client, serverErr, clientErr := sides(t, tool, strings.Fields(line)...)
					require.NoError(t, errors.Join(serverErr, clientErr))
					checkRows(t, tool, line, server, client)
				})
			}
		}
	}
	assert.Empty(t, life.Open())
}

// checkRows reads the output as that of the C tools is read.
func checkRows(t *testing.T, tool Tool, line, server, client string) {
	t.Helper()
	rows := len(readValues(client, tool.Latency))
	want := 1
	switch {
	case strings.Contains(line, "-a") && strings.Contains(line, "UD"):
		want = 12
	case strings.Contains(line, "-a"):
		want = 23
	case strings.Contains(line, "--report-both"):
		want = 3
	case strings.Contains(line, "--reversed") && tool.Verb != VerbSend:
	}
	assert.Equal(t, want, rows, client)
	for _, v := range readValues(client, tool.Latency) {
		assert.GreaterOrEqual(t, v.value, 0.0)
	}
	if tool.Latency && tool.Verb.brings() {
		assert.Empty(t, readValues(server, true), "a server of reads has nothing to print")
		assert.NotContains(t, server, "t_min")
	} else {
		assert.NotEmpty(t, readValues(server, tool.Latency), server)
	}
	title, _ := pairs.Field(client, "Number of qps")
	assert.NotEmpty(t, title)
}

func TestRunInProcess(t *testing.T) {
	config, err := ParseArgs(SendLat, []string{"-d", "loop0", "-n", "20", "--json", "-U"})
	require.NoError(t, err)
	var out, notes bytes.Buffer
	require.NoError(t, Run(context.Background(), config, &out, &notes))
	assert.Contains(t, notes.String(), "say nothing about the performance")
	var doc report.Document
	require.NoError(t, json.Unmarshal(out.Bytes(), &doc))
	assert.Equal(t, "client", doc.Role)
	assert.Equal(t, inProcessNote, doc.Note)
	assert.Equal(t, "in this process", doc.Provider)
	require.Len(t, doc.Results, 1)
	assert.Len(t, doc.Results[0].SamplesSeconds, 19)
	assert.Nil(t, doc.Results[0].DocumentBandwidth)

	config.Host = "10.0.0.1"
	require.ErrorContains(t, Run(context.Background(), config, &out, &notes), "no other host reaches")
}

func TestRunFiles(t *testing.T) {
	folder := t.TempDir()
	for _, tool := range []Tool{WriteBW, SendLat} {
		config, err := ParseArgs(tool, []string{"-d", "loop0", "-n", "20", "--out_json_file", folder + "/" + tool.Name + ".json", "--plot", folder + "/" + tool.Name + ".svg"})
		require.NoError(t, err)
		require.NoError(t, Run(context.Background(), config, io.Discard, io.Discard))
		text, err := os.ReadFile(folder + "/" + tool.Name + ".json")
		require.NoError(t, err)
		var file map[string]map[string]any
		require.NoError(t, json.Unmarshal(text, &file))
		assert.EqualValues(t, tool.Size, file["results"]["MsgSize"])
		svg, err := os.ReadFile(folder + "/" + tool.Name + ".svg")
		require.NoError(t, err)
		assert.True(t, bytes.HasSuffix(svg, []byte("</svg>\n")))
		assert.True(t, bytes.Contains(svg, []byte("nothing about the performance")))
	}
}

func TestRunLimits(t *testing.T) {
	for _, args := range [][]string{{"-w", "1e12"}, {"-y", "1e12"}} {
		config, err := ParseArgs(WriteBW, append([]string{"-d", "loop0", "-n", "20"}, args...))
		require.NoError(t, err)
		assert.ErrorContains(t, Run(context.Background(), config, io.Discard, io.Discard), "below the limit")
	}
}

func TestRunOneColumn(t *testing.T) {
	config, err := ParseArgs(WriteBW, []string{"-d", "loop0", "-n", "20", "--output=message_rate"})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, Run(context.Background(), config, &out, io.Discard))
	_, err = strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
	assert.NoError(t, err, out.String())
}

// A run without an end prints rows until it is ended.
func TestRunInfinitely(t *testing.T) {
	for _, tool := range []Tool{WriteBW, SendBW} {
		for _, more := range [][]string{nil, {"-b"}} {
			config, err := ParseArgs(tool, append([]string{"-d", "loop0", "--run_infinitely", "-D", "1"}, more...))
			require.NoError(t, err)
			config.Duration /= 20
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(context.Background())
			out := &rowCounter{enough: func() { cancel(cause) }}
			err = Run(ctx, config, out, io.Discard)
			assert.ErrorIs(t, err, cause)
			assert.GreaterOrEqual(t, out.rows, 2)
		}
	}
	assert.Empty(t, life.Open())
}

// rowCounter calls enough at the second row.
type rowCounter struct {
	rows   int
	enough func()
}

func (c *rowCounter) Write(p []byte) (int, error) {
	if c.rows += len(readValues(string(p), false)); c.rows == 2 {
		c.enough()
	}
	return len(p), nil
}

// Sides that differ in what they count end with an error on both.
func TestRunDisagrees(t *testing.T) {
	parse := func(tool Tool, line string) Config {
		config, err := ParseArgs(tool, append([]string{"-d", "loop0", "--timeout", "2"}, strings.Fields(line)...))
		require.NoError(t, err)
		return config
	}
	for name, c := range map[string]struct {
		tool           Tool
		server, client string
		want           error
	}{
		"fewer sends than receives": {SendBW, "-n 40 -s 64", "-n 20 -s 64", errPeerOver},
		"more sends":                {SendBW, "-n 20 -s 64", "-n 2000 -s 64", nil},
		"longer messages":           {SendBW, "-n 20 -s 64", "-n 20 -s 4096", nil},
		"fewer pings":               {SendLat, "-n 40", "-n 20", nil},
		"fewer writes":              {WriteLat, "-n 40", "-n 20", nil},
		"queue pairs":               {WriteBW, "-n 20 -q 3", "-n 20 -q 2", nil},
		"memory":                    {WriteBW, "-n 20 -s 4096", "-n 20 -s 65536", nil},
	} {
		t.Run(name, func(t *testing.T) {
			server, client := parse(c.tool, c.server), parse(c.tool, c.client)
			if c.want == nil { // any error will do, and some are only found by waiting
				for _, config := range []*Config{&server, &client} {
					config.Timeout, config.ServerTimeout = faultTimeout, 4*faultTimeout
				}
			}
			_, _, serverErr, clientErr := bothSides(t, context.Background(), server, client)
			require.Error(t, errors.Join(serverErr, clientErr))
			if c.want != nil {
				assert.ErrorIs(t, errors.Join(serverErr, clientErr), c.want)
			}
			t.Logf("server: %v; client: %v", serverErr, clientErr)
			assert.Empty(t, life.Open())
		})
	}
}

// A datagram that is lost is told and not waited for.
func TestRunLossy(t *testing.T) {
	parse := func(line string) Config {
		config, err := ParseArgs(SendBW, append([]string{"-d", "loop0", "-c", "UD", "-s", "64", "--timeout", "10"}, strings.Fields(line)...))
		require.NoError(t, err)
		return config
	}
	server, _, serverErr, clientErr := bothSides(t, context.Background(), parse("-n 40"), parse("-n 20"))
	require.NoError(t, errors.Join(serverErr, clientErr))
	assert.Equal(t, "20", strings.Fields(server[strings.LastIndex(server, " 64 "):])[1], server)
}

// A peer that connects and then does nothing is given up; so is a wait for a
// client when the program is ended.
func TestRunEnds(t *testing.T) {
	for _, tool := range Tools {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		config, err := ParseArgs(tool, []string{"-d", "loop0"})
		require.NoError(t, err)
		listener, err := Listen(ctx, "127.0.0.1", 0)
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- runEnd(ctx, config, listening{listener: listener}, io.Discard, io.Discard) }()
		cancel(cause)
		assert.ErrorIs(t, <-done, cause)
	}
	assert.Empty(t, life.Open())
}

// A peer that makes the exchanges and no traffic is given up after the time-out.
func TestRunPeerMovesNoData(t *testing.T) {
	for _, tool := range []Tool{WriteLat, SendLat, SendBW} {
		t.Run(tool.Name, func(t *testing.T) {
			config, err := ParseArgs(tool, []string{"-d", "loop0", "--timeout", "1"})
			require.NoError(t, err)
			listener, err := Listen(context.Background(), "127.0.0.1", 0)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() {
				done <- runEnd(context.Background(), config, listening{listener: listener}, io.Discard, io.Discard)
			}()
			conn, err := Dial(context.Background(), "127.0.0.1", listener.Addr().(*net.TCPAddr).Port, "")
			require.NoError(t, err)
			s := NewSession(conn, RoleClient, SessionOptions{})
			defer s.Close()
			begin := time.Now()
			require.NoError(t, idlePeer(s, tool))
			err = <-done
			want := ErrPeerSilent
			if tool.Name == WriteLat.Name {
				want = verbs.StatusRetryExceeded // its server sends first, to nobody
			}
			assert.ErrorIs(t, err, want)
			assert.Less(t, time.Since(begin), 20*time.Second)
			assert.Empty(t, life.Open())
		})
	}
}

// idlePeer makes a client's exchanges up to the run without an RDMA device.
func idlePeer(s *Session, tool Tool) error {
	ctx := context.Background()
	key := Key{OutReads: 1, QPN: 1, PSN: 2, RKey: 3, VAddr: 4096, GID: &GID{10: 0xff, 11: 0xff, 12: 10, 15: 2}}
	if _, err := s.Prologue(ctx, Host{PageSize: 4096, CacheLine: 64, MTU: 5}); err != nil {
		return err
	}
	exchanges := 4 // all are a key
	for range exchanges {
		if err := s.Barrier(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
