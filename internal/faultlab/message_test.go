//go:build linux && amd64

package faultlab

import (
	"encoding/json"
	"os"
	"time"

	"github.com/gofabric/gofabric/verbs"
)

// command is one line to a guest. Lines for the keeper have Keeper set; it
// passes the others on to its worker.
type command struct {
	Keeper  bool
	Do      string
	Args    []string
	Peer    *verbs.Endpoint
	Remote  verbs.RemoteBuffer
	Options verbs.ConnectOptions
	Chunks  int
	Limit   time.Duration
}

// message is one line from a guest.
type message struct {
	Is       string
	Text     string
	Endpoint *verbs.Endpoint
	Remote   verbs.RemoteBuffer
	Status   verbs.Status
	Chunks   int
	// Stall is the longest time without a completion, or the time from the
	// last good one to the failure.
	Stall time.Duration
	// TimedOut tells that something ended because nobody answered.
	TimedOut bool
}

// say writes one line in one call: keeper and worker share a pipe.
func say(m message) {
	text, err := json.Marshal(m)
	if err == nil {
		_, err = os.Stdout.Write(append(text, '\n'))
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

// fail ends the process with a message.
func fail(err error) {
	say(message{Is: "failed", Text: err.Error()})
	os.Exit(1)
}
