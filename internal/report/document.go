package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/gofabric/gofabric/internal/stats"
)

// SchemaVersion is the version of Document. It rises when a field changes its
// meaning or goes away; a new field does not raise it.
const SchemaVersion = 1

// Document is what --json prints: one JSON object a run, with the units in the
// names of the fields. What was not measured or does not apply is absent, never
// zero. Rates are in bytes and messages a second whatever --report_gbits says.
type Document struct {
	// SchemaVersion is filled by WriteJSON.
	SchemaVersion int `json:"schema_version"`
	// Tool is the program's name, "write_bw".
	Tool string `json:"tool"`
	// Role is "client" or "server". The results of a server whose client alone
	// sends are the client's.
	Role string `json:"role"`
	// PeerVersion is the perftest version that the peer announced, "6.06".
	PeerVersion string `json:"peer_version,omitempty"`
	// Kernel is the release of the running kernel.
	Kernel string `json:"kernel,omitempty"`
	// Provider names the driver that moved the data.
	Provider string `json:"provider,omitempty"`
	// Library is the file of libibverbs in use; its name ends in the release.
	Library string `json:"library,omitempty"`
	// Note says what limits the meaning of the results: "in-process device", and
	// so on.
	Note string `json:"note,omitempty"`

	Device     DocumentDevice     `json:"device"`
	Parameters DocumentParameters `json:"parameters"`
	// Results has one entry a message size, in the order of the run.
	Results []DocumentResult `json:"results"`
}

// DocumentDevice is the local end of the connection.
type DocumentDevice struct {
	Name     string `json:"name"`
	Port     int    `json:"port"`
	LinkType string `json:"link_type"`
	// GIDIndex is absent where no GID is used.
	GIDIndex *int   `json:"gid_index,omitempty"`
	GID      string `json:"gid,omitempty"`
	// MTUBytes is the path MTU that both sides agreed on.
	MTUBytes int `json:"mtu_bytes"`
}

// DocumentParameters is what was asked for, after the tool's own rules.
type DocumentParameters struct {
	Connection     string `json:"connection"`
	QueuePairs     int    `json:"queue_pairs"`
	TxDepth        int    `json:"tx_depth"`
	CQModeration   int    `json:"cq_moderation,omitempty"`
	MaxInlineBytes int    `json:"max_inline_bytes"`
	// RxDepth is absent in tests that receive no messages.
	RxDepth *int `json:"rx_depth,omitempty"`
	// OutstandingReads is absent in tests without reads and atomics.
	OutstandingReads *int `json:"outstanding_reads,omitempty"`
	// Atomic is "FETCH_AND_ADD" or "CMP_AND_SWAP", absent in other tests.
	Atomic string `json:"atomic,omitempty"`
	// The rest is absent where it is not so.
	Bidirectional bool `json:"bidirectional,omitempty"`
	Reversed      bool `json:"reversed,omitempty"`
	Events        bool `json:"events,omitempty"`
	SharedReceive bool `json:"shared_receive_queue,omitempty"`
	PostList      int  `json:"post_list,omitempty"`
	RecvPostList  int  `json:"recv_post_list,omitempty"`
	Threads       int  `json:"threads,omitempty"`
	// CPUs are those that the threads were bound to, "0-7", absent without.
	CPUs string `json:"cpus,omitempty"`
	// Iterations is absent in a run of fixed duration.
	Iterations *int `json:"iterations,omitempty"`
	// DurationSeconds and MarginSeconds are absent in a run of fixed
	// iterations.
	DurationSeconds *float64 `json:"duration_seconds,omitempty"`
	MarginSeconds   *float64 `json:"margin_seconds,omitempty"`
}

// DocumentResult is one message size. It has the fields of one kind of test, and
// those of the other are absent.
type DocumentResult struct {
	SizeBytes uint64 `json:"size_bytes"`
	// Messages are those that counted, over all queue pairs.
	Messages uint64 `json:"messages"`
	*DocumentBandwidth
	*DocumentLatency
	*DocumentLatencyRate
	// CPUPercent is the share of all processors' time that was spent in user
	// programs, absent without --cpu_util.
	CPUPercent *float64 `json:"cpu_percent,omitempty"`
	// LostMessages were sent and did not arrive; absent where none was, or
	// where the service does not lose any.
	LostMessages uint64 `json:"lost_messages,omitempty"`
	// Local and Remote are what each side sent in a bidirectional test, of which
	// the fields above are the sum. They are absent in others.
	Local  *DocumentBandwidth `json:"local,omitempty"`
	Remote *DocumentBandwidth `json:"remote,omitempty"`
}

// DocumentBandwidth is the result of a bandwidth test.
type DocumentBandwidth struct {
	AverageBytesPerSecond    float64 `json:"average_bytes_per_second"`
	AverageMessagesPerSecond float64 `json:"average_messages_per_second"`
	// PeakBytesPerSecond is absent where the peak was not measured.
	PeakBytesPerSecond *float64 `json:"peak_bytes_per_second,omitempty"`
}

// DocumentLatency is the result of a latency test. Times are in seconds, and half
// of the round trip where both sides send.
type DocumentLatency struct {
	MinSeconds     float64 `json:"min_seconds"`
	MaxSeconds     float64 `json:"max_seconds"`
	TypicalSeconds float64 `json:"typical_seconds"`
	AverageSeconds float64 `json:"average_seconds"`
	StdevSeconds   float64 `json:"stdev_seconds"`
	P99Seconds     float64 `json:"p99_seconds"`
	P999Seconds    float64 `json:"p999_seconds"`
	// SamplesSeconds are all samples in the order of the run, absent without -H
	// or -U.
	SamplesSeconds []float64 `json:"samples_seconds,omitempty"`
}

// DocumentLatencyRate is the result of a latency test of fixed duration.
type DocumentLatencyRate struct {
	MeanSeconds         float64 `json:"mean_seconds"`
	RoundTripsPerSecond float64 `json:"round_trips_per_second"`
}

// NewBandwidth makes the document's form of a bandwidth.
func NewBandwidth(bw stats.Bandwidth) *DocumentBandwidth {
	return &DocumentBandwidth{
		AverageBytesPerSecond:    bw.BytesPerSecond,
		AverageMessagesPerSecond: bw.MessagesPerSecond,
		PeakBytesPerSecond:       bw.PeakBytesPerSecond,
	}
}

// NewLatency makes the document's form of a latency; samples may be nil.
func NewLatency(l stats.Latency, samples []time.Duration) *DocumentLatency {
	d := &DocumentLatency{
		MinSeconds: l.Min.Seconds(), MaxSeconds: l.Max.Seconds(), TypicalSeconds: l.Typical.Seconds(),
		AverageSeconds: l.Average.Seconds(), StdevSeconds: l.Deviation.Seconds(),
		P99Seconds: l.P99.Seconds(), P999Seconds: l.P999.Seconds(),
	}
	for _, s := range samples {
		d.SamplesSeconds = append(d.SamplesSeconds, s.Seconds())
	}
	return d
}

// WriteJSON writes d as indented JSON with a newline at the end.
func WriteJSON(w io.Writer, d Document) error {
	d.SchemaVersion = SchemaVersion
	if d.Results == nil {
		d.Results = []DocumentResult{}
	}
	out, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("report: a result cannot be written as JSON: %w", err)
	}
	_, err = w.Write(append(out, '\n'))
	return err
}
