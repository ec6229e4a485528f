package cuda

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/gofabric/gofabric/internal/ccuda"
)

// How a wait asks: at first at once, since most work is short, then ever more
// seldom. No thread is held in between.
const (
	eagerPolls = 64
	firstSleep = 10 * time.Microsecond
	longSleep  = time.Millisecond
)

// poll asks until the answer is yes, an error, or ctx ends.
func poll(ctx context.Context, ask func() (bool, error)) error {
	if ctx == nil {
		return errNoContext
	}
	var timer *time.Timer
	sleep := firstSleep
	for i := 0; ; i++ {
		if done, err := ask(); done || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if i < eagerPolls {
			runtime.Gosched()
			continue
		}
		if timer == nil {
			timer = time.NewTimer(sleep)
			defer timer.Stop()
		} else {
			timer.Reset(sleep)
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		sleep = min(2*sleep, longSleep)
	}
}

// errNoContext refuses a wait before anything is begun. It is an
// ErrorInvalidValue.
var errNoContext = fmt.Errorf("%w: the context is nil, use context.Background()", ErrorInvalidValue)

// ended makes the error of a wait that its context ended.
func (d *Device) ended(op string, cause error, what string) error {
	return &OpError{Op: op, Device: d.info.Ordinal, Err: cause,
		Hint: fmt.Sprintf("the work on %s goes on, and so does its use of memory", what)}
}

// happened turns the answer to a query into done or an error.
func (d *Device) happened(op string, r ccuda.Result) (bool, error) {
	if r == ccuda.CUDA_ERROR_NOT_READY {
		return false, nil
	}
	return r == 0, d.check(op, r)
}

// waitPoll is poll with this package's error for a context that ended.
func (d *Device) waitPoll(ctx context.Context, op, what string, ask func() (bool, error)) error {
	err := poll(ctx, ask)
	switch {
	case err == errNoContext:
		return d.err(op, err)
	case err != nil && err == ctx.Err():
		return d.ended(op, err, what)
	}
	return err
}
