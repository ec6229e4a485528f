// Package report writes what the benchmark tools print: the text of perftest
// 4.5, byte for byte, and a JSON document of our own. It formats values that
// it is given and measures nothing.
//
// A run prints, in this order: [WriteWaiting] (server only), [WriteInfo],
// [WriteAddresses], [WriteHeader], one [WriteRow] a message size, [WriteRule].
package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

const ruleWidth = 87

// WriteRule writes the line of dashes that ends each block.
func WriteRule(w io.Writer) error {
	_, err := io.WriteString(w, rule())
	return err
}

func rule() string { return strings.Repeat("-", ruleWidth) + "\n" }

// WriteWaiting writes what a server prints before a client connects.
func WriteWaiting(w io.Writer) error {
	stars := strings.Repeat("*", 36)
	_, err := fmt.Fprintf(w, "\n%s\n* Waiting for client to connect... *\n%s\n", stars, stars)
	return err
}

// Info is the block of parameters at the head of the output.
type Info struct {
	// Title names the test: "RDMA_Write BW Test".
	Title string
	// Device is the RDMA device's name.
	Device string
	// QueuePairs is the number of queue pairs.
	QueuePairs int
	// Transport is the device's transport: "IB" for InfiniBand and RoCE, "IW"
	// for iWARP.
	Transport string
	// Connection is the queue pairs' service: "RC".
	Connection string
	// RelaxedOrdering tells whether PCIe relaxed ordering was asked for.
	RelaxedOrdering bool
	// ExtendedWR tells whether requests are posted through ibv_wr_*.
	ExtendedWR bool
	// TxDepth is the depth of the send queue. It is printed by the side that
	// sends; nil leaves the line out.
	TxDepth *int
	// CQModeration is the number of requests to one completion.
	CQModeration int
	// MTU is the path MTU in bytes.
	MTU int
	// LinkType is the link layer: "Ethernet" or "IB".
	LinkType string
	// GIDIndex is the index of the local GID; nil, where no GID is used,
	// leaves the line out.
	GIDIndex *int
	// MaxInline is the most bytes sent inline.
	MaxInline int
}

// WriteInfo writes the block, with the rules around it.
func WriteInfo(w io.Writer, info Info) error {
	var b bytes.Buffer
	b.WriteString(rule())
	fmt.Fprintf(&b, "                    %s\n", info.Title)
	fmt.Fprintf(&b, " Dual-port       : OFF\t\tDevice         : %s\n", info.Device)
	fmt.Fprintf(&b, " Number of qps   : %d\t\tTransport type : %s\n", info.QueuePairs, info.Transport)
	fmt.Fprintf(&b, " Connection type : %s\t\tUsing SRQ      : OFF\n", info.Connection)
	fmt.Fprintf(&b, " PCIe relax order: %s\n", onOff(info.RelaxedOrdering))
	fmt.Fprintf(&b, " ibv_wr* API     : %s\n", onOff(info.ExtendedWR))
	if info.TxDepth != nil {
		fmt.Fprintf(&b, " TX depth        : %d\n", *info.TxDepth)
	}
	fmt.Fprintf(&b, " CQ Moderation   : %d\n", info.CQModeration)
	fmt.Fprintf(&b, " Mtu             : %d[B]\n", info.MTU)
	fmt.Fprintf(&b, " Link type       : %s\n", info.LinkType)
	if info.GIDIndex != nil {
		fmt.Fprintf(&b, " GID index       : %d\n", *info.GIDIndex)
	}
	fmt.Fprintf(&b, " Max inline data : %d[B]\n", info.MaxInline)
	b.WriteString(" rdma_cm QPs\t : OFF\n")
	b.WriteString(" Data ex. method : Ethernet\n")
	b.WriteString(rule())
	_, err := w.Write(b.Bytes())
	return err
}

func onOff(on bool) string {
	if on {
		return "ON"
	}
	return "OFF"
}
