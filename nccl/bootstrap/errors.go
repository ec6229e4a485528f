package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/gofabric/gofabric/internal/life"
)

// What errors.Is can ask of this package's errors, besides the context's errors
// and the errno of a socket or file.
var (
	// ErrClosed: the session was closed.
	ErrClosed = life.ErrClosed
	// ErrConcurrentUse: two goroutines were inside operations of one session.
	ErrConcurrentUse = errors.New("used by two goroutines at once")
	// ErrRankMissing: a rank did not come in time. See RankError.Missing.
	ErrRankMissing = errors.New("not all ranks came")
	// ErrRankDied: a rank's connection broke before it closed its session. See
	// RankError.Died.
	ErrRankDied = errors.New("a rank died")
	// ErrRankLeft: a rank closed its session. See RankError.Left.
	ErrRankLeft = errors.New("a rank closed its session")
	// ErrGaveUp: another rank's time was up, or its context ended, and the
	// operation failed for all. See RankError.By.
	ErrGaveUp = errors.New("another rank gave up")
	// ErrOrder: the ranks called different operations.
	ErrOrder = errors.New("the ranks called different operations")
	// ErrTooLarge: a message, or what all ranks gave together, is over its limit.
	ErrTooLarge = errors.New("too large")
	// ErrDuplicateRank: this rank is taken by another process.
	ErrDuplicateRank = errors.New("rank is taken")
	// ErrSizeMismatch: the processes do not agree on how many they are.
	ErrSizeMismatch = errors.New("the ranks do not agree on the size")
	// ErrSecret: the other side has another secret, or none.
	ErrSecret = errors.New("the secrets differ, or one side has none")
	// ErrWrongJob: another job's rank 0 answered.
	ErrWrongJob = errors.New("another job answered")
	// ErrVersion: the other side speaks another version of the protocol.
	ErrVersion = errors.New("another version of the protocol")
	// ErrForeign: what answered does not speak the protocol.
	ErrForeign = errors.New("the other side does not speak this protocol")
)

// EnvironmentError is about variables that are partial, malformed or contradict
// each other.
type EnvironmentError struct {
	Variables []string // that it is about
	Problem   string   // with the variables' values
	Hint      string   // what to do; may be empty
}

// Error implements error.
func (e *EnvironmentError) Error() string { return "bootstrap: " + withHint(e.Problem, e.Hint) }

func envError(problem, hint string, variables ...string) error {
	return &EnvironmentError{Variables: variables, Problem: problem, Hint: hint}
}

// WorldError is about a World, or Options, that cannot be.
type WorldError struct {
	Problem, Hint string
}

// Error implements error.
func (e *WorldError) Error() string { return "bootstrap: " + withHint(e.Problem, e.Hint) }

func withHint(text, hint string) string {
	if hint != "" {
		text += ": " + hint
	}
	return oneLine(text)
}

// oneLine escapes what would break a line, or steer a terminal: values of
// variables and names of files come from outside.
func oneLine(text string) string {
	printable := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	if strings.IndexFunc(text, func(r rune) bool { return !printable(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if printable(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.Quote(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}

// RankError is an operation that failed because of other ranks, or because this
// one's time was up. It matches ErrRankMissing, ErrRankDied and ErrRankLeft by
// its lists, ErrGaveUp if another rank gave up, and Err.
type RankError struct {
	Op       string // "connect", "broadcast", "allgather", "barrier"
	Sequence int    // the operation's number in the session, from 1; 0 for connect
	// By is the rank that noticed or gave up first; -1 where nobody is known.
	By int
	// Missing had not come to the operation; Died had lost their connection;
	// Left had closed their session, or given up waiting for the others.
	Missing, Died, Left []int
	// Peers are all ranks as far as they are known here, by rank; it may be empty.
	Peers []Peer
	// Notes tell who was turned away or went again, at rank 0's connect.
	Notes []string
	// Err is this rank's own cause: the context's error, or the last attempt to
	// reach rank 0. Nil where the failure came from elsewhere.
	Err error
	// Hint says what to do; its ground was checked. It may be empty.
	Hint string

	gaveUp bool
}

// Error implements error.
func (e *RankError) Error() string {
	var b strings.Builder
	b.WriteString("bootstrap: " + e.Op)
	if e.Sequence > 0 {
		fmt.Fprintf(&b, " (operation %d)", e.Sequence)
	}
	var parts []string
	add := func(ranks []int, one, many string) {
		if len(ranks) == 0 {
			return
		}
		verb := one
		if len(ranks) > 1 {
			verb = many
		}
		parts = append(parts, e.names(ranks)+" "+verb)
	}
	add(e.Died, "died", "died")
	add(e.Left, "has left", "have left")
	add(e.Missing, "did not come", "did not come")
	if e.gaveUp {
		parts = append(parts, e.names([]int{e.By})+" gave up")
	}
	if e.Err != nil {
		parts = append(parts, reason(e.Err))
	}
	b.WriteString(": " + strings.Join(parts, "; "))
	if len(e.Notes) > 0 {
		b.WriteString(" (" + strings.Join(e.Notes, "; ") + ")")
	}
	return withHint(b.String(), e.Hint)
}

// names lists ranks as "rank 3 on gpu07", or many of them as "ranks 1-3,7".
func (e *RankError) names(ranks []int) string {
	if len(ranks) > 1 {
		return "ranks " + rankList(ranks)
	}
	name := "rank " + strconv.Itoa(ranks[0])
	if r := ranks[0]; r >= 0 && r < len(e.Peers) && e.Peers[r].Host != "" {
		name += " on " + e.Peers[r].Host
	}
	return name
}

// rankList writes ascending ranks with their runs folded.
func rankList(ranks []int) string {
	var b strings.Builder
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(ranks[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(ranks[j]))
		}
		i = j + 1
	}
	return b.String()
}

// Unwrap returns the causes that errors.Is and errors.As look at.
func (e *RankError) Unwrap() []error {
	var causes []error
	if len(e.Missing) > 0 {
		causes = append(causes, ErrRankMissing)
	}
	if len(e.Died) > 0 {
		causes = append(causes, ErrRankDied)
	}
	if len(e.Left) > 0 {
		causes = append(causes, ErrRankLeft)
	}
	if e.gaveUp {
		causes = append(causes, ErrGaveUp)
	}
	if e.Err != nil {
		causes = append(causes, e.Err)
	}
	return causes
}

// Call is one rank's call of an operation.
type Call struct {
	Rank int
	Op   string // "broadcast", "allgather", "barrier"
	Root int    // of a broadcast
}

func (c Call) String() string {
	if c.Op == opBroadcast.String() {
		return fmt.Sprintf("rank %d called broadcast from rank %d", c.Rank, c.Root)
	}
	return fmt.Sprintf("rank %d called %s", c.Rank, c.Op)
}

// OrderError says which two ranks called different operations. It matches
// ErrOrder.
type OrderError struct {
	Sequence      int // the operation's number in the session, from 1
	First, Second Call
}

// Error implements error.
func (e *OrderError) Error() string {
	return fmt.Sprintf("bootstrap: operation %d: %v, and %v: all ranks must call the same operations in the same order", e.Sequence, e.First, e.Second)
}

// Unwrap returns ErrOrder.
func (e *OrderError) Unwrap() error { return ErrOrder }

// RefusedError says why a rank may not join. It matches ErrDuplicateRank,
// ErrSizeMismatch, ErrSecret, ErrWrongJob or ErrVersion. For a size mismatch rank
// 0's Connect returns it as well.
type RefusedError struct {
	Rank   int    // that may not join
	Detail string // who and what, in words
	Err    error
}

// Error implements error.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("bootstrap: rank %d is refused: %v", e.Rank, e.Err)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// AddressError reports that rank 0 cannot listen, or cannot be reached.
type AddressError struct {
	Op   string // "listen" or "connect"
	Addr string // host:port
	Hint string // what to do; may be empty
	Err  error
}

// Error implements error.
func (e *AddressError) Error() string {
	return withHint(fmt.Sprintf("bootstrap: %s %s: %s", e.Op, e.Addr, reason(e.Err)), e.Hint)
}

// Unwrap returns the cause.
func (e *AddressError) Unwrap() error { return e.Err }

// FileError reports that a rendezvous file or an exchange folder cannot be used.
type FileError struct {
	Path string
	Hint string // what to do; may be empty
	Err  error
}

// Error implements error.
func (e *FileError) Error() string {
	text := e.Err.Error()
	var path *os.PathError
	if errors.As(e.Err, &path) {
		text = path.Op + ": " + path.Err.Error()
	}
	return withHint("bootstrap: "+e.Path+": "+text, e.Hint)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// reason leaves out what the errors of package net repeat.
func reason(err error) string {
	var errno syscall.Errno
	switch err.(type) {
	case *RefusedError, *AddressError, *FileError, *lastAttempt, errTryAgain:
		return strings.TrimPrefix(err.Error(), "bootstrap: ")
	}
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "time is up"
	case errors.Is(err, context.Canceled):
		return "the context was cancelled"
	default:
		return strings.TrimPrefix(err.Error(), "bootstrap: ")
	}
}
