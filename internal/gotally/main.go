// Command gotally runs the parts of a test suite and counts their tests.
//
//	gotally run DIR NAME COMMAND [ARGUMENT]...
//	gotally sum DIR
//	gotally cases DIR TEST
//
// run executes COMMAND, which prints what `go test -json` prints, shows failures
// in full as they come, and keeps the part's counts in DIR. It exits 0 even when
// tests fail, so that the next part runs. sum prints a table of all parts and, as
// the last line, exactly "N passed, M failed, K skipped". It exits 1 if anything
// failed or did not build. cases prints before that which subtest of the tests
// whose names begin with TEST ended how in each part: a row a subtest, a column a
// part.
//
// A test with subtests is counted as its subtests. What fails without a failing
// test counts as one failed: a package that does not build or crashes, a command
// that exits with an error, a part that ran no test.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

const usage = "usage: gotally run DIR NAME COMMAND [ARGUMENT]... | gotally sum DIR | gotally cases DIR TEST"

func main() {
	code, err := command(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotally:", err)
	}
	os.Exit(code)
}

func command(args []string, out io.Writer) (int, error) {
	switch {
	case len(args) >= 4 && args[0] == "run":
		return runPart(args[1], args[2], args[3:], out)
	case len(args) == 2 && args[0] == "sum", len(args) == 3 && args[0] == "cases":
		parts, err := loadParts(args[1])
		if err != nil {
			return 1, err
		}
		if len(args) == 3 {
			printCases(out, parts, args[2])
		}
		if !printSum(out, parts) {
			return 1, nil
		}
		return 0, nil
	}
	return 2, errors.New(usage)
}

func runPart(dir, name string, argv []string, out io.Writer) (int, error) {
	fmt.Fprintf(out, "=== %s\n", name)
	// An interrupt reaches the command too, as it shares our terminal: wait for
	// what it still has to say.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)

	started := time.Now()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(out, "FAIL part %s: %v\n", name, err)
		return 0, savePart(dir, part{Name: name, Failed: 1})
	}
	tally := newTally(out)
	readErr := tally.read(stdout)
	waitErr := cmd.Wait()
	part := tally.finish(name)
	if waitErr != nil && part.Failed == 0 {
		fmt.Fprintf(out, "FAIL part %s: %s: %v\n", name, argv[0], waitErr)
		part.Failed++
	}
	if readErr != nil {
		fmt.Fprintf(out, "FAIL part %s: reading its output: %v\n", name, readErr)
		part.Failed++
	}
	if part.Passed+part.Failed+part.Skipped == 0 {
		fmt.Fprintf(out, "FAIL part %s: it ran no test\n", name)
		part.Failed++
	}
	part.Seconds = time.Since(started).Seconds()
	if err := savePart(dir, part); err != nil {
		return 1, err
	}
	select {
	case s := <-interrupted:
		return 130, fmt.Errorf("part %s: %v", name, s)
	default:
		return 0, nil
	}
}
