package nccltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Exit statuses of Main. A run that a signal ended has 128 and the signal's
// number, as from a shell: 130 after Ctrl-C.
const (
	exitOK     = 0
	exitFailed = 1
	// exitResults is the C tool's status for wrong data, and for less than
	// NCCL_TESTS_MIN_BW; also ours for less than --limit-check expects.
	exitResults = 7
	exitSignal  = 128
)

// Main is the main function of a tool: it reads the arguments, without the
// program's name, runs the test, and returns the exit status. What failed is one
// line on stderr. The first SIGINT or SIGTERM aborts everything and ends the run;
// the next one ends the program at once.
//
// nvml opens the driver's library for --plot and --limit-check, and may be nil.
func Main(tool Tool, args []string, stdout, stderr io.Writer, nvml func() (GPUSource, error)) int {
	cfg, err := ParseArgs(tool, args, os.LookupEnv)
	if err != nil {
		fmt.Fprintln(stderr, oneLine(err))
		return exitFailed
	}
	if cfg.Help {
		fmt.Fprint(stdout, Usage(tool))
		return exitOK
	}
	cfg.NVML = nvml
	ctx, stop := withSignals(context.Background())
	defer stop()
	if cfg.Compare != "" {
		err = Compare(ctx, cfg, stdout)
	} else {
		err = Run(ctx, cfg, stdout, stderr)
	}
	return status(tool, err, stderr)
}

// status reports an error and chooses the exit status.
func status(tool Tool, err error, stderr io.Writer) int {
	var (
		signalled signalError
		usage     *UsageError
		results   *ResultError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &signalled):
		fmt.Fprintf(stderr, "%s: %v\n", tool.Name, signalled)
		return exitSignal + int(signalled.signal)
	case errors.As(err, &usage):
		fmt.Fprintln(stderr, oneLine(err))
		return exitFailed
	}
	fmt.Fprintf(stderr, "%s: %s\n", tool.Name, oneLine(err))
	if errors.As(err, &results) {
		return exitResults
	}
	return exitFailed
}

// oneLine is an error's text without line ends and the blanks of tables.
func oneLine(err error) string { return flat(err.Error()) }

// flat is a text as one line.
func flat(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			parts = append(parts, strings.Join(fields, " "))
		}
	}
	return strings.Join(parts, "; ")
}

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string {
	return fmt.Sprintf("ended by a signal (%v); everything was aborted", e.signal)
}

// withSignals returns a context that the first SIGINT or SIGTERM ends, with a
// signalError as its cause; the signals then act as usual again.
func withSignals(parent context.Context) (context.Context, func()) {
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
			cancel(signalError{number})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		<-done
	}
}
