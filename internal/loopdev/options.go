package loopdev

// DeviceOptions describes a device to add. The zero value of each field but the
// name is the documented default.
type DeviceOptions struct {
	// Name is "loop" and a number from 0 to 255.
	Name string
	// Ports is the number of ports, 1 to 8; 0 means 1.
	Ports int
	// InfiniBand makes the ports InfiniBand, with a LID and one GID; otherwise
	// they are RoCE, with a link-local and an IPv4 GID, each as v1 and v2.
	InfiniBand bool
}

// Refusal is a feature that the device does not have, and why.
type Refusal struct {
	Feature string
	Reason  string
}

// Refusals lists what the device refuses, with EOPNOTSUPP where the interface
// has a call for it.
func Refusals() []Refusal {
	const (
		noWire    = "there is no wire and no packet that could be looked at"
		noOffload = "it is an offload to hardware, which a copy in software would only pretend"
		onePath   = "there is one path between two ports"
	)
	return []Refusal{
		{"RSS and work queues", noWire},
		{"flow steering", noWire},
		{"raw packet queue pairs", noWire},
		{"tag matching", noOffload},
		{"device memory", noOffload},
		{"counters and timestamps", "they would measure the process, not a device"},
		{"alternate paths and path migration", onePath},
		{"XRC, RD and other transports", "RC, UC and UD are what is carried faithfully"},
		{"memory windows and invalidation", "keys are bound by registration only"},
		{"on-demand paging, zero-based regions", "memory is what the process has mapped at its address, or a GPU's"},
		{"resizing the queues of a queue pair", "the capability bit is not set"},
		{"partitions", "the only P_Key is the default one"},
	}
}
