package report

import (
	"fmt"
	"io"

	"github.com/gofabric/gofabric/internal/stats"
)

// smallGbit is the average below which a row in Gb/s gets six decimals.
const smallGbit = 0.1

// WriteHeader writes the head of the bandwidth table.
func WriteHeader(w io.Writer, unit stats.Unit) error {
	_, err := fmt.Fprintf(w, " #bytes     #iterations    BW peak[%[1]v]    BW average[%[1]v]   MsgRate[Mpps]\n", unit)
	return err
}

// WriteRow writes one message size of the bandwidth table. A peak that was not
// measured is written as zero, as the C tools do.
func WriteRow(w io.Writer, row stats.Bandwidth, unit stats.Unit) error {
	var peak float64
	if row.PeakBytesPerSecond != nil {
		peak = unit.FromBytes(*row.PeakBytesPerSecond)
	}
	average := unit.FromBytes(row.BytesPerSecond)
	format := " %-7d    %-10d       %-7.2f            %-7.2f\t\t   %-7.6f\n"
	if unit == stats.Gbit && average < smallGbit {
		format = " %-7d    %d           %-7.6f            %-7.6f            %-7.6f\n"
	}
	_, err := fmt.Fprintf(w, format, row.Size, row.Messages, peak, average, row.MessagesPerSecond/1e6)
	return err
}
