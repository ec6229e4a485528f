package perftest

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
)

// flags makes the flags of one section.
type flags struct{ set *pflag.FlagSet }

func (p *parser) section(title string) flags {
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	p.groups = append(p.groups, group{title, set})
	return flags{set}
}

func (f flags) number(dst *int, long, short string, low, high int, usage string) {
	f.set.VarP(&command.Number{Dst: dst, Low: low, High: high}, long, short, usage)
}

func (f flags) toggle(dst *bool, long, short, usage string) {
	command.Toggle(f.set, dst, long, short, usage)
}

func (f flags) text(dst *string, long, short, usage string) {
	f.set.VarP((*word)(dst), long, short, usage)
}

func (p *parser) connectionFlags() {
	c, f := &p.config, p.section("Where")
	f.text(&c.Device, "ib-dev", "d", "RDMA `device` (default the first); loop0 is one inside this process")
	f.number(&c.IBPort, "ib-port", "i", 1, maxIBPort, "`port` of the device")
	f.number(&p.gidIndex, "gid-index", "x", 0, maxGIDIndex, "`index` of the local GID (default: chosen; none on InfiniBand)")
	f.toggle(&c.IPv6, "ipv6", "", "choose a GID of an IPv6 address")
	f.number(&c.Port, "port", "p", 1, 65535, "`port` of the control connection: of TCP, or of rdma_cm with -R and -z")
	f.text(&c.SourceIP, "source_ip", "", "this side's IPv4 `address` of the control connection")
	f.toggle(&c.CMPairs, "rdma_cm", "R", "connect the queue pairs by rdma_cm, and talk over it; HOST is an address of the RDMA interface")
	f.toggle(&c.CMControl, "comm_rdma_cm", "z", "talk to the other side over rdma_cm instead of TCP")
	f.number(&p.tos, "tos", "T", 0, 255, "with -R: type of service, a `byte`")
	f.number(&c.RetryCount, "retry_count", "", 0, 7, "with -R: `times` to send again before the peer is given up")
	p.connection = "RC"
	services := "connection type: RC"
	switch c.Tool.Verb {
	case VerbWrite:
		services += " or UC"
	case VerbSend:
		services += ", UC or UD"
	}
	f.text(&p.connection, "connection", "c", "`type` of connection"+services[len("connection type"):])
	f.number(&p.mtu, "mtu", "m", 0, 1<<16, "path MTU in `bytes`: 256, 512, 1024, 2048 or 4096 (default the port's; never above it)")
	f.number(&c.ServiceLevel, "sl", "S", 0, 15, "service `level`, the priority on RoCE")
	f.number(&c.TrafficClass, "tclass", "", 0, 255, "traffic `class` of the global route header")
	f.number(&c.PKeyIndex, "pkey_index", "", 0, 65535, "`index` of the partition key")
	f.number(&c.AckTimeout, "qp-timeout", "u", 1, 31, "wait 4.096 us times 2^`n` for an acknowledgement")
}

func (p *parser) messageFlags() {
	c, f := &p.config, p.section("What")
	if !c.Tool.fixedSize() {
		f.set.VarP((*size)(&c.Size), "size", "s", "message size in `bytes`; a K or M at the end means KiB or MiB")
		f.toggle(&c.All, "all", "a", "run the sizes 2, 4, ... 8388608; with UD up to the MTU")
	}
	f.number(&c.Iterations, "iters", "n", minIterations, maxIterations, "`number` of messages of each size and queue pair")
	f.number(&p.duration, "duration", "D", 1, maxDuration, "run for this many `seconds` instead")
	f.number(&p.margin, "margin", "f", 0, maxDuration, "do not count this many `seconds` at both ends of -D (default a quarter)")
	if c.Tool.Verb == VerbAtomic {
		p.atomic = FetchAndAdd.String()
		f.text(&p.atomic, "atomic_type", "A", "the `operation`: FETCH_AND_ADD or CMP_AND_SWAP")
	}
	if !c.Tool.Latency {
		f.toggle(&c.Bidirectional, "bidirectional", "b", "both sides send; the result is the sum")
		f.toggle(&c.Reversed, "reversed", "", "the server sends to the client")
		f.toggle(&c.Infinite, "run_infinitely", "", "run until Ctrl-C, with a row every -D seconds (default 5)")
		if c.Tool.Verb != VerbSend {
			f.toggle(&c.WarmUp, "perform_warm_up", "", "send a queue full of messages before the clock starts")
		}
	}
}

func (p *parser) queueFlags() {
	c, f := &p.config, p.section("How")
	if !c.Tool.Latency {
		f.number(&c.QueuePairs, "qp", "q", 1, maxQueuePairs, "`number` of queue pairs")
		f.number(&c.TxDepth, "tx-depth", "t", 1, maxDepth, "`depth` of the send queue")
		f.number(&c.CQModeration, "cq-mod", "Q", 1, maxCQMod, "one completion for this `number` of requests; by itself 1 for messages above 8K")
		f.number(&c.PostList, "post_list", "l", 1, maxDepth, "post exactly this `number` of requests at once; 1 posts as many as fit, up to 32")
	}
	if c.Tool.Verb == VerbSend {
		f.number(&c.RxDepth, "rx-depth", "r", 1, maxDepth, "`depth` of the receive queue; in send_bw with UC and UD up to 16000 by itself")
		if !c.Tool.Latency {
			f.number(&c.RecvPostList, "recv_post_list", "", 1, maxDepth, "post exactly this `number` of receives at once")
		}
		f.toggle(&c.SharedReceive, "use-srq", "", "take receives from one queue for all queue pairs; -r is its depth")
	}
	if c.Tool.Verb.brings() {
		f.number(&p.outReads, "outs", "o", 1, 128, "`number` of reads and atomics under way at once (default what the device can)")
	} else {
		f.number(&p.inline, "inline_size", "I", 0, maxInline, "carry messages of up to `bytes` in the request itself (default: the device's, in latency tests)")
	}
	if c.Tool.Verb != VerbWrite {
		f.toggle(&c.Events, "events", "e", "sleep until the device's event instead of polling")
		f.number(&c.Vector, "vector", "X", 0, 1<<16, "completion `vector` of -e: which of the device's interrupts")
	}
	if !c.Tool.Latency || c.Tool.Verb != VerbWrite {
		f.number(&p.cuda, "use_cuda", "", 0, 1<<16, "take buffers from the GPU of this `number`, counted by CUDA")
		f.text(&c.Memory.CUDABusID, "use_cuda_bus_id", "", "the same, by the GPU's PCI `address`")
		f.toggle(&c.Memory.CUDADMABuf, "use_cuda_dmabuf", "", "register them as a dma-buf only (default: that, nvidia_peermem, or staged)")
	}
	f.toggle(&c.Memory.HugePages, "use_hugepages", "", "take buffers from the system's huge pages")
	if !c.Tool.Latency {
		f.toggle(&c.Memory.PerQueuePair, "mr_per_qp", "", "register memory for each queue pair by itself")
		f.toggle(&c.Memory.Ordered, "disable_pcie_relaxed", "", "register memory without relaxed PCIe ordering")
	}
	f.toggle(new(bool), "CPU-freq", "F", "accepted for the C tool's sake; nothing is said of the CPU's frequency")
	f.toggle(new(bool), "use_old_post_send", "", "accepted for the C tool's sake; it is what this tool does")
}

func (p *parser) outputFlags() {
	c, f := &p.config, p.section("Output")
	if c.Tool.Latency {
		f.toggle(&c.Histogram, "report-histogram", "H", "list all samples, sorted and without the two longest")
		f.toggle(&p.unsorted, "report-unsorted", "U", "list all samples in the order of the run")
	} else {
		f.toggle(&p.noPeak, "noPeak", "N", "do not measure the peak (as above 20000 messages)")
		f.toggle(&p.gbits, "report_gbits", "", "print Gbit/s (10^9 bits) instead of MiB/s (2^20 bytes)")
		f.toggle(&c.ReportBoth, "report-both", "", "with -b: print each side's part too")
		f.set.VarP((*positive)(&c.MinBandwidth), "limit_bw", "w", "fail below this `bandwidth`, in the printed unit")
		f.set.VarP((*positive)(&c.MinMessageRate), "limit_msgrate", "y", "fail below this message `rate`, in millions a second")
	}
	f.toggle(&c.CPU, "cpu_util", "", "with -D: print how busy the processors were")
	f.text(&p.only, "output", "", "print one `column` and nothing else: bandwidth, message_rate or latency")
	f.toggle(&p.outJSON, "out_json", "", "also write the C tools' JSON file")
	f.text(&p.outJSONFile, "out_json_file", "", "the same, to this `file`")
	f.toggle(&p.version, "version", "V", "print the version")
	f.toggle(&p.help, "help", "h", "print this help")
}

// ownFlags are those that the C tools do not have.
func (p *parser) ownFlags() {
	c, f := &p.config, p.section("Beyond the C tool")
	f.toggle(&c.JSON, "json", "", "print a JSON document instead of the text")
	f.text(&c.Plot, "plot", "", "draw the results into this SVG `file`")
	f.text(&c.Compare, "compare", "", "take turns with the C `tool` on this machine and print the ratios")
	f.number(&c.Pairs, "pairs", "", 1, 10000, "`number` of turns of --compare")
	f.text(&c.ServerDevice, "server-dev", "", "with --compare: `device` of the servers (default that of -d)")
	if !c.Tool.Latency {
		f.number(&c.Threads, "threads", "", 1, 1024, "spread the queue pairs over this `number` of threads, each bound to a CPU")
	}
	f.set.StringVar(&c.Bind, "bind", "", "bind the threads to these `CPUs`, as 0-3,8; \"near\", or no value, is those near the device")
	f.set.Lookup("bind").NoOptDefVal = bindNear
	f.number(&p.timeout, "timeout", "", 1, maxDuration, fmt.Sprintf("give up on a peer that makes no progress for so many `seconds` (default %d; "+
		"a server that only waits: never)", int(defaultTimeout.Seconds())))
	f.set.VisitAll(func(flag *pflag.Flag) { p.ours[flag.Name] = true })
}
