package perftest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofabric/gofabric/internal/report"
	"github.com/gofabric/gofabric/verbs"
)

// output prints a run as text while it goes on, or as one document at its end,
// and keeps what the chart and the file of the C tools' form need.
type output struct {
	w, stderr io.Writer
	run       *run
	config    *Config
	table     report.Table
	progress  *progress
	doc       report.Document
	cfile     *report.CFile
	chart     *chart
	missed    error // what -w and -y asked for and did not get
	began     bool
}

// newOutput takes the names of files, so that they are not found missing at the
// end of a long run.
func newOutput(w, stderr io.Writer, r *run) (*output, error) {
	c := r.config
	o := &output{w: w, stderr: stderr, run: r, config: c, progress: newProgress(stderr, c.Only == "")}
	o.table = report.Table{Unit: c.Unit, CPU: c.CPU, Only: c.Only}
	if c.CFile != "" {
		if err := canWrite(c.CFile); err != nil {
			return nil, fmt.Errorf("--out_json_file: %w", err)
		}
	}
	var err error
	if c.Plot != "" {
		o.chart, err = newChart(c)
	}
	return o, err
}

// silent tells that no text is to be printed but rows.
func (o *output) silent() bool { return o.config.JSON || o.config.Only != "" }

func (o *output) waiting() error {
	if o.silent() {
		return nil
	}
	return report.WriteWaiting(o.w)
}

// begin prints all that stands before the first row.
func (o *output) begin() error {
	info := o.info()
	o.began = true
	if o.config.CFile != "" {
		o.cfile = report.NewCFile(info)
	}
	if o.config.JSON {
		o.beginDocument()
		return nil
	}
	if o.silent() {
		return nil
	}
	if err := report.WriteInfo(o.w, info); err != nil {
		return err
	}
	if o.config.Events {
		if _, err := fmt.Fprintf(o.w, " Test with events. Using DEV_comp%d\n", o.config.Vector); err != nil {
			return err
		}
	}
	addresses := func(keys []Key) (list []report.Address) {
		for _, k := range keys {
			list = append(list, k.Address(o.config.Tool.Verb))
		}
		return list
	}
	if err := report.WriteAddresses(o.w, addresses(o.run.local.keys), addresses(o.run.remotes)); err != nil {
		return err
	}
	if c := o.config; c.Tool.Latency && !c.measures() {
		return nil // the C tools print no table there
	}
	return o.head()
}

// head prints the head of the table.
func (o *output) head() error {
	switch c := o.config; {
	case !c.Tool.Latency:
		return o.table.BandwidthHead(o.w)
	case c.Duration > 0:
		return o.table.LatencyRateHead(o.w)
	default:
		return o.table.LatencyHead(o.w)
	}
}

// row takes one message size.
func (o *output) row(r result) error {
	o.progress.clear()
	if r.lost > 0 {
		fmt.Fprintf(o.stderr, "%s: %d messages were lost on the way, as %v allows\n", o.config.Tool.Name, r.lost, o.config.Connection)
	}
	o.checkLimits(r)
	if o.chart != nil {
		o.chart.add(r)
	}
	if o.cfile != nil {
		o.cFileRow(r)
		if err := o.cfile.Write(o.config.CFile); err != nil {
			return fmt.Errorf("--out_json_file: %w", err)
		}
	}
	if o.config.JSON {
		o.doc.Results = append(o.doc.Results, o.documentRow(r))
		return nil
	}
	return o.textRow(r)
}

func (o *output) textRow(r result) error {
	cpu := 0.0
	if r.cpu != nil {
		cpu = *r.cpu
	}
	switch {
	case r.latency != nil:
		if o.config.Histogram && o.config.Only == "" {
			if err := o.samples(r); err != nil {
				return err
			}
		}
		return o.table.Latency(o.w, *r.latency, cpu)
	case r.rate != nil:
		return o.table.LatencyRate(o.w, *r.rate, cpu)
	}
	err := o.table.Bandwidth(o.w, *r.bandwidth, cpu)
	if !o.config.ReportBoth || r.local == nil || o.config.Only != "" {
		return err
	}
	for i, side := range []string{"Local", "Remote"} {
		if err == nil {
			err = report.WriteSideTitle(o.w, side)
		}
		if err == nil {
			err = o.head()
		}
		if part := r.local; err == nil {
			if i == 1 {
				part = r.remote
			}
			err = o.table.Bandwidth(o.w, *part, cpu)
		}
	}
	return err
}

// checkLimits keeps what a row has too little of.
func (o *output) checkLimits(r result) {
	if r.bandwidth == nil || o.missed != nil {
		return
	}
	c := o.config
	if got := c.Unit.FromBytes(r.bandwidth.BytesPerSecond); got < c.MinBandwidth {
		o.missed = fmt.Errorf("the bandwidth of %.2f %v is below the limit of %.2f (-w)", got, c.Unit, c.MinBandwidth)
	}
	if got := r.bandwidth.MessagesPerSecond / 1e6; got < c.MinMessageRate && o.missed == nil {
		o.missed = fmt.Errorf("the message rate of %.6f million a second is below the limit of %.6f (-y)", got, c.MinMessageRate)
	}
}

// end finishes what was printed. failure is how the run ended.
func (o *output) end(failure error) error {
	o.progress.clear()
	var err error
	if o.chart != nil {
		err = o.chart.write(o, failure)
	}
	switch {
	case failure != nil:
		return err
	case o.config.JSON:
		err = errors.Join(err, report.WriteJSON(o.w, o.doc))
	case !o.silent() && (!o.config.Tool.Latency || o.config.measures()):
		err = errors.Join(err, report.WriteRule(o.w))
	}
	return errors.Join(err, o.missed)
}

// info is the block of parameters.
func (o *output) info() report.Info {
	c, local := o.config, o.run.local
	info := report.Info{
		Title:           c.title(),
		Device:          local.dev.Name(),
		QueuePairs:      c.QueuePairs,
		Transport:       "IB",
		Connection:      c.Connection.String(),
		SharedReceive:   c.SharedReceive,
		RelaxedOrdering: local.relaxed,
		MTU:             o.run.agreed.MTU.Bytes(),
		LinkType:        o.linkType(),
		CMPairs:         c.CMPairs,
		CMControl:       c.CMControl,
		TypeOfService:   c.TypeOfService,
	}
	if local.info.NodeType == verbs.NodeRNIC {
		info.Transport = "IW"
	}
	if c.leads() || c.Bidirectional {
		info.TxDepth = &c.TxDepth
	}
	if c.PostList > 1 {
		info.PostList = &c.PostList
	}
	if c.RecvPostList > 1 {
		info.RecvPostList = &c.RecvPostList
	}
	if c.Tool.Verb == VerbSend && (!c.leads() || c.Bidirectional) {
		info.RxDepth = &c.RxDepth
	}
	if !c.Tool.Latency {
		info.CQModeration = &c.CQModeration
	}
	if c.Tool.Verb.brings() {
		info.OutReads = &local.reads
	} else {
		info.MaxInline = &local.inline
	}
	if local.gid != nil {
		info.GIDIndex = &local.gid.Index
	}
	return info
}

func (o *output) linkType() string {
	if o.run.local.attr.LinkLayer == verbs.LinkLayerEthernet {
		return "Ethernet"
	}
	return "IB"
}

func (o *output) samples(r result) error {
	list := r.samples
	if !o.config.Unsorted {
		list = sortedSamples(list)
	}
	if err := report.WriteSamples(o.w, list); err != nil {
		return err
	}
	return o.head()
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
	if inProcess(e.dev.Name()) {
		return "in this process"
	}
	if e.info.PCIAddress == "" && e.dev.Attributes().VendorID == rxeVendor {
		return "rdma_rxe"
	}
	return ""
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
