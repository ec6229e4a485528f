package report

import (
	"encoding/json"
	"fmt"
	"io"

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
	CQModeration   int    `json:"cq_moderation"`
	MaxInlineBytes int    `json:"max_inline_bytes"`
	// Iterations is absent in a run of fixed duration.
	Iterations *int `json:"iterations,omitempty"`
	// DurationSeconds and MarginSeconds are absent in a run of fixed
	// iterations.
	DurationSeconds *float64 `json:"duration_seconds,omitempty"`
	MarginSeconds   *float64 `json:"margin_seconds,omitempty"`
}

// DocumentResult is one message size.
type DocumentResult struct {
	SizeBytes                uint64  `json:"size_bytes"`
	Messages                 uint64  `json:"messages"`
	AverageBytesPerSecond    float64 `json:"average_bytes_per_second"`
	AverageMessagesPerSecond float64 `json:"average_messages_per_second"`
	// PeakBytesPerSecond is absent where the peak was not measured.
	PeakBytesPerSecond *float64 `json:"peak_bytes_per_second,omitempty"`
}

// NewResult makes the document's form of one message size.
func NewResult(bw stats.Bandwidth) DocumentResult {
	return DocumentResult{
		SizeBytes:                bw.Size,
		Messages:                 bw.Messages,
		AverageBytesPerSecond:    bw.BytesPerSecond,
		AverageMessagesPerSecond: bw.MessagesPerSecond,
		PeakBytesPerSecond:       bw.PeakBytesPerSecond,
	}
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
