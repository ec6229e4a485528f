package cnccl

// Op is one recorded operation, in C memory (struct gf1_nccl_op). Function says
// which; the other fields mean what the function needs them for. Pointers are
// plain numbers: all of them point outside the Go heap.
type Op struct {
	Send       uint64
	Recv       uint64
	Count      uint64
	Offset     uint64 // in the peer's window, in bytes
	Comm       uint64
	Context    uint64 // CUcontext of the communicator's device
	Stream     uint64
	Handle     uint64 // a window, or a registration
	Slot       uint64
	Function   int32
	Type       int32
	Reduction  int32
	Peer       int32 // or root, rank, color
	Signal     int32 // or key, or the number of ranks
	RMAContext int32
	Flags      uint32
	Waits      int32 // first of the op's waits in the batch
	WaitCount  int32
	Code       int32 // answered
}

// Member is a communicator that takes part in a batch (struct
// gf1_nccl_member).
type Member struct {
	Comm    uint64
	Slot    uint64 // where the communicator will appear, if Comm is 0
	Context uint64
	Code    int32 // its state when last asked
	_       int32
}

// Wait says how many signals to wait for, and whose (struct gf1_nccl_wait).
type Wait struct {
	Count   int32
	Peer    int32
	Signal  int32
	Context int32
}

// Modes of a batch.
const (
	Alone    = 0 // the operations one by one, until one fails
	Group    = 1
	Simulate = 2
)

// What a call can answer besides NCCL's own results.
const (
	Success    = 0
	InProgress = 7
	// Missing: the library lacks the function.
	Missing = -1
	// NotCalled: the CUDA context could not be entered.
	NotCalled = -2
)

// Config is what a communicator is made with. A nil pointer, an empty string
// and Undefined leave the choice to NCCL.
type Config struct {
	Blocking, CGACluster, MinCTAs, MaxCTAs int32
	SplitShare, TrafficClass               int32
	CollNet, CTAPolicy, ShrinkShare        int32
	NVLSCTAs, NetChannels, NVLinkCentral   int32
	GraphUsage, RMAContexts, MaxP2PPeers   int32
	GraphOrdering                          int32
	NetName, CommName                      string
}

// Undefined is the value of a setting that was not made.
const Undefined = -1 << 31

// Properties is what the library says of a communicator.
type Properties struct {
	Rank, Ranks, CUDADevice, NVMLDevice int
	DeviceAPI, Multimem                 bool
	GIN                                 int
	// Later says whether the library filled the fields below (2.29.7).
	Later     bool
	LSATeams  int
	HostRMA   bool
	RailedGIN int
}

// Function is a function of libnccl and the release that brings it, encoded as
// ncclGetVersion does.
type Function struct {
	Name  string
	Since int
}
