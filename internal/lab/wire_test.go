package lab

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGuestStream(t *testing.T) {
	dir := t.TempDir()
	big := bytes.Repeat([]byte("0123456789"), maxFrame/4)
	var wire bytes.Buffer
	w := &frameWriter{w: &wire}
	require.NoError(t, w.send(frameReady, nil))
	require.NoError(t, w.send(frameHello, nil))
	require.NoError(t, w.send(frameStdout, big))
	require.NoError(t, w.send(frameStderr, []byte("oops")))
	require.NoError(t, w.sendJSON(frameFile, fileFrame{Out: 0, Rel: "a/b", Perm: 0o640, Size: 4}))
	require.NoError(t, w.send(frameData, []byte("da")))
	require.NoError(t, w.send(frameData, []byte("ta")))
	require.NoError(t, w.sendJSON(frameFile, fileFrame{Out: 1, Perm: 0o600}))
	require.NoError(t, w.sendJSON(frameExit, exitFrame{Code: 3}))

	var stdout, stderr bytes.Buffer
	s := newJobSession(Job{Stdout: &stdout, Stderr: &stderr, Out: []Mapping{
		{Host: filepath.Join(dir, "out")}, {Host: filepath.Join(dir, "empty")}, {Guest: "/lost", Host: "x"}, {Guest: "/may", Optional: true},
	}})
	o, err := readGuest(&wire, s)
	require.NoError(t, err)
	require.NotNil(t, o.exit)
	assert.Equal(t, exitFrame{Code: 3}, *o.exit)
	assert.True(t, s.isStarted())
	assert.Equal(t, big, stdout.Bytes())
	assert.Equal(t, "oops", stderr.String())
	text, err := os.ReadFile(filepath.Join(dir, "out/a/b"))
	require.NoError(t, err)
	assert.Equal(t, "data", string(text))
	assert.FileExists(t, filepath.Join(dir, "empty"))
	assert.Equal(t, []string{"/lost"}, s.files.missing())
}

func TestGuestStreamEnds(t *testing.T) {
	stream := func(fill func(w *frameWriter)) []byte {
		var b bytes.Buffer
		fill(&frameWriter{w: &b})
		return b.Bytes()
	}
	read := func(b []byte) (outcome, error) { return readGuest(bytes.NewReader(b), newJobSession(Job{})) }

	_, err := read(nil)
	assert.ErrorIs(t, err, io.EOF)
	whole := stream(func(w *frameWriter) { _ = w.send(frameStdout, []byte("cut")) })
	_, err = read(whole[:len(whole)-1])
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	o, err := read(stream(func(w *frameWriter) { _ = w.send(frameFail, []byte("no rxe")) }))
	require.NoError(t, err)
	assert.Equal(t, "no rxe", o.fail)

	for name, bad := range map[string][]byte{
		"huge length":  {byte(frameStdout), 0xff, 0xff, 0xff, 0xff},
		"unknown kind": stream(func(w *frameWriter) { _ = w.send('?', nil) }),
		"bad exit":     stream(func(w *frameWriter) { _ = w.send(frameExit, []byte("{")) }),
		"stray data":   stream(func(w *frameWriter) { _ = w.send(frameData, []byte("x")) }),
		"no such out":  stream(func(w *frameWriter) { _ = w.sendJSON(frameFile, fileFrame{Out: 7}) }),
		"two readies":  stream(func(w *frameWriter) { _ = w.send(frameReady, nil); _ = w.send(frameReady, nil) }),
		"ready late":   stream(func(w *frameWriter) { _ = w.send(frameHello, nil); _ = w.send(frameReady, nil) }),
		"two starts":   stream(func(w *frameWriter) { _ = w.send(frameHello, nil); _ = w.send(frameHello, nil) }),
	} {
		_, err := read(bad)
		assert.ErrorIs(t, err, errFrame, name)
	}
}

func TestFilesStayInTheirFolder(t *testing.T) {
	for _, rel := range []string{"../x", "/etc/passwd", "a/../../x", ".", "..", "a//b", "a\x00b", `a\b`} {
		o := newOutFiles([]Mapping{{Host: t.TempDir()}})
		assert.ErrorIs(t, o.begin(fileFrame{Rel: rel}), errFrame, rel)
	}
	dir := t.TempDir()
	o := newOutFiles([]Mapping{{Host: dir}})
	require.NoError(t, o.begin(fileFrame{Rel: "half", Size: 2}))
	o.abort()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "an incomplete file leaves nothing")
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestHostsTroubleIsNotTheGuests(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, (&frameWriter{w: &b}).send(frameStdout, []byte("x")))
	_, err := readGuest(&b, newJobSession(Job{Stdout: failingWriter{}}))
	assert.ErrorIs(t, err, errHost)
}

func FuzzReadGuest(f *testing.F) {
	var b bytes.Buffer
	w := &frameWriter{w: &b}
	_ = w.send(frameHello, nil)
	_ = w.send(frameStdout, []byte("out"))
	_ = w.sendJSON(frameFile, fileFrame{Rel: "f", Size: 1, Perm: 0o644})
	_ = w.send(frameData, []byte("x"))
	_ = w.sendJSON(frameExit, exitFrame{Signal: 9})
	f.Add(b.Bytes())
	f.Add([]byte{byte(frameFail), 0, 0, 0, 1, 'x'})
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		root := filepath.Join(dir, "out")
		s := newJobSession(Job{Out: []Mapping{{Host: root}}})
		_, _ = readGuest(bytes.NewReader(data), s)
		s.files.abort()
		above, rerr := os.ReadDir(dir)
		require.NoError(t, rerr)
		assert.LessOrEqual(t, len(above), 1, "nothing is written beside the mapping")
	})
}
