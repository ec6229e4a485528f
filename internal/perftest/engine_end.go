package perftest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/gofabric/gofabric/internal/stats"
	"github.com/gofabric/gofabric/verbs"
)

// end is the local end of a run: an open device and what is made on it.
type end struct {
	config *Config
	op     operation

	info verbs.DeviceInfo
	port verbs.PortInfo
	attr verbs.PortAttr
	gid  *verbs.GIDChoice // nil where no GID is used
	dev  *verbs.Device

	layout layout
	mr     *verbs.MR
	cq     *verbs.CQ
	qp     *verbs.QP
	key    Key
}

// openEnd opens the device and checks all that needs no peer.
func openEnd(config *Config, op operation) (*end, error) {
	e := &end{config: config, op: op}
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
	return e, nil
}

var errNoDevice = errors.New("this machine has no RDMA device that verbs can open; load its driver, or make a " +
	"software device: modprobe rdma_rxe && rdma link add rxe0 type rxe netdev INTERFACE")

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
	attr := e.dev.Attributes()
	if c.TxDepth > attr.MaxQPWR || c.TxDepth+cqSpare > attr.MaxCQE {
		return fmt.Errorf("%s allows -t up to %d", e.dev.Name(), min(attr.MaxQPWR, attr.MaxCQE-cqSpare))
	}
	if most := e.attr.MaxMsgSize; most > 0 && uint64(c.Size) > uint64(most) {
		return fmt.Errorf("%s port %d takes messages of up to %d bytes: lower -s", e.dev.Name(), c.IBPort, most)
	}
	return e.chooseGID()
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

// cqSpare is how many completions there can be besides those of the sends:
// those of the one receive, and of what closing the queue pair posts.
const cqSpare = 3

// build makes the memory and the queue pair, once both sides have agreed.
func (e *end) build(agreed Agreement) error {
	pd, err := e.dev.AllocPD()
	if err != nil {
		return err
	}
	e.layout = newLayout(e.config.Size, agreed)
	if err := e.register(pd); err != nil {
		return err
	}
	fill(e.mr.Bytes())
	if e.cq, err = e.dev.CreateCQ(verbs.CQOptions{Depth: e.config.TxDepth + cqSpare}); err != nil {
		return err
	}
	opts := verbs.QPOptions{
		SendCQ: e.cq, RecvCQ: e.cq,
		MaxSend: e.config.TxDepth, MaxRecv: 1,
		Port:   e.config.IBPort,
		Access: e.op.access,
	}
	if e.gid != nil {
		opts.GIDIndex = &e.gid.Index
	}
	if e.qp, err = pd.CreateQP(opts); err != nil {
		return err
	}
	return e.fillKey()
}

// register allocates the memory, with relaxed PCIe ordering as perftest asks
// for it, where the device and its library know that.
func (e *end) register(pd *verbs.PD) (err error) {
	access := e.op.access | verbs.AccessRelaxedOrdering
	e.mr, err = pd.AllocMR(e.layout.total(), verbs.MROptions{Access: access})
	if errors.Is(err, verbs.ErrNotSupported) {
		e.mr, err = pd.AllocMR(e.layout.total(), verbs.MROptions{Access: e.op.access})
	}
	return err
}

// relaxed reports whether the memory has relaxed ordering.
func (e *end) relaxed() bool { return e.mr.Access()&verbs.AccessRelaxedOrdering != 0 }

// fill makes the memory random, so that no link gains by compressing it.
func fill(b []byte) {
	var seed [32]byte
	_, _ = rand.NewChaCha8(seed).Read(b) // it never fails
}

func (e *end) fillKey() error {
	own, err := e.qp.Endpoint()
	if err != nil {
		return err
	}
	offered := e.mr.Remote().At(uint64(e.layout.offered()), uint64(e.layout.slot))
	e.key = Key{LID: own.LID, OutReads: 1, QPN: own.QPN, PSN: own.PSN, RKey: offered.RKey, VAddr: offered.Addr}
	if e.gid != nil {
		gid := GID(own.GID)
		e.key.GID = &gid
	}
	return nil
}

// connect brings the queue pair to RTR, and to RTS if this side sends, with
// perftest's parameters.
func (e *end) connect(peer Key, mtu MTU, sends bool) error {
	remote := verbs.Endpoint{QPN: peer.QPN, PSN: peer.PSN, LID: peer.LID, MTU: verbs.MTU(mtu), MaxReads: uint8(min(peer.OutReads, 255))}
	if peer.GID != nil {
		remote.GID = verbs.GID(*peer.GID)
	}
	opts := verbs.ConnectOptions{
		MTU:         verbs.MTU(mtu),
		Timeout:     14,
		Retries:     7,
		RNRRetries:  verbs.InfiniteRNRRetry,
		MinRNRTimer: 12,
		MaxReads:    1,
		HopLimit:    255,
	}
	if err := e.qp.Init(); err != nil {
		return err
	}
	if err := e.qp.RTR(remote, opts); err != nil || !sends {
		return err
	}
	return e.qp.RTS(remote, opts)
}

// traffic returns the sending side, to the peer of that key.
func (e *end) traffic(peer Key, agreed Agreement) (*traffic, error) {
	c := e.config
	t := &traffic{
		op: e.op, batch: e.qp.SendBatch(), cq: e.cq, mr: e.mr, agreed: agreed,
		remote:     verbs.RemoteBuffer{Addr: peer.VAddr, RKey: peer.RKey, Len: uint64(e.layout.slot)},
		depth:      c.TxDepth,
		moderation: c.CQModeration,
		iterations: c.Iterations,
		peak:       c.Peak,
	}
	if c.Duration == 0 {
		return t, nil
	}
	var err error
	t.window, err = stats.NewWindow(c.Duration, c.Margin)
	return t, err
}

func (e *end) close() error { return e.dev.CloseAll() }
