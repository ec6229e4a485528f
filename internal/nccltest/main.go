package nccltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gofabric/gofabric/internal/command"
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
		fmt.Fprintln(stderr, command.OneLine(err.Error()))
		return exitFailed
	}
	if cfg.Help {
		fmt.Fprint(stdout, Usage(tool))
		return exitOK
	}
	cfg.NVML = nvml
	ctx, stop := command.WithSignals(context.Background())
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
		signalled command.SignalError
		usage     *UsageError
		results   *ResultError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &signalled):
		fmt.Fprintf(stderr, "%s: %v; everything was aborted\n", tool.Name, signalled)
		return exitSignal + int(signalled.Signal)
	case errors.As(err, &usage):
		fmt.Fprintln(stderr, command.OneLine(err.Error()))
		return exitFailed
	}
	fmt.Fprintf(stderr, "%s: %s\n", tool.Name, command.OneLine(err.Error()))
	if errors.As(err, &results) {
		return exitResults
	}
	return exitFailed
}
