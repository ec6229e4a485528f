package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// A file is a message with its header, as JSON; its contents, in messages of up to
// chunk bytes; and a message with the SHA-256 of the contents. The receiver answers
// with an empty message once the file is in its place, or with what went wrong.
type header struct {
	Name string // without folders
	Size int64
	Mode fs.FileMode // permissions
}

const chunk = 1 << 20

// sendFile sends one file and waits until it has arrived. It returns its length.
func sendFile(ctx context.Context, conn *rdmacm.Conn, name string) (int64, error) {
	info, err := os.Stat(name) // before it is opened, which waits if it is a pipe
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	head, err := json.Marshal(header{Name: filepath.Base(name), Size: info.Size(), Mode: info.Mode().Perm()})
	if err != nil {
		return 0, err
	}
	if err := conn.Send(ctx, head); err != nil {
		return 0, err
	}
	sum := sha256.New()
	for left := info.Size(); left > 0; {
		n := min(left, chunk)
		if err := sendChunk(ctx, conn, io.TeeReader(f, sum), int(n)); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		left -= n
	}
	if err := conn.Send(ctx, sum.Sum(nil)); err != nil {
		return 0, err
	}
	answer, err := conn.Recv(ctx)
	if err != nil {
		return 0, err
	}
	defer answer.Release()
	if answer.Len() > 0 {
		return 0, errors.New(string(answer.Bytes()))
	}
	return info.Size(), nil
}

// sendChunk reads into a buffer that is registered, and hands that to the adapter.
func sendChunk(ctx context.Context, conn *rdmacm.Conn, from io.Reader, n int) error {
	b, err := conn.Hub().Buffer(n)
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(from, b.Bytes()); err != nil {
		b.Release()
		return fmt.Errorf("the file became shorter: %w", err)
	}
	if err := conn.SendBuffer(ctx, b); err != nil {
		b.Release()
		return err
	}
	return nil
}
