package nccltest

import (
	"context"
	"time"

	"github.com/gofabric/gofabric/cuda"
)

// measurement is one half of a row.
type measurement struct {
	seconds, cpu      float64 // per operation
	algorithm, bus    float64 // GB/s
	checked           bool
	wrong             uint64
	perIter           *iterReport
	threads           []float64 // each thread's seconds per operation
	bytes, busPerByte float64
}

// issue runs a step, with what -z does after each.
func (w *worker) issue(ctx context.Context, p *plan, i int) error {
	if err := p.run(ctx, i); err != nil {
		return err
	}
	if w.run.cfg.Blocking != blockingNone {
		if err := w.finish(ctx); err != nil {
			return err
		}
	}
	if w.run.cfg.Blocking == blockingBarrier {
		return w.run.team.barrier(ctx)
	}
	return nil
}

// measure times a trial and checks some operations of it.
func (w *worker) measure(ctx context.Context, t *trial, checks int) (m measurement, err error) {
	cfg := w.run.cfg
	const firstRep = 99
	if checks > 0 {
		t.rep = firstRep
		if err := w.prepare(ctx, t); err != nil {
			return m, err
		}
	}
	if err := w.single.build(ctx, w, t, 1, 1); err != nil {
		return m, err
	}
	if err := w.timed.build(ctx, w, t, cfg.Iters, cfg.Aggregate); err != nil {
		return m, err
	}
	if cfg.Blocking == blockingNone && !cfg.PerIter && t.how.graph == 0 {
		if err := w.timed.chunk(cfg.Iters); err != nil {
			return m, err
		}
	}
	if err := w.issue(ctx, &w.single, 0); err != nil {
		return m, err
	}
	if err := w.finish(ctx); err != nil {
		return m, err
	}
	elapsed, issued, err := w.time(ctx, t, &m)
	if err != nil {
		return m, err
	}
	operations := float64(cfg.Iters * cfg.Aggregate)
	m.cpu = issued.Seconds() / operations
	own := elapsed.Seconds() / operations / float64(max(t.how.graph, 1))
	if m.seconds, m.threads, err = w.run.team.reduce(ctx, w.thread, own, cfg.Average); err != nil {
		return m, err
	}
	bytes, factor := cfg.Tool.collective.traffic(t)
	m.bytes, m.busPerByte = bytes, factor
	m.algorithm = bytes / 1e9 / m.seconds
	m.bus = m.algorithm * factor
	if err := w.run.team.barrier(ctx); err != nil {
		return m, err
	}
	w.rep++
	if checks == 0 || cfg.Tool.collective.garbled && t.inPlace {
		return m, nil
	}
	m.checked = true
	for range checks {
		if m.wrong, err = w.checkOnce(ctx, t); err != nil || m.wrong > 0 {
			return m, err
		}
	}
	return m, nil
}

// checkOnce runs one operation on known data and returns how many elements are
// wrong on all ranks.
func (w *worker) checkOnce(ctx context.Context, t *trial) (uint64, error) {
	t.rep = w.rep
	if err := w.prepare(ctx, t); err != nil {
		return 0, err
	}
	if t.how.graph > 0 {
		graphs, err := w.capture(ctx, &w.single, 1)
		if err == nil {
			err = graphs.launch(w, 1)
		}
		if err == nil {
			err = w.finish(ctx)
		}
		if closed := graphs.close(); err == nil {
			err = closed
		}
		if err != nil {
			return 0, err
		}
	} else {
		if err := w.issue(ctx, &w.single, 0); err != nil {
			return 0, err
		}
		if err := w.finish(ctx); err != nil {
			return 0, err
		}
	}
	wrong, err := w.check(ctx, t)
	if err != nil {
		return 0, err
	}
	if wrong > 0 {
		w.errors++
	}
	all, _, err := w.run.team.reduce(ctx, w.thread, float64(wrong), sum)
	return uint64(all), err
}

// time runs the iterations and returns how long they took, and how long it took
// to issue them.
func (w *worker) time(ctx context.Context, t *trial, m *measurement) (elapsed, issued time.Duration, err error) {
	if t.how.graph > 0 {
		return w.timeGraph(ctx, t)
	}
	cfg := w.run.cfg
	if cfg.PerIter {
		if err := w.needEvents(); err != nil {
			return 0, 0, err
		}
	}
	if err := w.run.team.align(ctx); err != nil {
		return 0, 0, err
	}
	if cfg.Blocking == blockingOuter {
		elapsed, err = w.timeOuter(ctx)
		issued = elapsed
	} else {
		elapsed, issued, err = w.timeAll(ctx)
	}
	if err != nil || !cfg.PerIter {
		return elapsed, issued, err
	}
	m.perIter, err = w.iterTimes(ctx)
	return elapsed, issued, err
}

// timeAll is the plain timed part. Nothing in it allocates.
func (w *worker) timeAll(ctx context.Context) (elapsed, issued time.Duration, err error) {
	cfg := w.run.cfg
	start := time.Now()
	if cfg.Blocking == blockingNone && !cfg.PerIter {
		err = w.timed.runAll(ctx, cfg.Iters)
	} else {
		err = w.issueEach(ctx)
	}
	if err != nil {
		return 0, 0, err
	}
	issued = time.Since(start)
	if cfg.Blocking == blockingNone {
		if err := w.finish(ctx); err != nil {
			return 0, 0, err
		}
	}
	elapsed = time.Since(start)
	if cfg.PerIter && cfg.Blocking != blockingNone {
		err = w.finish(ctx)
	}
	return elapsed, issued, err
}

// issueEach issues the iterations with what stands between them: events, and
// waiting.
func (w *worker) issueEach(ctx context.Context) error {
	cfg := w.run.cfg
	for i := range cfg.Iters {
		if cfg.PerIter {
			if err := w.record(i); err != nil {
				return err
			}
		}
		if err := w.issue(ctx, &w.timed, i); err != nil {
			return err
		}
	}
	if cfg.PerIter {
		return w.record(cfg.Iters)
	}
	return nil
}

// timeOuter waits for each iteration, and meets the others untimed.
func (w *worker) timeOuter(ctx context.Context) (elapsed time.Duration, err error) {
	cfg := w.run.cfg
	for i := range cfg.Iters {
		start := time.Now()
		if cfg.PerIter {
			if err := w.record(2 * i); err != nil {
				return 0, err
			}
		}
		if err := w.timed.run(ctx, i); err != nil {
			return 0, err
		}
		if err := w.finish(ctx); err != nil {
			return 0, err
		}
		if cfg.PerIter {
			if err := w.record(2*i + 1); err != nil {
				return 0, err
			}
		}
		elapsed += time.Since(start)
		if err := w.run.team.align(ctx); err != nil {
			return 0, err
		}
	}
	return elapsed, w.finish(ctx)
}

// timeGraph captures the iterations and times the launches.
func (w *worker) timeGraph(ctx context.Context, t *trial) (elapsed, issued time.Duration, err error) {
	graphs, err := w.capture(ctx, &w.timed, w.run.cfg.Iters)
	defer func() {
		if closed := graphs.close(); err == nil {
			err = closed
		}
	}()
	if err != nil {
		return 0, 0, err
	}
	if err := w.run.team.align(ctx); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := graphs.launch(w, t.how.graph); err != nil {
		return 0, 0, err
	}
	issued = time.Since(start)
	err = w.finish(ctx)
	return time.Since(start), issued, err
}

// graphs are one for each GPU of a thread.
type graphs struct {
	graphs []*cuda.Graph
	execs  []*cuda.GraphExec
}

// capture records iterations of a plan in graphs. What it returns is to be closed
// even with an error.
func (w *worker) capture(ctx context.Context, p *plan, iterations int) (g *graphs, err error) {
	g = &graphs{}
	begun := 0
	for _, r := range w.ranks {
		if err = r.stream.BeginCapture(cuda.CaptureThreadLocal); err != nil {
			break
		}
		begun++
	}
	for i := 0; err == nil && i < iterations; i++ {
		err = p.run(ctx, i)
	}
	for _, r := range w.ranks[:begun] {
		graph, ended := r.stream.EndCapture()
		if err == nil {
			err = ended
		}
		if graph != nil {
			g.graphs = append(g.graphs, graph)
		}
	}
	if err != nil {
		return g, err
	}
	for _, graph := range g.graphs {
		exec, err := graph.Instantiate()
		if err != nil {
			return g, err
		}
		g.execs = append(g.execs, exec)
	}
	return g, nil
}

// launch puts all graphs on their streams, so many times.
func (g *graphs) launch(w *worker, times int) error {
	for range times {
		for i, exec := range g.execs {
			if err := exec.Launch(w.ranks[i].stream); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *graphs) close() (err error) {
	for _, exec := range g.execs {
		if closed := exec.Close(); err == nil {
			err = closed
		}
	}
	for _, graph := range g.graphs {
		if closed := graph.Close(); err == nil {
			err = closed
		}
	}
	return err
}
