package lab

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// runJob runs the job to its end, sends its output, its files and its status.
func runJob(port io.Reader, w *frameWriter, spec jobSpec) error {
	frames := newFrameReader(port)
	if spec.End != nil {
		if err := awaitGo(frames, w); err != nil {
			return err
		}
	}
	input, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	var feed *os.File
	if spec.Stdin {
		input.Close()
		if input, feed, err = os.Pipe(); err != nil {
			return err
		}
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	errR, errW := outR, outW
	if !spec.OnePipe {
		if errR, errW, err = os.Pipe(); err != nil {
			return err
		}
	}
	if err := w.send(frameHello, nil); err != nil {
		return err
	}
	pid, err := syscall.ForkExec(spec.Path, append([]string{spec.Path}, spec.Args...), &syscall.ProcAttr{
		Dir: spec.Dir, Env: spec.Env,
		Files: []uintptr{input.Fd(), outW.Fd(), errW.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	// A collected file is a closed one, and only their numbers were used.
	runtime.KeepAlive([]*os.File{input, outW, errW})
	if err != nil {
		return fmt.Errorf("starting %s in %s: %w", spec.Path, spec.Dir, err)
	}
	outW.Close()
	input.Close()
	var copies sync.WaitGroup
	forward := func(kind frameKind, r io.Reader) {
		defer copies.Done()
		buf := make([]byte, 64<<10)
		for {
			n, err := r.Read(buf)
			if n > 0 && w.send(kind, buf[:n]) != nil || err != nil {
				return
			}
		}
	}
	copies.Add(1)
	go forward(frameStdout, outR)
	if !spec.OnePipe {
		errW.Close()
		copies.Add(1)
		go forward(frameStderr, errR)
	}
	go listen(frames, pid, feed)

	status, err := reap(pid)
	if err != nil {
		return err
	}
	// What the job left running would keep the pipes open. A process that
	// hangs in the kernel cannot be killed and is not waited for.
	_ = syscall.Kill(-1, syscall.SIGKILL)
	drained := make(chan struct{})
	go func() { copies.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(5 * time.Second):
		_ = w.send(frameStderr, []byte("lab: a process that the job left behind hangs in the kernel and could not be killed\n"))
	}
	for i, out := range spec.Out {
		if err := sendFiles(w, i, out); err != nil {
			return err
		}
	}
	x := exitFrame{Code: status.ExitStatus()}
	if status.Signaled() {
		x = exitFrame{Signal: int(status.Signal())}
	}
	return w.sendJSON(frameExit, x)
}

// awaitGo waits until the other guest is ready too.
func awaitGo(frames *frameReader, w *frameWriter) error {
	if err := w.send(frameReady, nil); err != nil {
		return err
	}
	for {
		kind, _, err := frames.next()
		if err != nil || kind == frameGo {
			return err
		}
	}
}

// listen passes the host's signals and input on until the port ends.
func listen(frames *frameReader, pid int, feed *os.File) {
	// A job that does not read its input must not hold up signals.
	const chunks = 1024
	input := make(chan []byte, chunks)
	defer close(input)
	go func() {
		for p := range input {
			if len(p) == 0 {
				break
			}
			// The job may have closed its end: what comes is dropped.
			_, _ = feed.Write(p)
		}
		if feed != nil {
			feed.Close()
		}
		for range input {
		}
	}()
	for {
		kind, p, err := frames.next()
		if err != nil {
			return
		}
		switch {
		case kind == frameSignal && len(p) == 1:
			_ = syscall.Kill(pid, syscall.Signal(p[0]))
		case kind == frameStdin && feed != nil:
			input <- append([]byte{}, p...)
		}
	}
}

// reap waits for the job and, as init must, for orphans.
func reap(job int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("waiting for the job: %w", err)
		}
		if pid == job && (status.Exited() || status.Signaled()) {
			return status, nil
		}
	}
}

// sendFiles sends a file, or all files of a folder; an absent one is the
// host's to judge.
func sendFiles(w *frameWriter, out int, root string) error {
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if rel == "." {
			rel = ""
		}
		return sendFile(w, fileFrame{Out: out, Rel: filepath.ToSlash(rel)}, p)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func sendFile(w *frameWriter, head fileFrame, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	head.Size, head.Perm = fi.Size(), uint32(fi.Mode().Perm())
	if err := w.sendJSON(frameFile, head); err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	for left := head.Size; left > 0; {
		n, err := f.Read(buf[:min(left, int64(len(buf)))])
		if err != nil {
			return fmt.Errorf("%s: %w", file, noEOF(err))
		}
		if err := w.send(frameData, buf[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}
