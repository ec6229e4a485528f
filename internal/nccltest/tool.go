package nccltest

// Tool is one program of the family.
type Tool struct {
	// Name is the program's name, which the C tool has too.
	Name string
	// Summary is the line at the head of the help text.
	Summary    string
	collective *collective
}

// The programs.
var (
	AllReduce     = Tool{"all_reduce_perf", "Time NCCL's all-reduce.", &allReduce}
	AllGather     = Tool{"all_gather_perf", "Time NCCL's all-gather.", &allGather}
	ReduceScatter = Tool{"reduce_scatter_perf", "Time NCCL's reduce-scatter.", &reduceScatter}
	Broadcast     = Tool{"broadcast_perf", "Time NCCL's broadcast.", &broadcast}
	Reduce        = Tool{"reduce_perf", "Time NCCL's reduce.", &reduce}
	AllToAll      = Tool{"alltoall_perf", "Time NCCL's all-to-all.", &allToAll}
	AllToAllV     = Tool{"alltoallv_perf", "Time an all-to-all with a different size for each pair of ranks.", &allToAllV}
	SendRecv      = Tool{"sendrecv_perf", "Time a ring of NCCL's sends and receives.", &sendRecv}
	Gather        = Tool{"gather_perf", "Time NCCL's gather.", &gather}
	Scatter       = Tool{"scatter_perf", "Time NCCL's scatter.", &scatter}
	HyperCube     = Tool{"hypercube_perf", "Time an all-gather by sends along a hypercube.", &hyperCube}
)

// Tools lists all programs.
func Tools() []Tool {
	return []Tool{AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AllToAll, AllToAllV, SendRecv, Gather, Scatter, HyperCube}
}
