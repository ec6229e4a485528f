package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// OneLine is a text without line ends and the blanks of tables.
func OneLine(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			parts = append(parts, strings.Join(fields, " "))
		}
	}
	return strings.Join(parts, "; ")
}

// SignalError is the cause of a context that a signal ended.
type SignalError struct{ Signal syscall.Signal }

func (e SignalError) Error() string { return fmt.Sprintf("ended by a signal (%v)", e.Signal) }

// WithSignals returns a context that the first SIGINT or SIGTERM ends, with a
// SignalError as its cause; the signals then act as usual again.
func WithSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case got := <-signals:
			signal.Stop(signals)
			number, _ := got.(syscall.Signal)
			cancel(SignalError{number})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		<-done
	}
}
