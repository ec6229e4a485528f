package nvml

// Process is a process that holds memory of a GPU. A process that holds
// contexts of several kinds stands once.
type Process struct {
	// PID is the process id as the kernel driver knows it. In a container with
	// a process namespace of its own that is not the id that the container
	// sees, and other containers' processes are listed or not at the driver's
	// discretion.
	PID int `json:"pid"`
	// Memory is what the process holds of the GPU's memory in bytes; nil where
	// the driver does not tell.
	Memory *uint64 `json:"memory,omitempty"`
	// Name is the program's path; empty where it may not be seen.
	Name     string `json:"name,omitempty"`
	Compute  bool   `json:"compute,omitempty"`  // it holds a CUDA context
	Graphics bool   `json:"graphics,omitempty"` // it holds a graphics context
	MPS      bool   `json:"mps,omitempty"`      // it is a client of the MPS server
	// GPUInstance and ComputeInstance name the MIG device that it runs on; nil
	// without MIG.
	GPUInstance     *int `json:"gpu_instance,omitempty"`
	ComputeInstance *int `json:"compute_instance,omitempty"`
}
