package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// receiveAll receives files into a folder until the peer closes its side. A file
// that cannot be received ends the connection: the peer may be in its midst.
func receiveAll(ctx context.Context, conn *rdmacm.Conn, dir string) error {
	for {
		m, err := conn.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return conn.Close()
		}
		if err != nil {
			return errors.Join(err, conn.Abort())
		}
		h, err := parseHeader(m.Bytes())
		m.Release()
		if err == nil {
			err = receiveFile(ctx, conn, dir, h)
		}
		if err != nil {
			// The peer reads this once it has sent all, if it gets to that.
			return errors.Join(err, conn.Send(ctx, []byte(err.Error())), drop(ctx, conn))
		}
		if err := conn.Send(ctx, nil); err != nil {
			return errors.Join(err, conn.Abort())
		}
	}
}

// drop takes what a peer still sends until it has gone.
func drop(ctx context.Context, conn *rdmacm.Conn) error {
	for {
		m, err := conn.Recv(ctx)
		if err != nil {
			return conn.Abort()
		}
		m.Release()
	}
}

func parseHeader(b []byte) (h header, err error) {
	if err := json.Unmarshal(b, &h); err != nil {
		return h, fmt.Errorf("this is no file's header: %w", err)
	}
	if h.Size < 0 || h.Name == "" || h.Name == "." || h.Name == ".." || filepath.Base(h.Name) != h.Name {
		return h, fmt.Errorf("no file can be named %q, or have %d bytes", h.Name, h.Size)
	}
	return h, nil
}

// receiveFile writes a file beside its place and moves it there when all of it is
// right.
func receiveFile(ctx context.Context, conn *rdmacm.Conn, dir string, h header) (err error) {
	f, err := os.CreateTemp(dir, ".filecopy-*")
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err == nil {
			err = os.Rename(f.Name(), filepath.Join(dir, h.Name))
		}
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	sum := sha256.New()
	to := io.MultiWriter(f, sum)
	for left := h.Size; left > 0; {
		n, err := receiveChunk(ctx, conn, to)
		if err != nil {
			return err
		}
		if left -= int64(n); n == 0 || left < 0 {
			return fmt.Errorf("%s is not as long as announced", h.Name)
		}
	}
	m, err := conn.Recv(ctx)
	if err != nil {
		return err
	}
	defer m.Release()
	if !bytes.Equal(m.Bytes(), sum.Sum(nil)) {
		return fmt.Errorf("%s did not arrive as it was sent", h.Name)
	}
	return f.Chmod(h.Mode.Perm())
}

// receiveChunk writes a message out of the memory that it arrived in.
func receiveChunk(ctx context.Context, conn *rdmacm.Conn, to io.Writer) (int, error) {
	m, err := conn.Recv(ctx)
	if err != nil {
		return 0, err
	}
	defer m.Release()
	return to.Write(m.Bytes())
}
