package perftest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gofabric/gofabric/verbs"
)

// end is the local end of a run: an open device and what is made on it.
type end struct {
	config *Config
	link   link
	memory memory

	info   verbs.DeviceInfo
	port   verbs.PortInfo
	attr   verbs.PortAttr
	gid    *verbs.GIDChoice // nil where no GID is used
	dev    *verbs.Device
	inline int // largest message that is sent inline
	reads  int // reads and atomics under way at once

	layout layout
	lanes  []*lane
	pairs  []*pair // of all lanes
	keys   []Key   // the pairs'
	// relaxed reports whether the memory has relaxed ordering.
	relaxed bool
}

// openEnd opens the device and checks all that needs no peer.
func openEnd(config *Config, link link) (*end, error) {
	e := &end{config: config, link: link}
	name, err := e.deviceName()
	if err != nil {
		return nil, err
	}
	if e.dev, err = verbs.Open(name); err != nil {
		return nil, err
	}
	if err := e.check(); err != nil {
		return nil, errors.Join(err, e.dev.Close())
	}
	if e.memory, err = newMemory(config.Memory); err != nil {
		return nil, errors.Join(err, e.dev.Close())
	}
	return e, nil
}

var errNoDevice = errors.New("this machine has no RDMA device that verbs can open; load its driver, make a " +
	"software device (modprobe rdma_rxe && rdma link add rxe0 type rxe netdev INTERFACE), or try -d loop0, which is one inside the process")

// deviceName is the device asked for, or the first one.
func (e *end) deviceName() (string, error) {
	if e.config.Device != "" {
		return e.config.Device, nil
	}
	devices, err := verbs.Devices()
	if err != nil {
		return "", err
	}
	for _, d := range devices {
		if d.Uverbs != "" {
			return d.Name, nil
		}
	}
	return "", errNoDevice
}

func (e *end) check() (err error) {
	c := e.config
	if e.attr, err = e.dev.Port(c.IBPort); err != nil {
		return err
	}
	if e.info, err = e.dev.Info(); err != nil {
		return err
	}
	e.port, _ = e.info.Port(c.IBPort)
	if err := e.checkState(); err != nil {
		return err
	}
	c.limitSize(e.host().MTU.Bytes())
	if err := e.checkDepths(); err != nil {
		return err
	}
	if most := e.attr.MaxMsgSize; most > 0 && uint64(c.Size) > uint64(most) {
		return fmt.Errorf("%s port %d takes messages of up to %d bytes: lower -s", e.dev.Name(), c.IBPort, most)
	}
	if c.Tool.Verb == VerbAtomic && e.dev.Attributes().AtomicCap == verbs.AtomicNone {
		return fmt.Errorf("%s has no atomics: %w", e.dev.Name(), verbs.ErrNotSupported)
	}
	e.inline = e.inlineLimit()
	e.reads = 1
	if c.Tool.Verb.brings() {
		if e.reads, err = e.outReads(); err != nil {
			return err
		}
	}
	return e.chooseGID()
}

// checkDepths compares the depths with what the device allows.
func (e *end) checkDepths() error {
	c, attr, name := e.config, e.dev.Attributes(), e.dev.Name()
	if most := attr.MaxQP; most > 0 && c.QueuePairs > most {
		return fmt.Errorf("%s allows -q up to %d", name, most)
	}
	if c.TxDepth > attr.MaxQPWR {
		return fmt.Errorf("%s allows -t up to %d", name, attr.MaxQPWR)
	}
	if c.RxDepth > attr.MaxQPWR {
		return fmt.Errorf("%s allows -r up to %d", name, attr.MaxQPWR)
	}
	if c.SharedReceive && c.RxDepth > attr.MaxSRQWR {
		return fmt.Errorf("%s allows -r up to %d with --use-srq", name, attr.MaxSRQWR)
	}
	perLane := (c.QueuePairs + c.lanes() - 1) / c.lanes()
	if c.cqDepth(perLane) > attr.MaxCQE {
		return fmt.Errorf("%s allows %d requests of all queue pairs together: lower -q, -t or -r", name, attr.MaxCQE)
	}
	return nil
}

// checkState refuses a port that moves no data.
func (e *end) checkState() error {
	if e.attr.State == verbs.PortActive {
		return nil
	}
	what := "InfiniBand needs a cable and a subnet manager that runs on the fabric"
	if e.attr.LinkLayer == verbs.LinkLayerEthernet {
		what = "set its network interface up (ip link set dev INTERFACE up)"
		if e.port.Netdev != "" {
			what = fmt.Sprintf("set its network interface up (ip link set dev %s up)", e.port.Netdev)
		}
	}
	return fmt.Errorf("%s port %d is in state %v and moves no data: %s", e.dev.Name(), e.config.IBPort, e.attr.State, what)
}

// chooseGID decides on the local GID. On InfiniBand there is one only if it was
// asked for, as in the C tools.
func (e *end) chooseGID() error {
	var (
		choice verbs.GIDChoice
		err    error
	)
	switch {
	case e.config.GIDIndex != nil:
		choice, err = verbs.ChooseGIDIndex(e.port, *e.config.GIDIndex)
	case e.config.IPv6:
		choice, err = e.chooseIPv6()
	case e.attr.LinkLayer == verbs.LinkLayerEthernet:
		choice, err = verbs.ChooseGID(e.port)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	e.gid = &choice
	return nil
}

// chooseIPv6 takes the GID that would be the best without those of IPv4.
func (e *end) chooseIPv6() (verbs.GIDChoice, error) {
	port := e.port
	port.GIDs = nil
	for _, g := range e.port.GIDs {
		if !g.GID.IsIPv4Mapped() {
			port.GIDs = append(port.GIDs, g)
		}
	}
	return verbs.ChooseGID(port)
}

// outReads is how many reads and atomics may be under way.
func (e *end) outReads() (int, error) {
	attr := e.dev.Attributes()
	most := min(attr.MaxQPReads, attr.MaxQPInitReads, 255)
	if e.config.OutReads == nil {
		return most, nil
	}
	if *e.config.OutReads > most {
		return 0, fmt.Errorf("%s allows -o up to %d", e.dev.Name(), most)
	}
	return *e.config.OutReads, nil
}

// host is what the prologue tells the peer. An MTU above the port's is lowered
// to it.
func (e *end) host() Host {
	h := Host{PageSize: os.Getpagesize(), CacheLine: cacheLine(), MTU: MTU(e.attr.ActiveMTU)}
	if m := e.config.MTU; m != nil {
		h.MTU = min(h.MTU, *m)
	}
	return h
}

const cacheLineFile = "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size"

// cacheLine returns the length of a line of the first-level data cache, and
// perftest's default of 64 bytes where the kernel does not tell.
func cacheLine() int {
	text, err := os.ReadFile(cacheLineFile)
	if err != nil {
		return 64
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || n < 1 || n > maxCacheLine {
		return 64
	}
	return n
}

func (e *end) close() error { return errors.Join(e.link.close(), e.dev.CloseAll(), e.memory.close()) }
