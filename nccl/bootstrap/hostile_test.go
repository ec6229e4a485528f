package bootstrap

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startHead starts rank 0 in the background and waits until its port is open.
func startHead(ctx context.Context, t *testing.T, w World, size int, o Options) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		s, err := Connect(ctx, w.of(0, size), o)
		done <- outcome{s, err}
	}()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", w.Address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, patience, 5*time.Millisecond)
	return done
}

func dial(t *testing.T, address string) net.Conn {
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

// requireHungUp looks that the other side closes the connection, and says
// nothing more than a refusal.
func requireHungUp(t *testing.T, conn net.Conn) {
	t.Helper()
	kind, _, err := readFrame(conn, handshake)
	if err == nil {
		require.Equal(t, kindRefused, kind)
		_, err = conn.Read(make([]byte, 1))
	}
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// TestStrangersDoNotDisturb sends rank 0 whatever may come to an open port while
// it waits and while it works.
func TestStrangersDoNotDisturb(t *testing.T) {
	w := World{Address: freeAddress(t)}
	ctx := testContext(t)
	done := startHead(ctx, t, w, 3, Options{})

	hi := identity(w.of(1, 3))
	oversize := frame(kindHello, nil)
	binary.BigEndian.PutUint32(oversize[8:], 1<<31)
	other := identity(World{Rank: 1, Size: 3, Job: "other"})
	outside := identity(w.of(1, 3))
	outside.rank = 3
	strangers := map[string][]byte{
		"HTTP":                        []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"TLS":                         {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 0, 0, 0},
		"zeros":                       make([]byte, 4096),
		"an oversize frame":           oversize,
		"another version":             {'G', 'F', 'B', 9, 1, 0, 0, 0, 0, 0, 0, 0},
		"a result":                    frame(kindResult, encodeResult(1, nil)),
		"a hello without a body":      frame(kindHello, nil),
		"a hello with too much":       frame(kindHello, append(hi.encode(), 0)),
		"another job":                 frame(kindHello, other.encode()),
		"a rank that cannot be":       frame(kindHello, outside.encode()),
		"an operation before joining": append(frame(kindHello, hi.encode()), frame(kindContribute, encodeContribution(operation{1, opBarrier, 0}, nil))...),
		"a wrong proof":               append(frame(kindHello, hi.encode()), frame(kindProof, make([]byte, 32))...),
	}
	disturb := func() {
		for name, data := range strangers {
			conn := dial(t, w.Address)
			_, err := conn.Write(data)
			require.NoError(t, err, name)
			if name == "an operation before joining" || name == "a wrong proof" {
				kind, _, err := readFrame(conn, handshake)
				require.NoError(t, err)
				require.Equal(t, kindChallenge, kind)
			}
			requireHungUp(t, conn)
		}
		// Those that say nothing, half of something, or only close their end: they
		// stay until their time is up, and nobody waits for them.
		_ = dial(t, w.Address)
		_, err := dial(t, w.Address).Write([]byte("GFB"))
		require.NoError(t, err)
		_, err = dial(t, w.Address).Write(frame(kindHello, hi.encode())[:40])
		require.NoError(t, err)
		half := dial(t, w.Address)
		require.NoError(t, half.(*net.TCPConn).CloseWrite())
		requireHungUp(t, half)
		gone := dial(t, w.Address)
		_, err = gone.Write(frame(kindHello, hi.encode()))
		require.NoError(t, err)
		require.NoError(t, gone.(*net.TCPConn).SetLinger(0))
		require.NoError(t, gone.Close())
	}
	disturb()
	all := connectAll(ctx, t, w, 3, Options{}, 1, 2)
	head := <-done
	require.NoError(t, head.err)
	require.NoError(t, all[1].err)
	require.NoError(t, all[2].err)
	sessions := []*Session{head.Session, all[1].Session, all[2].Session}
	requireAll(t, sessions, func(s *Session) error { return s.Barrier(ctx) })
	disturb()
	requireAll(t, sessions, func(s *Session) error { return s.Barrier(ctx) })
	// Strangers that still hold on do not hold up the end either.
	closeAll(t, sessions)
}

func TestManyStrangersLeaveRoom(t *testing.T) {
	w := World{Address: freeAddress(t)}
	ctx := testContext(t)
	done := startHead(ctx, t, w, 2, Options{})
	for range strangers - 8 {
		_ = dial(t, w.Address)
	}
	all := connectAll(ctx, t, w, 2, Options{}, 1)
	require.NoError(t, all[1].err)
	head := <-done
	require.NoError(t, head.err)
	require.NoError(t, head.Close())
}

func TestWrongSecret(t *testing.T) {
	for name, secret := range map[string]string{"another": "wrong", "none": ""} {
		t.Run(name, func(t *testing.T) {
			w := World{Address: freeAddress(t)}
			ctx := testContext(t)
			o := Options{Secret: []byte("right")}
			done := startHead(ctx, t, w, 2, o)
			// Environ keeps the process's own secret out.
			all := connectAll(ctx, t, w, 2, Options{Secret: []byte(secret), Environ: []string{}}, 1)
			assert.ErrorIs(t, all[1].err, ErrSecret)
			all = connectAll(ctx, t, w, 2, o, 1)
			require.NoError(t, all[1].err, "the right one is let in afterwards")
			head := <-done
			require.NoError(t, head.err)
			require.NoError(t, head.Close())
		})
	}
}

// TestImpostorIsNotBelieved: a program on rank 0's port that knows the protocol
// and not the secret gets no rank to work with it.
func TestImpostorIsNotBelieved(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _, _ = readFrame(conn, handshake)
		_, _ = conn.Write(frame(kindChallenge, make([]byte, nonceLen)))
		_, proof, _ := readFrame(conn, handshake)
		_, _ = conn.Write(frame(kindAccepted, proof)) // sent back
	}()
	all := connectAll(testContext(t), t, World{Address: l.Addr().String()}, 2, Options{Secret: []byte("right")}, 1)
	assert.ErrorIs(t, all[1].err, ErrSecret)
}

func TestDuplicateRankIsRefusedByName(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		ctx := testContext(t)
		host, err := os.Hostname()
		require.NoError(t, err)
		others := make(chan map[int]outcome, 1)
		go func() { others <- connectAll(ctx, t, w, 4, Options{}, 0, 2) }()
		contenders := make(chan outcome, 3)
		for range 3 {
			go func() {
				s, err := Connect(ctx, w.of(1, 4), Options{})
				contenders <- outcome{s, err}
			}()
		}
		// Without rank 3 nobody gets through: the two that end now are refused.
		for range 2 {
			o := <-contenders
			assert.ErrorIs(t, o.err, ErrDuplicateRank)
			assert.ErrorContains(t, o.err, "on "+host+" is rank 1")
		}
		last := connectAll(ctx, t, w, 4, Options{}, 3)
		holder, all := <-contenders, <-others
		require.NoError(t, holder.err, "the one that came first is not disturbed")
		sessions := []*Session{all[0].Session, holder.Session, all[2].Session, last[3].Session}
		requireAll(t, sessions, func(s *Session) error { return s.Barrier(ctx) })
		closeAll(t, sessions)
	})
}

// TestTwoRankZeros: the second one is refused by the first, or sees that its
// file was replaced, and says who.
func TestTwoRankZeros(t *testing.T) {
	w := World{Address: freeAddress(t)}
	ctx := testContext(t)
	done := startHead(ctx, t, w, 2, Options{})
	for _, more := range [][]int{nil, {freePort(t)}} {
		second := w
		second.MorePorts = more
		_, err := Connect(ctx, second.of(0, 2), Options{})
		assert.ErrorIs(t, err, ErrDuplicateRank)
	}
	all := connectAll(ctx, t, w, 2, Options{}, 1)
	require.NoError(t, all[1].err)
	require.NoError(t, (<-done).Close())
}

func TestTwoRankZerosByFile(t *testing.T) {
	for _, way := range ways[1:] {
		t.Run(way.name, func(t *testing.T) {
			w := way.meet(t)
			ctx := testContext(t)
			first := make(chan error, 1)
			go func() {
				_, err := Connect(ctx, w.of(0, 2), Options{})
				first <- err
			}()
			path := w.RendezvousFile
			if path == "" {
				path = filepath.Join(w.ExchangeDir, "head")
			}
			require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, patience, 5*time.Millisecond)
			end, cancel := context.WithCancel(ctx)
			second := make(chan error, 1)
			go func() {
				_, err := Connect(end, w.of(0, 2), Options{})
				second <- err
			}()
			assert.ErrorIs(t, <-first, ErrDuplicateRank)
			cancel()
			assert.ErrorIs(t, <-second, context.Canceled)
		})
	}
}

func freePort(t *testing.T) int {
	_, port, err := splitAddress(freeAddress(t))
	require.NoError(t, err)
	return port
}

func TestSizeMismatchIsToldToBothSides(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		ctx := testContext(t)
		smaller := make(chan map[int]outcome, 1)
		go func() { smaller <- connectAll(ctx, t, w, 4, Options{}, 0) }()
		all := connectAll(ctx, t, w, 8, Options{}, 6)
		assert.ErrorIs(t, all[6].err, ErrSizeMismatch)
		assert.ErrorContains(t, all[6].err, "rank 0 has 4 ranks, this process has 8")
		err := (<-smaller)[0].err
		assert.ErrorIs(t, err, ErrSizeMismatch)
		assert.ErrorContains(t, err, "rank 6 is refused")
		assert.ErrorContains(t, err, "it has 8 ranks, this process has 4")
	})
}

// TestSizeMismatchIsToldToThoseWhoWait: and not only to rank 0.
func TestSizeMismatchIsToldToThoseWhoWait(t *testing.T) {
	w := World{Address: freeAddress(t)}
	ctx := testContext(t)
	done := startHead(ctx, t, w, 4, Options{})
	waits, err := join(ctx, w.of(1, 4), Options{}.settled(), w.Address, target{})
	require.NoError(t, err)
	all := connectAll(ctx, t, w, 8, Options{}, 6)
	assert.ErrorIs(t, all[6].err, ErrSizeMismatch)
	assert.ErrorIs(t, waits.wait(ctx), ErrSizeMismatch)
	assert.ErrorIs(t, (<-done).err, ErrSizeMismatch)
	require.NoError(t, waits.close())
}

// TestPortInUse: rank 0 takes the next of its ports, and the others find it
// there; without one it says what to do.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() { // something that hangs up
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "220 mail.example ESMTP\r\n")
			_ = conn.Close()
		}
	}()
	w := World{Address: l.Addr().String(), MorePorts: []int{freePort(t), freePort(t)}}
	sessions := together(t, w, 3, Options{})
	requireAll(t, sessions, func(s *Session) error { return s.Barrier(testContext(t)) })
	closeAll(t, sessions)

	w.MorePorts = nil
	_, err = Connect(testContext(t), w.of(0, 3), Options{})
	var e *AddressError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "listen", e.Op)
	assert.NotEmpty(t, e.Hint)
	_, err = Connect(testContext(t), w.of(1, 3), Options{ConnectTimeout: 200 * time.Millisecond})
	assert.ErrorIs(t, err, ErrForeign, "what answered there is said")
}

// killed ends a session as the end of its process does.
func killed(t *testing.T, s *Session) {
	require.NoError(t, s.transport.(*client).conn.Close())
}

func TestRankKilledAtTheBarrier(t *testing.T) {
	for _, way := range ways[:2] {
		t.Run(way.name, func(t *testing.T) {
			sessions := together(t, way.meet(t), 4, Options{})
			requireAll(t, sessions, func(s *Session) error { return s.Barrier(testContext(t)) })
			errs := make(chan []error, 1)
			go func() {
				errs <- each([]*Session{sessions[0], sessions[1], sessions[3]}, func(s *Session) error { return s.Barrier(testContext(t)) })
			}()
			killed(t, sessions[2])
			for _, err := range <-errs {
				assert.ErrorIs(t, err, ErrRankDied)
				assert.Equal(t, []int{2}, rankError(t, err).Died)
				assert.ErrorContains(t, err, "rank 2 on ")
			}
			// It stays so.
			assert.ErrorIs(t, sessions[0].Barrier(testContext(t)), ErrRankDied)
		})
	}
}

func TestRankZeroKilled(t *testing.T) {
	sessions := together(t, ways[0].meet(t), 3, Options{})
	h := sessions[0].transport.(*head)
	h.mu.Lock()
	for conn := range h.conns {
		require.NoError(t, conn.(*net.TCPConn).SetLinger(0))
		_ = conn.Close()
	}
	h.mu.Unlock()
	for _, s := range sessions[1:] {
		err := s.Barrier(testContext(t))
		assert.ErrorIs(t, err, ErrRankDied)
		assert.Equal(t, []int{0}, rankError(t, err).Died)
	}
}

// headThatLostRankOne is rank 0 of three, whose rank 1 has come and died.
func headThatLostRankOne(t *testing.T, w World) *head {
	l, err := net.Listen("tcp", w.Address)
	require.NoError(t, err)
	h := newHead(w.of(0, 3), Options{}.settled(), nil, [16]byte{})
	h.serve([]net.Listener{l})
	t.Cleanup(func() { assert.NoError(t, h.close()) })
	c, err := join(testContext(t), w.of(1, 3), Options{}.settled(), w.Address, target{})
	require.NoError(t, err)
	require.NoError(t, c.conn.Close())
	<-c.reader
	require.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.went[1] == died
	}, patience, time.Millisecond)
	return h
}

// TestRankThatWentMayComeAgain: before all have come a place is free again.
func TestRankThatWentMayComeAgain(t *testing.T) {
	w := World{Address: freeAddress(t)}
	h := headThatLostRankOne(t, w)
	ctx := testContext(t)
	all := connectAll(ctx, t, w, 3, Options{}, 1, 2)
	require.NoError(t, all[1].err)
	require.NoError(t, all[2].err)
	require.NoError(t, h.wait(ctx, func() error { return nil }))
}

// TestRankThatDiedBeforeAllCame is named as such when time is up.
func TestRankThatDiedBeforeAllCame(t *testing.T) {
	h := headThatLostRankOne(t, World{Address: freeAddress(t)})
	ended, cancel := context.WithCancel(testContext(t))
	cancel()
	err := h.wait(ended, func() error { return nil })
	e := rankError(t, err)
	assert.Equal(t, []int{2}, e.Missing)
	assert.Equal(t, []int{1}, e.Died)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, err, ErrRankDied)
}

// TestOldRendezvousFile: what a run that did not end well left behind is not
// believed, whoever listens there now.
func TestOldRendezvousFile(t *testing.T) {
	old := World{Address: freeAddress(t)}
	ctx := testContext(t)
	other := startHead(ctx, t, old, 2, Options{}) // some other job's rank 0
	w := ways[1].meet(t)
	stale := rendezvous{addresses: []string{"127.0.0.1:1", old.Address}, host: "n1", pid: 1}
	require.NoError(t, writeRendezvous(w.RendezvousFile, stale))
	late := make(chan map[int]outcome, 1)
	go func() { late <- connectAll(ctx, t, w, 2, Options{}, 1) }()
	select {
	case all := <-late:
		require.Fail(t, "rank 1 believed the old file", "%v", all[1].err)
	case <-time.After(100 * time.Millisecond):
	}
	head, err := Connect(ctx, w.of(0, 2), Options{})
	require.NoError(t, err)
	require.NoError(t, (<-late)[1].err)
	require.NoError(t, head.Close())
	all := connectAll(ctx, t, old, 2, Options{}, 1)
	require.NoError(t, all[1].err)
	require.NoError(t, (<-other).Close())
}

func TestOldExchangeFolder(t *testing.T) {
	w := ways[2].meet(t)
	// An earlier run: rank 0 and 1 met, and were killed.
	dead := together(t, w, 2, Options{})
	keep := t.TempDir()
	require.NoError(t, os.CopyFS(keep, os.DirFS(w.ExchangeDir)))
	closeAll(t, dead)
	require.NoError(t, os.CopyFS(w.ExchangeDir, os.DirFS(keep)))
	ctx := testContext(t)
	late := make(chan map[int]outcome, 1)
	go func() { late <- connectAll(ctx, t, w, 2, Options{}, 1) }()
	head, err := Connect(ctx, w.of(0, 2), Options{})
	require.NoError(t, err)
	one := (<-late)[1]
	require.NoError(t, one.err)
	sessions := []*Session{head, one.Session}
	requireAll(t, sessions, func(s *Session) error { return s.Barrier(ctx) })
	closeAll(t, sessions)
	assert.NoDirExists(t, w.ExchangeDir)
}

func TestFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Chmod(open, 0o777))
	var e *FileError
	_, err := Connect(testContext(t), World{Size: 2, RendezvousFile: filepath.Join(open, "f"), Job: "j"}, Options{})
	require.ErrorAs(t, err, &e)
	assert.NotEmpty(t, e.Hint)

	precious := filepath.Join(dir, "precious")
	require.NoError(t, os.WriteFile(precious, []byte("do not lose this"), 0o600))
	_, err = Connect(testContext(t), World{Size: 2, RendezvousFile: precious, Job: "j"}, Options{})
	require.ErrorAs(t, err, &e)
	data, err := os.ReadFile(precious)
	require.NoError(t, err)
	assert.Equal(t, "do not lose this", string(data))

	// A folder that holds other things keeps them.
	w := World{ExchangeDir: dir, Job: "j"}
	sessions := together(t, w, 2, Options{})
	closeAll(t, sessions)
	assert.FileExists(t, precious)
	assert.NoFileExists(t, filepath.Join(dir, "head"))
}
