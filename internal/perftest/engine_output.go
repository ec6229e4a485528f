package perftest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofabric/gofabric/internal/report"
	"github.com/gofabric/gofabric/internal/stats"
	"github.com/gofabric/gofabric/verbs"
)

// output prints a run as text while it goes on, or as one document at its end.
type output struct {
	w      io.Writer
	local  *end
	config *Config
	doc    report.Document
}

func newOutput(w io.Writer, local *end) *output {
	return &output{w: w, local: local, config: local.config}
}

func (o *output) waiting() error {
	if o.config.JSON {
		return nil
	}
	return report.WriteWaiting(o.w)
}

// begin prints all that stands before the first row.
func (o *output) begin(agreed Agreement, own, peer Key) error {
	if o.config.JSON {
		o.beginDocument(agreed)
		return nil
	}
	if err := report.WriteInfo(o.w, o.info(agreed)); err != nil {
		return err
	}
	addresses := func(k Key) []report.Address { return []report.Address{k.Address(true)} }
	if err := report.WriteAddresses(o.w, addresses(own), addresses(peer)); err != nil {
		return err
	}
	return report.WriteHeader(o.w, o.config.Unit)
}

func (o *output) row(bw stats.Bandwidth) error {
	if o.config.JSON {
		o.doc.Results = append(o.doc.Results, report.NewResult(bw))
		return nil
	}
	return report.WriteRow(o.w, bw, o.config.Unit)
}

func (o *output) end() error {
	if o.config.JSON {
		return report.WriteJSON(o.w, o.doc)
	}
	return report.WriteRule(o.w)
}

func (o *output) info(agreed Agreement) report.Info {
	c := o.config
	info := report.Info{
		Title:           c.Tool.Title,
		Device:          o.local.dev.Name(),
		QueuePairs:      1,
		Transport:       "IB",
		Connection:      "RC",
		RelaxedOrdering: o.local.relaxed(),
		CQModeration:    c.CQModeration,
		MTU:             agreed.MTU.Bytes(),
		LinkType:        o.linkType(),
	}
	if o.local.info.NodeType == verbs.NodeRNIC {
		info.Transport = "IW"
	}
	if c.Role() == RoleClient {
		info.TxDepth = &c.TxDepth
	}
	if o.local.gid != nil {
		info.GIDIndex = &o.local.gid.Index
	}
	return info
}

func (o *output) linkType() string {
	if o.local.attr.LinkLayer == verbs.LinkLayerEthernet {
		return "Ethernet"
	}
	return "IB"
}

func (o *output) beginDocument(agreed Agreement) {
	c := o.config
	o.doc = report.Document{
		Tool:        c.Tool.Name,
		Role:        c.Role().String(),
		PeerVersion: agreed.PeerVersion.String(),
		Kernel:      kernelRelease(),
		Provider:    o.local.driver(),
		Library:     libraryPath(),
		Device: report.DocumentDevice{
			Name:     o.local.dev.Name(),
			Port:     c.IBPort,
			LinkType: o.linkType(),
			MTUBytes: agreed.MTU.Bytes(),
		},
		Parameters: report.DocumentParameters{
			Connection:   "RC",
			QueuePairs:   1,
			TxDepth:      c.TxDepth,
			CQModeration: c.CQModeration,
		},
	}
	if gid := o.local.gid; gid != nil {
		o.doc.Device.GIDIndex, o.doc.Device.GID = &gid.Index, gid.GID.String()
	}
	if c.Duration == 0 {
		o.doc.Parameters.Iterations = &c.Iterations
		return
	}
	seconds := func(d time.Duration) *float64 {
		s := d.Seconds()
		return &s
	}
	o.doc.Parameters.DurationSeconds, o.doc.Parameters.MarginSeconds = seconds(c.Duration), seconds(c.Margin)
}

// kernelRelease is empty where the kernel does not tell.
func kernelRelease() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text))
}

// libraryPath is empty for a device that needs no library.
func libraryPath() string {
	path, _ := verbs.LibraryPath()
	return path
}

// rxeVendor is the vendor that the kernel's software RoCE device reports. It
// has no place on a bus, and with it no link to its driver.
const rxeVendor = 0xffffff

// driver names the kernel module that moves the data, or is empty where it is
// not to be seen.
func (e *end) driver() string {
	target, err := os.Readlink(filepath.Join("/sys/class/infiniband", e.dev.Name(), "device/driver"))
	if err == nil {
		return filepath.Base(target)
	}
	if e.info.PCIAddress == "" && e.dev.Attributes().VendorID == rxeVendor {
		return "rdma_rxe"
	}
	return ""
}
