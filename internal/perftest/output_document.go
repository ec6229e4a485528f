package perftest

import (
	"time"

	"github.com/gofabric/gofabric/internal/report"
	"github.com/gofabric/gofabric/internal/stats"
)

func sortedSamples(samples []time.Duration) []time.Duration { return stats.Sorted(samples) }

func (o *output) beginDocument() {
	c, local := o.config, o.run.local
	o.doc = report.Document{
		Tool:        c.Tool.Name,
		Role:        c.Role().String(),
		PeerVersion: o.run.agreed.PeerVersion.String(),
		Kernel:      kernelRelease(),
		Provider:    local.driver(),
		Library:     libraryPath(),
		Device: report.DocumentDevice{
			Name:     local.dev.Name(),
			Port:     c.IBPort,
			LinkType: o.linkType(),
			MTUBytes: o.run.agreed.MTU.Bytes(),
		},
		Parameters: o.parameters(),
	}
	if inProcess(local.dev.Name()) {
		o.doc.Note = inProcessNote
		o.doc.Library = ""
	}
	if gid := local.gid; gid != nil {
		o.doc.Device.GIDIndex, o.doc.Device.GID = &gid.Index, gid.GID.String()
	}
}

func (o *output) parameters() report.DocumentParameters {
	c, local := o.config, o.run.local
	p := report.DocumentParameters{
		Connection:     c.Connection.String(),
		QueuePairs:     c.QueuePairs,
		TxDepth:        c.TxDepth,
		MaxInlineBytes: local.inline,
		Bidirectional:  c.Bidirectional,
		Reversed:       c.Reversed,
		Events:         c.Events,
		SharedReceive:  c.SharedReceive,
		Threads:        c.Threads,
		CPUs:           o.run.placement.String(),
	}
	if !c.Tool.Latency {
		p.CQModeration = c.CQModeration
	}
	if c.Tool.Verb == VerbSend {
		p.RxDepth = &c.RxDepth
	}
	if c.Tool.Verb.brings() {
		p.OutstandingReads = &local.reads
	}
	if c.Tool.Verb == VerbAtomic {
		p.Atomic = c.Atomic.String()
	}
	if c.PostList > 1 {
		p.PostList = c.PostList
	}
	if c.RecvPostList > 1 {
		p.RecvPostList = c.RecvPostList
	}
	if c.Duration == 0 {
		p.Iterations = &c.Iterations
		return p
	}
	p.DurationSeconds, p.MarginSeconds = seconds(c.Duration), seconds(c.Margin)
	return p
}

func (o *output) documentRow(r result) report.DocumentResult {
	row := report.DocumentResult{CPUPercent: r.cpu, LostMessages: uint64(r.lost)}
	switch {
	case r.latency != nil:
		row.SizeBytes, row.Messages = r.latency.Size, r.latency.Messages
		var samples []time.Duration
		if o.config.Histogram {
			samples = r.samples
		}
		row.DocumentLatency = report.NewLatency(*r.latency, samples)
	case r.rate != nil:
		row.SizeBytes, row.Messages = r.rate.Size, r.rate.Messages
		row.DocumentLatencyRate = &report.DocumentLatencyRate{MeanSeconds: r.rate.Average.Seconds(), RoundTripsPerSecond: r.rate.PerSecond}
	default:
		row.SizeBytes, row.Messages = r.bandwidth.Size, r.bandwidth.Messages
		row.DocumentBandwidth = report.NewBandwidth(*r.bandwidth)
		if r.local != nil {
			row.Local, row.Remote = report.NewBandwidth(*r.local), report.NewBandwidth(*r.remote)
		}
	}
	return row
}

func (o *output) cFileRow(r result) {
	switch {
	case r.latency != nil:
		o.cfile.Latency(*r.latency, r.cpu)
	case r.rate != nil:
		o.cfile.LatencyRate(*r.rate, r.cpu)
	default:
		o.cfile.Bandwidth(*r.bandwidth, o.config.Unit, r.cpu)
	}
}
