package perftest

// Tool is one program of the family: its name and the defaults in which it
// differs from the others.
type Tool struct {
	// Name is the program's name, "write_bw"; the C tool's is ib_ and this.
	Name string
	// Title names the test in the output.
	Title string
	// Summary is the line at the head of the help text.
	Summary string
	// Size is the default message size in bytes.
	Size int
	// Iterations is the default number of messages of each queue pair.
	Iterations int
	// TxDepth is the default depth of the send queue.
	TxDepth int
}

// WriteBW measures the bandwidth of RDMA writes.
var WriteBW = Tool{
	Name:       "write_bw",
	Title:      "RDMA_Write BW Test",
	Summary:    "Measure the bandwidth of RDMA writes.",
	Size:       65536,
	Iterations: 5000,
	TxDepth:    128,
}
