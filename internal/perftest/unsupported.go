package perftest

import (
	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
)

// unsupportedFlag is a flag of the C tools that we refuse by name, so that a
// command line of theirs fails with a reason rather than as a misspelling.
type unsupportedFlag struct{ long, short string }

// unsupported lists the flags of ib_write_bw, of 4.5 and newer.
var unsupported = []unsupportedFlag{
	{"bidirectional", "b"}, {"connection", "c"}, {"qp", "q"}, {"post_list", "l"}, {"inline_size", "I"},
	{"rdma_cm", "R"}, {"com_rdma_cm", "z"}, {"comm_rdma_cm", ""}, {"dualport", "O"}, {"sl", "S"}, {"tos", "T"},
	{"qp-timeout", "u"}, {"rx-depth", "r"}, {"events", "e"}, {"vector", "X"}, {"hop_limit", "L"},
	{"limit_bw", "w"}, {"limit_msgrate", "y"}, {"report-counters", "W"},
	{"recv_post_list", ""}, {"report-both", ""}, {"report-per-port", ""}, {"reversed", ""}, {"run_infinitely", ""},
	{"output", ""}, {"out_json", ""}, {"out_json_file", ""}, {"cpu_util", ""}, {"use-srq", ""}, {"mr_per_qp", ""},
	{"odp", ""}, {"use_hugepages", ""}, {"mmap", ""}, {"mmap-offset", ""}, {"pkey_index", ""}, {"dlid", ""},
	{"force-link", ""}, {"ipv6", ""}, {"ipv6-addr", ""}, {"source_ip", ""}, {"bind_source_ip", ""},
	{"perform_warm_up", ""}, {"rate_limit", ""}, {"rate_units", ""}, {"rate_limit_type", ""}, {"burst_size", ""},
	{"typical_pkt_size", ""}, {"wait_destroy", ""}, {"disable_pcie_relaxed", ""}, {"use_old_post_send", ""},
	{"inline_recv", ""}, {"flow_label", ""}, {"dont_xchg_versions", ""}, {"retry_count", ""}, {"tclass", ""},
	{"log_dci_streams", ""}, {"log_active_dci_streams", ""}, {"aes_xts", ""},
	{"use_cuda", ""}, {"use_cuda_bus_id", ""}, {"use_cuda_dmabuf", ""}, {"use_cuda_pcie_mapping", ""},
	{"use_data_direct", ""}, {"cuda_mem_type", ""}, {"gpu_touch", ""}, {"use_rocm", ""},
	{"write_with_imm", ""}, {"no_enhanced_reorder", ""}, {"sig_offload", ""}, {"data_validation", ""},
	{"use-null-mr", ""}, {"cqe_poll", ""}, {"disable_dynamic_polling", ""}, {"connectionless", ""},
	{"pin_cores", ""}, {"numa_node", ""}, {"disable_numa", ""}, {"payload_file_path", ""}, {"no_lock", ""},
}

func (u unsupportedFlag) flag() *pflag.Flag {
	return &pflag.Flag{
		Name:      u.long,
		Shorthand: u.short,
		Hidden:    true,
		Value:     refused{},
		// With a value of its own the flag never takes the next argument.
		NoOptDefVal: "true",
	}
}

// refused is the value of an unsupported flag.
type refused struct{}

func (refused) Set(string) error {
	return command.ValueError("this flag of the C tool is not supported yet by this tool")
}
func (refused) Type() string   { return "bool" }
func (refused) String() string { return "" }
