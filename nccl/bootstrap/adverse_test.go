package bootstrap

import (
	"context"
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
)

var noContext context.Context

func TestSessionThatWasNeverMade(t *testing.T) {
	for _, s := range []*Session{nil, {}} {
		assert.NotPanics(t, func() {
			_, err := s.Broadcast(context.Background(), 0, nil)
			assert.ErrorIs(t, err, ErrClosed)
			_, err = s.AllGather(context.Background(), nil)
			assert.ErrorIs(t, err, ErrClosed)
			assert.ErrorIs(t, s.Barrier(context.Background()), ErrClosed)
			assert.NoError(t, s.Close())
		})
	}
	v := reflect.ValueOf(&Session{})
	for i := range v.NumMethod() {
		args := make([]reflect.Value, v.Method(i).Type().NumIn())
		for k := range args {
			args[k] = reflect.Zero(v.Method(i).Type().In(k))
		}
		assert.NotPanics(t, func() { v.Method(i).Call(args) }, v.Type().Method(i).Name)
	}
}

func TestNoContext(t *testing.T) {
	assert.NotPanics(t, func() {
		_, err := Connect(noContext, World{Size: 1}, Options{})
		assert.ErrorIs(t, err, errNoContext)
	})
	s, err := Connect(context.Background(), World{Size: 1}, Options{})
	require.NoError(t, err)
	assert.NotPanics(t, func() { assert.ErrorIs(t, s.Barrier(noContext), errNoContext) })
	require.NoError(t, s.Close())
}

// A short list that stands for very much costs little.
func TestHostlistsThatExplode(t *testing.T) {
	const most = 1 << 17
	fill := func(piece string) string { return strings.Repeat(piece, most/len(piece)-20) }
	lists := map[string]string{
		"long names":     fill("a") + "[1-65536]",
		"many brackets":  fill("[1]"),
		"great ranges":   fill("[0-999999999999999999]"),
		"terms":          fill("[0-999999999999999999],"),
		"nested":         "n" + strings.Repeat("[0-9", 8) + strings.Repeat("]", 8),
		"deep":           fill("["),
		"wide":           "n[" + fill("1,") + "1]",
		"wide and wider": "n[" + fill("0-9,") + "1][0-9][0-9]",
		"long wide":      "n[" + fill("1") + "-2]",
	}
	for name, list := range lists {
		names, err := ExpandHostlist(list)
		first, errFirst := firstHost(list)
		if err != nil {
			assert.Less(t, len(err.Error()), 400, name)
		}
		total := 0
		for _, n := range names {
			total += len(n)
		}
		assert.Less(t, total, 1<<24, name)
		if errFirst == nil {
			assert.LessOrEqual(t, len(first), 255, name)
		}
	}
}

// hostileValues are what may stand in a variable.
var hostileValues = []string{
	"", "0", "1", "-1", "+1", "99999", "65536", "4294967296", "9223372036854775808", "1e3", "0x10", " 1", "1 ", "१",
	"a\nb", "a\x1b[31mred", "\xff\xfe", strings.Repeat("é", 4000), strings.Repeat("x", 100000), "::1", "[::1]", "fe80::1%eth0",
	"host:1", "n[1-3", "n[1-999999999999]", "%s%n%d", "$(id)", "none", "unknown", "127.0.0.1:29500", "[::1]:0", "a:99999",
}

var hostileNames = []string{
	"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE",
	"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", "PMIX_RANK",
	"PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID", "SLURM_JOB_ID",
	"SLURM_LOCALID", "SLURM_NODEID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_STEP_NODELIST", "SLURM_STEP_RESV_PORTS",
	"LWS_WORKER_INDEX", "LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS", "JOB_COMPLETION_INDEX", "NCCL_COMM_ID",
	EnvLauncher, EnvJob, EnvRendezvousDir, EnvExchangeDir, EnvInterface,
}

// One bad value among good ones of each launcher: no panic, and if it is an
// error, one line that can be printed.
func TestHostileEnvironments(t *testing.T) {
	bases := [][]string{
		nil,
		{"RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=h", "MASTER_PORT=29500"},
		{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=4", "PMIX_NAMESPACE=7"},
		{"PMIX_RANK=1", "PMIX_NAMESPACE=7", "WORLD_SIZE=4", "MASTER_ADDR=h"},
		{"PMI_RANK=1", "PMI_SIZE=4", "MASTER_ADDR=h", "PMI_JOBID=5"},
		{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_ID=0", "SLURM_JOB_ID=9", "SLURM_LOCALID=1", "SLURM_NODEID=0", "SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_STEP_NODELIST=n[1-2]"},
		{"LWS_WORKER_INDEX=1", "LWS_GROUP_SIZE=4", "LWS_LEADER_ADDRESS=h"},
		{"JOB_COMPLETION_INDEX=1", "WORLD_SIZE=4", "MASTER_ADDR=h"},
	}
	for _, base := range bases {
		for _, name := range hostileNames {
			for _, value := range hostileValues {
				checkEnvironment(t, append(append([]string{"X=y"}, base...), name+"="+value))
			}
		}
	}
}

func checkEnvironment(t testing.TB, environ []string) {
	w, err := FromEnvironment(Options{Environ: environ})
	if err == nil {
		if bad := w.check(); bad != nil && w.NeedsExchange() {
			t.Errorf("%.300q gives a world that Connect refuses: %v", environ, bad)
		}
		return
	}
	text := err.Error()
	assert.True(t, utf8.ValidString(text), "%.300q", environ)
	assert.Less(t, len(text), 1000, "%.300q", environ)
	for _, c := range text {
		if c < ' ' || c == 0x7f {
			t.Errorf("%.300q gives an error with %q in it", environ, c)
			return
		}
	}
	var e *EnvironmentError
	var we *WorldError
	assert.True(t, errors.As(err, &e) || errors.As(err, &we), "%T", err)
}

// A head that answers an operation that was given up more than once: the rank
// returns all the same.
func TestHeadThatAnswersTooOften(t *testing.T) {
	for range 30 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		w := World{Address: l.Addr().String()}.of(1, 2)
		o := Options{}.settled()
		key := authKey(o.Secret, nil)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, body, _ := readFrame(conn, handshake)
			challenge := make([]byte, nonceLen)
			_, _ = conn.Write(frame(kindChallenge, challenge))
			_, _, _ = readFrame(conn, handshake)
			_, _ = conn.Write(frame(kindAccepted, proof(key, headProof, body, challenge)))
			_, _ = conn.Write(frame(kindWelcome, encodePeers(seat([]hello{identity(w.of(0, 2)), identity(w)}))))
			for {
				kind, _, err := readFrame(conn, handshake)
				if err != nil {
					return
				}
				if kind == kindAbandon {
					one := frame(kindResult, encodeResult(1, nil))
					_, _ = conn.Write(append(append(append([]byte{}, one...), one...), one...))
				}
			}
		}()
		s, err := Connect(testContext(t), w, o)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		done := make(chan error, 1)
		go func() { done <- s.Barrier(ctx) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("the barrier does not return")
		}
		cancel()
		require.NoError(t, s.Close())
		_ = l.Close()
	}
}

// What a program holds a rank's port with and says nothing costs rank 0 no more
// than its time.
func TestSilentHolderOfThePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err = Connect(ctx, World{Address: l.Addr().String()}.of(0, 2), Options{})
	require.Error(t, err)
	assert.Less(t, time.Since(begin), 5*time.Second)
	ctx, cancel = context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begin = time.Now()
	_, err = Connect(ctx, World{Address: l.Addr().String()}.of(1, 2), Options{})
	require.ErrorIs(t, err, ErrRankMissing)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(begin), 5*time.Second)
}

// IPv6, by number and with brackets.
func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		testutil.Skip(t, "this machine has no IPv6: "+err.Error())
	}
	address := l.Addr().String()
	require.NoError(t, l.Close())
	_, port, _ := net.SplitHostPort(address)
	w, err := FromEnvironment(Options{Environ: []string{"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=::1", "MASTER_PORT=" + port}})
	require.NoError(t, err)
	assert.Equal(t, address, w.Address)
	for _, s := range together(t, w, 2, Options{}) {
		assert.Equal(t, 2, s.Size())
	}
}
