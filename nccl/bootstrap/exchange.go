package bootstrap

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// exchange is the transport by files alone. In the folder stand
//
//	head                     rank 0's hello with the session's number
//	join-SESSION-RANK        a rank's hello, for as long as it takes part
//	roster-SESSION           all ranks' nonces, when all have joined
//	op-SESSION-NUMBER-RANK   what a rank gives to an operation
//	fail-SESSION             why the session is over
//	ask-SESSION              hello of a process that finds that it does not fit
//	answer-SESSION-NONCE     rank 0's refusal of it
//
// A rank believes a session whose roster has the nonce that it made itself, and a
// refusal that is addressed to it: what an earlier run left behind cannot.
type exchange struct {
	world   World
	options Options
	key     []byte
	session string
	me      hello
	peers   []Peer
	last    string // this rank's file of the operation before
}

const sealLen = sha256.Size

// seal appends what shows that a file is whole, of this name and by someone who
// knows the secret.
func (x *exchange) seal(name string, body []byte) []byte {
	return append(body[:len(body):len(body)], x.sum(name, body)...)
}

func (x *exchange) sum(name string, body []byte) []byte {
	mac := hmac.New(sha256.New, x.key)
	mac.Write([]byte("gofabric bootstrap file\x00" + name + "\x00"))
	mac.Write(body)
	return mac.Sum(nil)
}

// unseal is the opposite. A file that is not whole yet fails too.
func (x *exchange) unseal(name string, data []byte) ([]byte, error) {
	if len(data) < sealLen {
		return nil, fmt.Errorf("%w, or the file is not whole", ErrSecret)
	}
	body := data[:len(data)-sealLen]
	if !hmac.Equal(x.sum(name, body), data[len(body):]) {
		return nil, fmt.Errorf("%w, or the file is not whole", ErrSecret)
	}
	return body, nil
}

func (x *exchange) path(name string) string { return filepath.Join(x.world.ExchangeDir, name) }
func (x *exchange) joinName(rank int) string {
	return fmt.Sprintf("join-%s-%d", x.session, rank)
}
func (x *exchange) rosterName() string { return "roster-" + x.session }
func (x *exchange) failName() string   { return "fail-" + x.session }
func (x *exchange) askName() string    { return "ask-" + x.session }
func (x *exchange) answerName(nonce [nonceLen]byte) string {
	return fmt.Sprintf("answer-%s-%x", x.session, nonce[:8])
}
func (x *exchange) opName(sequence, rank int) string {
	return fmt.Sprintf("op-%s-%d-%d", x.session, sequence, rank)
}

// read returns the body of a file that is there and whole.
func (x *exchange) read(name string, most int) ([]byte, error) {
	data, err := readOwn(x.path(name), int64(most)+sealLen)
	if err != nil {
		return nil, err
	}
	body, err := x.unseal(name, data)
	if err != nil {
		return nil, &FileError{Path: x.path(name), Err: err}
	}
	return body, nil
}

func (x *exchange) write(name string, body []byte) error {
	return writeWhole(x.path(name), x.seal(name, body))
}

// claim writes a file that must not be there yet.
func (x *exchange) claim(name string, body []byte) error {
	file, err := os.OpenFile(x.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &FileError{Path: x.path(name), Err: err}
	}
	_, err = file.Write(x.seal(name, body))
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return &FileError{Path: x.path(name), Err: err}
	}
	return nil
}

func (x *exchange) readHello(name string) (hello, error) {
	body, err := x.read(name, handshakeLimit)
	if err != nil {
		return hello{}, err
	}
	return decodeHello(body)
}

// poll calls try with growing pauses until it says that it is done, or fails, or
// the context ends, whose cause it then returns. A large world looks less often:
// each look asks for a file of every rank.
func (x *exchange) poll(ctx context.Context, try func() (bool, error)) error {
	const shortest = time.Millisecond
	longest := time.Duration(50+x.world.Size) * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		if done, err := try(); done || err != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

func connectByFiles(ctx context.Context, w World, o Options) (transport, error) {
	x := &exchange{world: w, options: o, key: authKey(o.Secret, nil), me: identity(w)}
	fill(x.me.nonce[:])
	var err error
	if w.Rank == 0 {
		err = x.lead(ctx)
	} else {
		err = x.follow(ctx)
	}
	if err != nil {
		_ = x.close()
		return nil, err
	}
	return x, nil
}

// lead opens the session and waits for the others.
func (x *exchange) lead(ctx context.Context) error {
	if err := makeFolder(x.world.ExchangeDir); err != nil {
		return err
	}
	x.sweep() // of an earlier run that did not end well
	fill(x.me.session[:])
	x.session = hex.EncodeToString(x.me.session[:])
	hellos := make([]hello, x.world.Size)
	came := make([]bool, x.world.Size)
	went := make([]absence, x.world.Size)
	hellos[0], came[0] = x.me, true
	if err := x.claim(x.joinName(0), x.me.encode()); err != nil {
		return err
	}
	if err := x.write("head", x.me.encode()); err != nil {
		return err
	}
	err := x.poll(ctx, func() (bool, error) {
		if err := x.failed(ctx, operation{}); err != nil {
			return false, err
		}
		if h, err := x.readHello("head"); err == nil && h.session != x.me.session {
			return false, &RefusedError{Rank: 0, Err: ErrDuplicateRank, Detail: fmt.Sprintf("process %d on %s is rank 0 too", h.pid, h.host)}
		}
		if err := x.answer(ctx, hellos, came); err != nil {
			return false, err
		}
		all := true
		for rank := range came {
			if rank == 0 {
				continue
			}
			// Again for those that came: they may have gone since.
			h, err := x.readHello(x.joinName(rank))
			was := came[rank]
			came[rank] = err == nil && h.rank == rank && h.size == x.world.Size
			if was && !came[rank] {
				went[rank] = quit
			}
			hellos[rank] = h
			all = all && came[rank]
		}
		return all, nil
	})
	if err != nil {
		return x.givenUp(ctx, err, operation{}, came, went)
	}
	x.peers = seat(hellos)
	var e encoder
	for _, h := range hellos {
		e.raw(h.nonce[:])
	}
	e.raw(encodePeers(x.peers))
	return x.write(x.rosterName(), e)
}

// answer refuses a process that asks because it does not fit. One that has
// another size ends the session.
func (x *exchange) answer(ctx context.Context, hellos []hello, came []bool) error {
	h, err := x.readHello(x.askName())
	if err != nil {
		return nil
	}
	r := refusal{reason: refuseSize, size: x.world.Size}
	if h.size == x.world.Size {
		if !came[h.rank] {
			return nil // its place may be free by now
		}
		r = refusal{reason: refuseDuplicate, size: x.world.Size, host: hellos[h.rank].host, pid: hellos[h.rank].pid}
	}
	if err := x.write(x.answerName(h.nonce), r.encode()); err != nil {
		return err
	}
	_ = os.Remove(x.path(x.askName()))
	if r.reason == refuseSize {
		return x.over(ctx, operation{}, failure{code: failSize, by: h.rank, other: h.size})
	}
	return nil
}

// follow joins the session that rank 0 has opened, and another one if that was
// an old one.
func (x *exchange) follow(ctx context.Context) error {
	var last error
	entered := false
	here := make([]bool, x.world.Size)
	went := make([]absence, x.world.Size) // those that give up together see each other go
	err := x.poll(ctx, func() (bool, error) {
		head, err := x.readHello("head")
		switch {
		case err == nil && head.job != x.me.job:
			err = &RefusedError{Rank: x.world.Rank, Err: ErrWrongJob}
		case err == nil && head.session != x.me.session:
			x.me.session, x.session, entered = head.session, hex.EncodeToString(head.session[:]), false
		}
		if err == nil && !entered {
			entered, err = x.enter(head)
		}
		if err != nil {
			last = err
			return false, final(err)
		}
		if err := x.failed(ctx, operation{}); err != nil {
			return false, err
		}
		now := x.present()
		for rank, was := range here {
			if was && !now[rank] {
				went[rank] = quit
			}
		}
		here = now
		return x.seated()
	})
	if err != nil && !entered {
		x.session = "" // nothing there is this rank's
		if ctx.Err() != nil {
			return &RankError{Op: opConnect.String(), By: x.world.Rank, Missing: []int{0}, Err: &lastAttempt{cause: context.Cause(ctx), last: last}}
		}
	}
	if err != nil {
		return x.givenUp(ctx, err, operation{}, here, went)
	}
	return nil
}

// answered is rank 0's refusal, which no old file can hold.
type answered struct{ error }

func (e answered) Unwrap() error { return e.error }

// final is err if trying again cannot help.
func final(err error) error {
	var a answered
	if errors.As(err, &a) {
		return a.error
	}
	return nil
}

// enter takes this rank's place in the session of a head. If it does not fit, it
// asks rank 0: the session may be an old one, and nobody answers.
func (x *exchange) enter(head hello) (bool, error) {
	name := x.joinName(x.world.Rank)
	r := refusal{reason: refuseSize, size: head.size}
	if head.size == x.world.Size {
		err := x.claim(name, x.me.encode())
		if !errors.Is(err, fs.ErrExist) {
			return err == nil, err
		}
		r.reason = refuseDuplicate
		if holder, err := x.readHello(name); err == nil {
			r.host, r.pid = holder.host, holder.pid
		}
	}
	body, err := x.read(x.answerName(x.me.nonce), handshakeLimit)
	if err == nil {
		_ = os.Remove(x.path(x.answerName(x.me.nonce)))
		if r, err := decodeRefusal(body); err == nil {
			return false, answered{r.err(x.world)}
		}
	}
	if err := x.claim(x.askName(), x.me.encode()); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return false, r.err(x.world)
}

// seated reports whether the roster is there, with this rank's nonce.
func (x *exchange) seated() (bool, error) {
	body, err := x.read(x.rosterName(), x.world.Size*(nonceLen+peerLimit)+4)
	if err != nil {
		return false, nil
	}
	d := decoder{rest: body}
	mine := false
	for rank := range x.world.Size {
		nonce := d.raw(nonceLen)
		mine = mine || rank == x.world.Rank && hmac.Equal(nonce, x.me.nonce[:])
	}
	peers, err := decodePeers(d.rest, x.world.Size)
	if err != nil || d.bad || !mine {
		return false, nil // an old session's
	}
	x.peers = peers
	return true, nil
}

// present tells which ranks take part.
func (x *exchange) present() []bool {
	here := make([]bool, x.world.Size)
	for rank := range here {
		_, err := os.Lstat(x.path(x.joinName(rank)))
		here[rank] = err == nil
	}
	return here
}

// sweep removes this package's files, and no others, from the folder.
func (x *exchange) sweep() {
	entries, err := os.ReadDir(x.world.ExchangeDir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		name := entry.Name()
		for _, ours := range []string{"join-", "roster-", "op-", "fail-", "ask-", "answer-", ".gofabric-"} {
			if name == "head" || strings.HasPrefix(name, ours) {
				_ = os.Remove(x.path(name))
				break
			}
		}
	}
}
