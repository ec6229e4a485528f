package lab

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
)

// The guest and the host talk over one virtio serial port in frames of a kind
// byte, a big-endian 32-bit length and that many bytes. Output, files and the
// exit status each have kinds of their own, so that the job's output carries
// nothing else and nothing has to be searched in a console.
type frameKind byte

const (
	frameReady    frameKind = 'R' // guest of a pair: set up, waits for frameGo
	frameHello    frameKind = 'H' // guest: the job is about to start
	frameStdout   frameKind = '1' // guest: output
	frameStderr   frameKind = '2'
	frameFile     frameKind = 'F' // guest: a file begins (fileFrame)
	frameData     frameKind = 'D' // guest: part of that file
	frameFail     frameKind = 'E' // guest: the set-up failed, a text; the last frame
	frameExit     frameKind = 'X' // guest: the job ended (exitFrame); the last frame
	frameGo       frameKind = 'G' // host: a guest of a pair may start its job
	frameStdin    frameKind = 'I' // host: input for the job; none is its end
	frameSignal   frameKind = 'S' // host: one byte, a signal for the job
	maxFrame                = 1 << 20
	frameHeadSize           = 5
)

// portName is the virtio serial port's name in the guest.
const portName = "gofabric.lab"

type exitFrame struct {
	Code   int `json:"code"`
	Signal int `json:"signal"` // 0 unless the job was killed by one
}

// fileFrame begins one file of the outgoing mapping with index Out. Rel is its
// slash-separated path below it, "" for the mapping itself.
type fileFrame struct {
	Out  int    `json:"out"`
	Rel  string `json:"rel"`
	Perm uint32 `json:"perm"`
	Size int64  `json:"size"`
}

var errFrame = errors.New("lab: the guest sent a malformed frame")

// frameReader reads frames. The payload is valid until the next call.
type frameReader struct {
	r   *bufio.Reader
	buf []byte
}

func newFrameReader(r io.Reader) *frameReader { return &frameReader{r: bufio.NewReader(r)} }

// next returns io.EOF between frames and io.ErrUnexpectedEOF inside one.
func (f *frameReader) next() (frameKind, []byte, error) {
	var head [frameHeadSize]byte
	if _, err := io.ReadFull(f.r, head[:1]); err != nil {
		return 0, nil, err
	}
	if _, err := io.ReadFull(f.r, head[1:]); err != nil {
		return 0, nil, noEOF(err)
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("%w: %d bytes", errFrame, n)
	}
	if uint32(cap(f.buf)) < n {
		f.buf = make([]byte, n)
	}
	if _, err := io.ReadFull(f.r, f.buf[:n]); err != nil {
		return 0, nil, noEOF(err)
	}
	return frameKind(head[0]), f.buf[:n], nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// frameWriter writes frames whole, from several goroutines.
type frameWriter struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

func (f *frameWriter) send(kind frameKind, payload []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for first := true; first || len(payload) > 0; first = false {
		n := min(len(payload), maxFrame)
		f.buf = append(f.buf[:0], byte(kind))
		f.buf = binary.BigEndian.AppendUint32(f.buf, uint32(n))
		f.buf = append(f.buf, payload[:n]...)
		if _, err := f.w.Write(f.buf); err != nil {
			return err
		}
		payload = payload[n:]
	}
	return nil
}

func (f *frameWriter) sendJSON(kind frameKind, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.send(kind, text)
}

// events is what a guest's frames call, in their order.
type events interface {
	isReady() error
	hello() error
	output(kind frameKind, p []byte) error
	file(fileFrame) error
	data(p []byte) error
}

// outcome is how a guest's stream ended.
type outcome struct {
	exit *exitFrame
	fail string
}

// readGuest hands a guest's frames to ev until the last one. A stream that
// ends before is an error that matches io.EOF or io.ErrUnexpectedEOF.
func readGuest(r io.Reader, ev events) (outcome, error) {
	frames := newFrameReader(r)
	for {
		kind, p, err := frames.next()
		if err != nil {
			return outcome{}, err
		}
		switch kind {
		case frameReady:
			err = ev.isReady()
		case frameHello:
			err = ev.hello()
		case frameStdout, frameStderr:
			err = ev.output(kind, p)
		case frameFile:
			var f fileFrame
			if err = decode(p, &f); err == nil {
				err = ev.file(f)
			}
		case frameData:
			err = ev.data(p)
		case frameFail:
			return outcome{fail: string(p)}, nil
		case frameExit:
			var x exitFrame
			if err := decode(p, &x); err != nil {
				return outcome{}, err
			}
			return outcome{exit: &x}, nil
		default:
			err = fmt.Errorf("%w: kind %q", errFrame, byte(kind))
		}
		if err != nil {
			return outcome{}, err
		}
	}
}

func decode(p []byte, v any) error {
	if err := json.Unmarshal(p, v); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

// safeRel says whether a path from the guest stays below its mapping.
func safeRel(rel string) bool {
	if rel == "" {
		return true
	}
	return !strings.HasPrefix(rel, "/") && path.Clean(rel) == rel && rel != "." && rel != ".." &&
		!strings.HasPrefix(rel, "../") && !strings.ContainsAny(rel, "\x00\\")
}
