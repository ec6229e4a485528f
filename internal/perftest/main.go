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
		return printed(tool, stdout, stderr, Usage(tool))
	case ActionVersion:
		return printed(tool, stdout, stderr, VersionText())
	}
	ctx, stop := command.WithSignals(context.Background())
	defer stop()
	if config.Compare != "" {
		err = Compare(ctx, config, stdout)
	} else {
		err = Run(ctx, config, stdout, stderr)
	}
	var (
		signalled command.SignalError
		usage     *UsageError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &signalled):
		fmt.Fprintf(stderr, "%s: %v; everything is closed\n", tool.Name, signalled)
		return exitSignal + int(signalled.Signal)
	}
	text := command.OneLine(err.Error())
	if !errors.As(err, &usage) { // which names the tool itself
		text = tool.Name + ": " + text
	}
	fmt.Fprintln(stderr, text)
	return exitFailed
}

func printed(tool Tool, stdout, stderr io.Writer, text string) int {
	if _, err := io.WriteString(stdout, text); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", tool.Name, err)
		return exitFailed
	}
	return exitOK
}
