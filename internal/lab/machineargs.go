package lab

import (
	"fmt"
	"strconv"
	"strings"
)

// args are QEMU's for the machine, in place of its default one with -smp and -m.
func (m Machine) args() []string {
	b := &machineArgs{}
	b.add("-M", "q35", "-m", fmt.Sprint(m.memory()), "-smp", m.smp())
	first := 0
	for i, n := range m.Nodes {
		b.add("-object", fmt.Sprintf("memory-backend-ram,id=mem%d,size=%dM", i, n.MemoryMiB))
		node := fmt.Sprintf("node,nodeid=%d,memdev=mem%d", i, i)
		if n.CPUs > 0 {
			node += fmt.Sprintf(",cpus=%d-%d", first, first+n.CPUs-1)
			first += n.CPUs
		}
		b.add("-numa", node)
	}
	bus := busStep
	for i, r := range m.Roots {
		id := fmt.Sprintf("root%d", i)
		device := fmt.Sprintf("pxb-pcie,id=%s,bus=pcie.0,bus_nr=%d", id, bus)
		if r.Node != nil {
			device += fmt.Sprintf(",numa_node=%d", *r.Node)
		}
		b.add("-device", device)
		b.ports(id, "pcie-root-port", r.Ports)
		bus += (busesOf(r.Ports)/busStep + 1) * busStep
	}
	return b.args
}

// busStep is how far apart the host bridges' bus numbers are at least: round
// numbers are easier to read in the guest.
const busStep = 16

// busesOf counts the buses behind ports: one each, and one inside each switch.
func busesOf(ports []MachinePort) int {
	n := len(ports)
	for _, p := range ports {
		if p.Switch != nil {
			n += 1 + busesOf(p.Switch)
		}
	}
	return n
}

// smp gives each node with CPUs a socket where they are alike, because kernels
// do not expect the cores of a socket on two nodes; otherwise each CPU has one.
func (m Machine) smp() string {
	total, sockets, cores := m.cpus(), 0, 0
	for _, n := range m.Nodes {
		if n.CPUs == 0 {
			continue
		}
		if cores != 0 && n.CPUs != cores {
			return fmt.Sprintf("%d,sockets=%d,cores=1,threads=1", total, total)
		}
		sockets, cores = sockets+1, n.CPUs
	}
	return fmt.Sprintf("%d,sockets=%d,cores=%d,threads=1", total, sockets, cores)
}

type machineArgs struct {
	args  []string
	count int // ports, for ids and chassis numbers
	nics  int
}

func (b *machineArgs) add(args ...string) { b.args = append(b.args, args...) }

func (b *machineArgs) ports(bus, kind string, ports []MachinePort) {
	for _, p := range ports {
		b.count++
		id := fmt.Sprintf("port%d", b.count)
		device := fmt.Sprintf("%s,id=%s,bus=%s,chassis=%d,slot=%d", kind, id, bus, b.count, b.count)
		if p.Speed != 0 {
			device += ",x-speed=" + strings.ReplaceAll(strconv.FormatFloat(p.Speed, 'f', -1, 64), ".", "_")
		}
		if p.Width != 0 {
			device += fmt.Sprintf(",x-width=%d", p.Width)
		}
		b.add("-device", device)
		if p.Switch != nil {
			b.add("-device", fmt.Sprintf("x3130-upstream,id=switch%d,bus=%s", b.count, id))
			b.ports(fmt.Sprintf("switch%d", b.count), "xio3130-downstream", p.Switch)
			continue
		}
		// One hub joins all NICs. Without a ROM the firmware does not look for
		// something to boot there.
		b.add("-netdev", fmt.Sprintf("hubport,id=net%d,hubid=0", b.nics),
			"-device", fmt.Sprintf("%s,netdev=net%d,bus=%s,mac=%s,romfile=", nicModels[p.model()].device, b.nics, id, nicMAC(b.nics)))
		b.nics++
	}
}

func nicMAC(i int) string { return fmt.Sprintf("02:00:00:00:02:%02x", i) }

// stagedNIC is a NIC of a Machine as the guest's init has to set it up.
type stagedNIC struct{ Name, MAC, Address string }

func (m Machine) staged() []stagedNIC {
	var out []stagedNIC
	for i, n := range m.nics() {
		out = append(out, stagedNIC{n.name, nicMAC(i), fmt.Sprintf("10.0.0.%d", i+1)})
	}
	return out
}
