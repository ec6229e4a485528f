package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gofabric/gofabric/internal/command"
)

// Exit statuses of Main. A run that a signal ended has 128 and the signal's
// number, as from a shell: 130 after Ctrl-C.
const (
	exitOK     = 0
	exitFailed = 1
	exitSignal = 128
)

// Main is the main function of a tool: it reads the arguments, without the
// program's name, runs the test, and returns the exit status. What failed is one
// line on stderr. The first SIGINT or SIGTERM closes everything and ends the
// run; the next one ends the program at once.
func Main(tool Tool, args []string, stdout, stderr io.Writer) int {
	config, err := ParseArgs(tool, args)
	if err != nil {
		fmt.Fprintln(stderr, command.OneLine(err.Error()))
		return exitFailed
	}
	switch config.Action {
	case ActionHelp:
		fmt.Fprint(stdout, Usage(tool))
		return exitOK
	case ActionVersion:
		fmt.Fprint(stdout, VersionText())
		return exitOK
	}
	ctx, stop := command.WithSignals(context.Background())
	defer stop()
	if config.Compare != "" {
		err = Compare(ctx, config, stdout)
	} else {
		err = Run(ctx, config, stdout, stderr)
	}
	var signalled command.SignalError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &signalled):
		fmt.Fprintf(stderr, "%s: %v; everything is closed\n", tool.Name, signalled)
		return exitSignal + int(signalled.Signal)
	}
	fmt.Fprintf(stderr, "%s: %s\n", tool.Name, command.OneLine(err.Error()))
	return exitFailed
}
