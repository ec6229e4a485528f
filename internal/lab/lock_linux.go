package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lock takes the cache's lock of one name, waiting for other processes, and
// returns its release. The kernel drops it with the process.
func lock(ctx context.Context, cache, name string) (func(), error) {
	dir := filepath.Join(cache, "locks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lab: cache folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lab: cache folder: %w", err)
	}
	// flock has no form that a context can end, so it is asked again.
	const again = 50 * time.Millisecond
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lab: locking %s: %w", f.Name(), err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("lab: waiting for another run's download: %w", ctx.Err())
		case <-tick.C:
		}
	}
}
