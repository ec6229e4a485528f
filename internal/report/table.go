package report

import (
	"fmt"
	"io"
	"time"

	"github.com/gofabric/gofabric/internal/stats"
)

// smallGbit is the average below which a row in Gb/s gets six decimals.
const smallGbit = 0.1

// Table writes a test's table.
type Table struct {
	// Unit is the bandwidth's.
	Unit stats.Unit
	// CPU adds the processor's share of time, which each row must then have.
	CPU bool
	// Only, if not empty, leaves the head out and all of a row but one column.
	Only Column
}

// Column is a column that can be printed alone.
type Column string

// The columns of --output.
const (
	ColumnBandwidth   Column = "bandwidth"
	ColumnMessageRate Column = "message_rate"
	ColumnLatency     Column = "latency"
)

func (t Table) head(w io.Writer, text string) error {
	if t.Only != "" {
		return nil
	}
	if t.CPU {
		text += "    CPU_Util[%]"
	}
	_, err := io.WriteString(w, text+"\n")
	return err
}

func (t Table) row(w io.Writer, cpu float64, format string, values ...any) error {
	if t.CPU {
		format += "\t    %-3.2f"
		values = append(values, cpu)
	}
	_, err := fmt.Fprintf(w, format+"\n", values...)
	return err
}

// alone writes one column's value.
func alone(w io.Writer, value float64) error {
	_, err := fmt.Fprintf(w, "%f\n", value)
	return err
}

// BandwidthHead writes the head of the bandwidth table.
func (t Table) BandwidthHead(w io.Writer) error {
	return t.head(w, fmt.Sprintf(" #bytes     #iterations    BW peak[%[1]v]    BW average[%[1]v]   MsgRate[Mpps]", t.Unit))
}

// Bandwidth writes one message size. A peak that was not measured is written as
// zero, as the C tools do. cpu is in percent and counts with CPU only.
func (t Table) Bandwidth(w io.Writer, row stats.Bandwidth, cpu float64) error {
	var peak float64
	if row.PeakBytesPerSecond != nil {
		peak = t.Unit.FromBytes(*row.PeakBytesPerSecond)
	}
	average := t.Unit.FromBytes(row.BytesPerSecond)
	switch t.Only {
	case ColumnBandwidth:
		return alone(w, average)
	case ColumnMessageRate:
		return alone(w, row.MessagesPerSecond/1e6)
	}
	format := " %-7d    %-10d       %-7.2f            %-7.2f\t\t   %-7.6f"
	if t.Unit == stats.Gbit && average < smallGbit {
		format = " %-7d    %d           %-7.6f            %-7.6f            %-7.6f"
	}
	return t.row(w, cpu, format, row.Size, row.Messages, peak, average, row.MessagesPerSecond/1e6)
}

// LatencyHead writes the head of the latency table.
func (t Table) LatencyHead(w io.Writer) error {
	return t.head(w, " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"+
		"   99% percentile[usec]   99.9% percentile[usec] ")
}

// Latency writes one message size.
func (t Table) Latency(w io.Writer, row stats.Latency, cpu float64) error {
	if t.Only == ColumnLatency {
		return alone(w, micros(row.Average))
	}
	return t.row(w, cpu, " %-7d %d          %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     \t%-7.2f\t\t%-7.2f \t\t%-7.2f",
		row.Size, row.Messages, micros(row.Min), micros(row.Max), micros(row.Typical), micros(row.Average),
		micros(row.Deviation), micros(row.P99), micros(row.P999))
}

// LatencyRateHead writes the head of the table of a latency test of fixed
// duration.
func (t Table) LatencyRateHead(w io.Writer) error {
	return t.head(w, " #bytes        #iterations       t_avg[usec]    tps average")
}

// LatencyRate writes the row of a latency test of fixed duration.
func (t Table) LatencyRate(w io.Writer, row stats.LatencyRate, cpu float64) error {
	if t.Only == ColumnLatency {
		return alone(w, micros(row.Average))
	}
	return t.row(w, cpu, " %-7d       %d            %-7.2f        %-7.2f", row.Size, row.Messages, micros(row.Average), row.PerSecond)
}

// WriteSamples lists latencies, as -H and -U do before the row.
func WriteSamples(w io.Writer, samples []time.Duration) error {
	if _, err := io.WriteString(w, "#, usec\n"); err != nil {
		return err
	}
	for i, d := range samples {
		if _, err := fmt.Fprintf(w, "%d, %g\n", i+1, micros(d)); err != nil {
			return err
		}
	}
	return WriteRule(w)
}

// WriteSideTitle begins the table of one side, as --report-both has them.
func WriteSideTitle(w io.Writer, side string) error {
	_, err := fmt.Fprintf(w, "%s\n %s results: \n%s", rule(), side, rule())
	return err
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }
