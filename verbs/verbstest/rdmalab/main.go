// Command rdmalab runs a Go test binary, or any other program, inside a QEMU
// guest that has a distribution kernel with rdma_rxe, libibverbs and perftest:
//
//	go test -exec 'rdmalab --kernel 6.1' ./verbs
//	rdmalab --kernel 6.12 -- ./prog args
//	rdmalab --userland trixie -- ib_write_bw -d rxe0
//	rdmalab --script steps.sh
//	rdmalab pair -- ./server -- ./client
//
// Its exit status is the job's own, or 124 after a time-out, 125 when the lab
// itself failed, 130 after an interrupt.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/gofabric/gofabric/internal/lab"
)

// Exit statuses that are the lab's, not the job's, as timeout(1) and container
// tools have them.
const (
	exitTimeout   = 124
	exitLab       = 125
	exitInterrupt = 130
)

var errTimeout = errors.New("time-out")

func main() {
	lab.Guest()
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		return complain(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	switch o.verb {
	case verbList:
		err = list(o)
	case verbFetch:
		err = fetch(ctx, o)
	case verbDoctor:
		err = doctor(ctx, o)
	case verbMachine:
		err = printMachine(os.Stdout, o.machine)
	default:
		limited, cancel := context.WithTimeoutCause(ctx, o.timeout, errTimeout)
		defer cancel()
		var code int
		code, err = runJobs(limited, o)
		if err == nil {
			return code
		}
		if errors.Is(context.Cause(limited), errTimeout) {
			fmt.Fprintf(os.Stderr, "rdmalab: the run was ended after %v (--timeout)\n", o.timeout)
			return exitTimeout
		}
	}
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "rdmalab: interrupted")
		return exitInterrupt
	}
	if err != nil {
		return complain(err)
	}
	return 0
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "rdmalab:", err)
	return exitLab
}
