package verbstest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// fake stands for a test's *testing.T where the end of the test is looked at,
// and where there is none: in examples.
type fake struct {
	testing.TB
	ctx      context.Context
	cancel   context.CancelFunc
	cleanups []func()
	errors   []string
}

func newFake() *fake {
	f := &fake{}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

func (f *fake) Helper()                  {}
func (f *fake) Context() context.Context { return f.ctx }
func (f *fake) Failed() bool             { return len(f.errors) > 0 }
func (f *fake) Cleanup(do func())        { f.cleanups = append(f.cleanups, do) }
func (f *fake) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func (f *fake) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// run is a test from its beginning to its end. It returns what it failed with.
func (f *fake) run(test func()) []string {
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		test()
	}()
	done.Wait()
	f.end()
	return f.errors
}

func (f *fake) end() {
	f.cancel()
	for _, do := range slices.Backward(f.cleanups) {
		do()
	}
}
