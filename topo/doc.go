// Package topo knows which HCA, GPU, CPUs and memory of a machine belong
// together, and can say why. A wrong pairing costs a third of the speed of an
// all-reduce, and nothing reports it.
//
// # Concepts
//
// A System is a machine as it was read: a plain value of lists. NUMANode, GPU, HCA
// and Netdev are what people name; PCIDevice is every PCI function, with the
// bridge above it, its host bridge and its link. What is not known is nil or "",
// never zero: a NUMA node of 0 is a node, a missing one says why it is missing
// (NUMA.From).
//
// A Path is how two devices reach each other, in the words of nvidia-smi:
//
//	X     the device itself
//	NV#   # bonded NVLinks
//	PIX   one PCIe switch, or functions of one device
//	PXB   several switches
//	PHB   a host bridge
//	NODE  two host bridges of one NUMA node
//	SYS   two NUMA nodes
//
// NCCL counts differently, so NCCLPath is a type of its own: it has no NODE, and
// it takes the two levels of Broadcom's switches for one.
//
// A Choice is a device with its rank for another and its reasons. Several can be
// best: Plan spreads such ties over the ranks of a job. An Affinity is the NUMA
// node and the CPUs for the threads and buffers that serve a device. Each has
// Explain. A Warning is something that the machine's owner should know: a slot
// that runs x8, a mask that lost digits, ports that are down.
//
// # Where machines come from
//
// Live reads this machine, without rights and without cgo, in a container and in a
// virtual machine too; where a virtual machine shows no switches it says that it
// cannot tell. Read does the same below any root. What only NVML knows, NVLinks
// above all, comes in as plain values through ReadOptions.GPUs, which package
// fromnvml fills. Parse reads files: captures, NCCL's topology XML, hwloc's XML,
// and the text of lspci and nvidia-smi topo -m. Capture writes what a reading
// depends on as a text with everything that identifies the machine replaced; it is
// how a wrong answer is reported, and Parse reads it back.
//
// # Binding
//
// BindThread, BindProcess and BindMemory put a goroutine's thread, a process and a
// buffer where an Affinity says. The program topo of this module's examples starts
// ranks in such a way.
//
// # Ownership
//
// There is nothing to close: a System holds no file and no handle. The pointers in
// its lists belong to it, and an Endpoint is good for the System that it came
// from. A System that Read, Live or Parse returned does not change, and is safe
// for concurrent use. Code that builds one itself calls Finish, once.
//
// # A first program
//
//	s, err := topo.Live(topo.ReadOptions{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	for _, gpu := range s.GPUs {
//		for _, c := range s.HCAsFor(gpu) {
//			if c.Best {
//				fmt.Println(c.Explain())
//			}
//		}
//	}
//	for _, w := range s.Warnings {
//		fmt.Println(w.Device, w.Text)
//	}
package topo
