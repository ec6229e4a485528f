// Package report writes what the benchmark tools print: the text of perftest
// 4.5, byte for byte, and a JSON document of our own. It formats values that
// it is given and measures nothing.
//
// A run prints, in this order: [WriteWaiting] (server only), [WriteInfo],
// [WriteAddresses], the head of its [Table], one row a message size, [WriteRule].
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

// Info is the block of parameters at the head of the output. A nil field leaves
// its line out.
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
	// SharedReceive tells whether receives come from a shared queue.
	SharedReceive bool
	// RelaxedOrdering tells whether PCIe relaxed ordering was asked for.
	RelaxedOrdering bool
	// ExtendedWR tells whether requests are posted through ibv_wr_*.
	ExtendedWR bool
	// TxDepth is the depth of the send queue, printed by the side that sends.
	TxDepth *int
	// PostList and RecvPostList are how many requests are posted at once, where
	// that is more than one.
	PostList, RecvPostList *int
	// RxDepth is the depth of the receive queue, printed by the side that
	// receives messages.
	RxDepth *int
	// CQModeration is the number of requests to one completion.
	CQModeration *int
	// MTU is the path MTU in bytes.
	MTU int
	// LinkType is the link layer: "Ethernet" or "IB".
	LinkType string
	// GIDIndex is the index of the local GID, nil where no GID is used.
	GIDIndex *int
	// MaxInline is the most bytes sent inline; tests that bring data have
	// OutReads in its place, the number of reads and atomics under way at once.
	MaxInline, OutReads *int
	// CMPairs tells that the connection manager connects the queue pairs, and
	// CMControl that it carries the control connection.
	CMPairs, CMControl bool
	// TypeOfService is that of the connection manager, nil for the system's.
	TypeOfService *int
}

// WriteInfo writes the block, with the rules around it.
func WriteInfo(w io.Writer, info Info) error {
	var b bytes.Buffer
	line := func(format string, value *int) {
		if value != nil {
			fmt.Fprintf(&b, format, *value)
		}
	}
	b.WriteString(rule())
	fmt.Fprintf(&b, "                    %s\n", info.Title)
	fmt.Fprintf(&b, " Dual-port       : OFF\t\tDevice         : %s\n", info.Device)
	fmt.Fprintf(&b, " Number of qps   : %d\t\tTransport type : %s\n", info.QueuePairs, info.Transport)
	fmt.Fprintf(&b, " Connection type : %s\t\tUsing SRQ      : %s\n", info.Connection, onOff(info.SharedReceive))
	fmt.Fprintf(&b, " PCIe relax order: %s\n", onOff(info.RelaxedOrdering))
	fmt.Fprintf(&b, " ibv_wr* API     : %s\n", onOff(info.ExtendedWR))
	line(" TX depth        : %d\n", info.TxDepth)
	line(" Post List       : %d\n", info.PostList)
	line(" Recv Post List  : %d\n", info.RecvPostList)
	line(" RX depth        : %d\n", info.RxDepth)
	line(" CQ Moderation   : %d\n", info.CQModeration)
	fmt.Fprintf(&b, " Mtu             : %d[B]\n", info.MTU)
	fmt.Fprintf(&b, " Link type       : %s\n", info.LinkType)
	line(" GID index       : %d\n", info.GIDIndex)
	line(" Outstand reads  : %d\n", info.OutReads)
	line(" Max inline data : %d[B]\n", info.MaxInline)
	fmt.Fprintf(&b, " rdma_cm QPs\t : %s\n", onOff(info.CMPairs))
	b.WriteString(" Data ex. method : " + info.exchange())
	line(" \tTOS    : %d", info.TypeOfService)
	b.WriteString("\n")
	b.WriteString(rule())
	_, err := w.Write(b.Bytes())
	return err
}

// exchange is the way of the control connection.
func (i Info) exchange() string {
	if i.CMControl {
		return "rdma_cm"
	}
	return "Ethernet"
}

func onOff(on bool) string {
	if on {
		return "ON"
	}
	return "OFF"
}
