package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gofabric/gofabric/topo/doctor"
)

// watch reads the counters twice.
func watch(ctx context.Context, m *doctor.Machine, apart time.Duration, log io.Writer) error {
	m.Before = doctor.LiveCounters(m.System)
	fmt.Fprintf(log, "doctor: watching the counters for %s; run the load now\n", apart)
	timer := time.NewTimer(apart)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
	}
	m.After = doctor.LiveCounters(m.System)
	return nil
}
