// Command coverage tells how much of libibverbs and librdmacm the SDK covers.
//
//	coverage                       the table, and as the last line the sums
//	coverage check                 the lists, claims and documents agree with the source
//	coverage headers RELEASE DIR   the list of a release agrees with its headers below DIR
//	coverage document              brings docs/coverage.md up to date
//	coverage update TALLY          takes what conformance runs showed, from gotally's folder
//	coverage lists RELEASE DIR     writes the list of a release anew
//
// A function is bound if an exported function of package verbs or below it says
// that it implements it. It is tested if a test showed its effect on some device,
// and refused if no test did, but one asked for it and was told, as documented,
// that it cannot be done. Tests claim, and the claim is checked against the calls
// that the process made (package testutil). The functions are those that the
// public headers declare, inline ones included; names that begin with an
// underscore are not public.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

//go:generate sh -c "cd ../.. && go run ./internal/coverage document"

const usage = "usage: coverage [check | document | headers RELEASE DIR | lists RELEASE DIR | update TALLY]"

func main() {
	if err := command(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func command(args []string, out io.Writer) error {
	switch {
	case len(args) == 0:
		return show(out)
	case len(args) == 1 && args[0] == "check":
		return check(out)
	case len(args) == 1 && args[0] == "document":
		return writeDocument()
	case len(args) == 3 && args[0] == "headers":
		return checkHeaders(out, args[1], args[2])
	case len(args) == 3 && args[0] == "lists":
		return writeList(args[1], args[2])
	case len(args) == 2 && args[0] == "update":
		return update(args[1])
	}
	return errors.New(usage)
}

func show(out io.Writer) error {
	state, err := load()
	if err != nil {
		return err
	}
	state.table(out, plain)
	fmt.Fprintln(out, state.sums(newest))
	return nil
}

// check is the static part: it needs no header and runs no test.
func check(out io.Writer) error {
	state, err := load()
	if err != nil {
		return err
	}
	if err := errors.Join(state.problems()...); err != nil {
		return err
	}
	fmt.Fprintln(out, state.sums(newest))
	return nil
}
