package nccltest

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/internal/nccltest/limit"
	"github.com/gofabric/gofabric/internal/sysfs"
)

// links are what this process knows of its GPUs' links, nil where nobody asks.
// It is found out before anything is timed.
func (r *run) links(devices []device) *limit.Facts {
	if !r.cfg.LimitCheck && r.cfg.Plot == "" {
		return nil
	}
	var addresses []string
	for _, d := range devices {
		addresses = append(addresses, d.Address+".0") // CUDA tells no function
	}
	machine := limit.Machine{NVML: r.cfg.NVML, Files: sysfs.Dir("/"), Lookup: os.LookupEnv}
	facts := machine.Collect(devices[0].Host, addresses, r.job.size > 1)
	r.beat() // opening the driver's library can take seconds
	return facts
}

// path is the way that this run's data takes.
func (r *run) path(links []*limit.Facts) limit.Path {
	if r.job.places < r.job.size {
		return limit.Path{Unknown: "several communicators work at once (" + envSplit + ") and may share links"}
	}
	return limit.Find(links)
}

// limitTable is what --limit-check says of the results so far.
type limitTable struct {
	rows    bytes.Buffer
	sources []string
	n, low  int // judged, and too low of them
}

// row judges the two results of a row.
func (l *limitTable) row(cfg *Config, path limit.Path, r *row, name string) {
	if !path.Known() {
		return
	}
	t := r.trial
	expected, source, judged := path.Expected(limit.Result{
		Tool: cfg.Tool.Name, Type: t.dt.String(), Op: name, Size: t.bytes(),
		Symmetric: t.how.register == registerSymmetric, Usual: cfg.usual() && t.how.register != registerLocal,
	})
	if judged && (len(l.sources) == 0 || l.sources[len(l.sources)-1] != source) {
		l.sources = append(l.sources, source)
	}
	for i, place := range []string{"out-of-place", "in-place"} {
		busbw := r.halves[i].bus
		want, verdict := "-", "-"
		if judged {
			want = ofLimit(expected, path)
			l.n++
			if verdict = "ok"; busbw < limit.Least*expected {
				verdict = "LOW"
				l.low++
			}
		}
		fmt.Fprintf(&l.rows, "# %10d  %8v  %6s  %-12s  %7s  %8s  %8s  %7s\n", t.bytes(), t.dt, name, place, fit(busbw, 7), ofLimit(busbw, path), want, verdict)
	}
}

func ofLimit(busbw float64, path limit.Path) string {
	return fmt.Sprintf("%.1f %%", 100*busbw/path.Limit)
}

// usual reports whether operations run as those of the measurements did.
func (c *Config) usual() bool {
	return c.Blocking == blockingNone && c.Aggregate == 1 && c.Unalign == 0 && c.CTAPolicy == nil && !c.NullStream && !c.PerIter
}

// limitCheck prints what --limit-check found, and returns how many results are
// too low.
func (o *output) limitCheck() (low int, err error) {
	if !o.cfg.LimitCheck || !o.enabled {
		return 0, nil
	}
	l := &o.limits
	err = o.comment("gofabric: limit check: %s", command.OneLine(o.path.String()))
	if o.path.Known() {
		for _, source := range l.sources {
			err = errors.Join(err, o.comment("gofabric: expected is what was measured on %s; %.0f %% of it must be reached", source, 100*limit.Least))
		}
		err = errors.Join(err, o.print("# %10s  %8s  %6s  %-12s  %7s  %8s  %8s  %7s\n%s", "size", "type", "redop", "", "busbw", "of limit", "expected", "", l.rows.Bytes()))
	}
	verdict := "OK"
	switch {
	case l.n == 0:
		verdict = "NOT JUDGED: such a path, or such a run over it, was not measured"
		if !o.path.Known() {
			verdict = "NOT JUDGED: the path is unknown"
		}
	case l.low > 0:
		verdict = "FAILED"
	}
	return l.low, errors.Join(err, o.comment("gofabric: %d results judged, %d too low: %s", l.n, l.low, verdict))
}
