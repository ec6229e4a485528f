package perftest

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
)

// refusedFlag is a flag of the C tools that we refuse by name and with a reason,
// so that a command line of theirs does not fail as a misspelling.
type refusedFlag struct{ long, short, reason string }

const (
	notOffered   = "is not offered by this tool"
	laterGPU     = "is of later releases: this tool has --use_cuda, --use_cuda_bus_id and --use_cuda_dmabuf"
	otherGPU     = "is for accelerators that this tool does not drive; --use_cuda is for NVIDIA's"
	laterRelease = "belongs to later releases of the C tools than 4.5, whose protocol this tool speaks"
	rawPackets   = "is for raw Ethernet packets, which this tool does not send"
	dctOnly      = "is for DC connections; this tool has RC, UC and UD"
	cryptoOnly   = "is for adapters with inline encryption, which this tool does not drive"
	limiterOnly  = "is for the rate limiter, which this tool does not have; tc or the switch can limit"
)

// refusedAlways are refused by all tools.
var refusedAlways = []refusedFlag{
	{"com_rdma_cm", "", "is a slip in the help of release 4.5, which does not know it either: it is --comm_rdma_cm"},
	{"use_cuda_pcie_mapping", "", laterGPU}, {"use_data_direct", "", laterGPU}, {"cuda_mem_type", "", laterGPU}, {"gpu_touch", "", laterGPU},
	{"use_rocm", "", otherGPU}, {"use_neuron", "", otherGPU}, {"use_hl", "", otherGPU}, {"use_musa", "", otherGPU}, {"use_opencl", "", otherGPU},
	{"dualport", "O", "runs two ports of an old adapter as one; start a tool for each port"},
	{"report-per-port", "", "goes with -O, which this tool does not have"},
	{"mcg", "g", notOffered + ": multicast has no result that both sides agree on"},
	{"MGID", "M", "goes with -g, which this tool does not have"},
	{"hop_limit", "L", rawPackets}, {"flow_label", "", rawPackets},
	{"report-cycles", "C", "counts processor cycles, and this tool's clock counts nanoseconds: leave it out for microseconds"},
	{"report-counters", "W", "reads the adapter's counters; read /sys/class/infiniband/DEVICE/ports/PORT before and after"},
	{"dlid", "", "overrides the peer's address; give both sides the right one with -x or -i"},
	{"dont_xchg_versions", "", "makes the C tools fail on both sides, and this one has no use for it"},
	{"force-link", "", "overrides the link layer, which this tool reads from the port"},
	{"inline_recv", "", "has no effect in release 4.5, and none here"},
	{"ipv6-addr", "", "has the control connection use IPv6; it is IPv4 here, as in release 4.5"},
	{"bind_source_ip", "", "is called --source_ip here, as in release 4.5"},
	{"latency_gap", "", notOffered + ": a pause between messages changes what they measure"},
	{"mmap", "", notOffered + ": its buffers are memory of its own"}, {"mmap-offset", "", "goes with --mmap, which this tool does not have"},
	{"odp", "", notOffered + ": on-demand paging measures the kernel's page faults"},
	{"wait_destroy", "", notOffered + ": it closes what it made at once"},
	{"rate_limit", "", limiterOnly}, {"rate_units", "", limiterOnly}, {"rate_limit_type", "", limiterOnly},
	{"burst_size", "", limiterOnly}, {"typical_pkt_size", "", limiterOnly},
	{"log_dci_streams", "", dctOnly}, {"log_active_dci_streams", "", dctOnly},
	{"aes_xts", "", cryptoOnly}, {"encrypt_on_tx", "", cryptoOnly}, {"sig_before", "", cryptoOnly}, {"aes_block_size", "", cryptoOnly},
	{"data_enc_keys_number", "", cryptoOnly}, {"kek_path", "", cryptoOnly}, {"credentials_path", "", cryptoOnly},
	{"data_enc_key_app_path", "", cryptoOnly},
	{"write_with_imm", "", laterRelease}, {"send_with_imm", "", laterRelease}, {"no_enhanced_reorder", "", laterRelease},
	{"sig_offload", "", laterRelease}, {"data_validation", "", laterRelease}, {"use-null-mr", "", laterRelease},
	{"cqe_poll", "", laterRelease}, {"disable_dynamic_polling", "", laterRelease}, {"connectionless", "", laterRelease},
	{"payload_file_path", "", laterRelease}, {"no_lock", "", laterRelease},
	{"pin_cores", "", "is called --bind here"}, {"numa_node", "", "is called --bind here"},
	{"disable_numa", "", "has nothing to turn off: this tool binds nothing without --bind or --threads"},
}

const (
	oneMessage   = "is for the bandwidth tools: a latency test has one message under way at a time"
	bandwidthFmt = "is for the bandwidth tools"
	latencyFmt   = "is for the latency tools"
	noReceives   = "is for the send tools: nothing is received here"
	fixedAtomic  = "the size of an atomic is 8 bytes: it cannot be changed"
)

// refusedFlags are the flags that a tool refuses, with its own reasons first.
func refusedFlags(tool Tool) []refusedFlag {
	var list []refusedFlag
	if tool.Latency {
		for _, f := range [][2]string{{"qp", "q"}, {"tx-depth", "t"}, {"cq-mod", "Q"}, {"post_list", "l"}, {"bidirectional", "b"},
			{"recv_post_list", ""}, {"reversed", ""}, {"threads", ""}, {"run_infinitely", ""}, {"mr_per_qp", ""}} {
			list = append(list, refusedFlag{f[0], f[1], oneMessage})
		}
		list = append(list, refusedFlag{"perform_warm_up", "", "is for the bandwidth tools of write, read and atomic"},
			refusedFlag{"disable_pcie_relaxed", "", bandwidthFmt})
		for _, f := range [][2]string{{"noPeak", "N"}, {"report_gbits", ""}, {"report-both", ""}, {"limit_bw", "w"}, {"limit_msgrate", "y"}} {
			list = append(list, refusedFlag{f[0], f[1], bandwidthFmt})
		}
	} else {
		list = append(list, refusedFlag{"report-histogram", "H", latencyFmt}, refusedFlag{"report-unsorted", "U", latencyFmt},
			refusedFlag{"perform_warm_up", "", "is for the tools of write, read and atomic"})
	}
	if tool.Verb != VerbSend {
		list = append(list, refusedFlag{"rx-depth", "r", noReceives}, refusedFlag{"recv_post_list", "", noReceives},
			refusedFlag{"use-srq", "", noReceives})
	}
	if tool.Verb == VerbWrite && tool.Latency {
		for _, name := range []string{"use_cuda", "use_cuda_bus_id", "use_cuda_dmabuf"} {
			list = append(list, refusedFlag{name, "", "goes with read_lat and send_lat, as in the C tools: a write is awaited by the processor, which does not see the GPU's memory"})
		}
	}
	if tool.Verb == VerbWrite {
		list = append(list, refusedFlag{"events", "e", "does not go with writes, as in the C tool: the peer gets no completion to sleep for"},
			refusedFlag{"vector", "X", "goes with -e, which does not go with writes"})
	}
	if tool.Verb.brings() {
		list = append(list, refusedFlag{"inline_size", "I", "does not go with reads and atomics, which bring data"})
	} else {
		list = append(list, refusedFlag{"outs", "o", "is for the tools of read and atomic"})
	}
	if tool.Verb == VerbAtomic {
		list = append(list, refusedFlag{"size", "s", fixedAtomic}, refusedFlag{"all", "a", fixedAtomic})
	} else {
		list = append(list, refusedFlag{"atomic_type", "A", "is for the atomic tools"})
	}
	// The first of a name counts.
	list = append(list, refusedAlways...)
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(f refusedFlag) bool {
		again := seen[f.long]
		seen[f.long] = true
		return again
	})
}

func (f refusedFlag) flag() *pflag.Flag {
	return &pflag.Flag{
		Name:      f.long,
		Shorthand: f.short,
		Hidden:    true,
		Value:     refusal(f.reason),
		// With a value of its own the flag never takes the next argument.
		NoOptDefVal: "true",
	}
}

// refusal is the value of a refused flag: why.
type refusal string

func (r refusal) Set(string) error { return command.ValueError(string(r)) }
func (r refusal) Type() string     { return "bool" }
func (r refusal) String() string   { return "" }
