package verbs

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// FlowKind says which packets a rule is about (enum ibv_flow_attr_type).
type FlowKind int32

// Kinds of rules.
const (
	FlowNormal           FlowKind = cverbs.IBV_FLOW_ATTR_NORMAL      // those that its specifications name
	FlowDefault          FlowKind = cverbs.IBV_FLOW_ATTR_ALL_DEFAULT // all that no other rule takes
	FlowMulticastDefault FlowKind = cverbs.IBV_FLOW_ATTR_MC_DEFAULT  // all multicast that no other rule takes
	FlowSniffer          FlowKind = cverbs.IBV_FLOW_ATTR_SNIFFER     // a copy of everything
)

// FlowFlags change what a rule does (enum ibv_flow_flags).
type FlowFlags uint32

// Flags of rules.
const (
	FlowDontTrap FlowFlags = cverbs.IBV_FLOW_ATTR_FLAGS_DONT_TRAP // rules of lower priority see the packet too
	FlowEgress   FlowFlags = cverbs.IBV_FLOW_ATTR_FLAGS_EGRESS    // for packets that leave
)

// FlowRule says which packets go to a queue pair.
type FlowRule struct {
	Kind FlowKind
	// Priority orders rules: 0 comes first.
	Priority uint16
	Flags    FlowFlags
	// Specs must all hold, from the outer header inwards: FlowEth, FlowIPv4,
	// FlowIPv4Ext, FlowIPv6, FlowTCP, FlowUDP, FlowESP, FlowVXLAN, FlowGRE,
	// FlowMPLS; and what is to be done besides: FlowTag, FlowDrop.
	Specs []FlowSpec
}

// Flow is a rule that steers packets to a queue pair.
type Flow struct {
	obj  life.Object
	qp   *QP
	flow cverbs.Flow
}

// CreateFlow adds a rule that steers packets of the queue pair's port to it. It
// fails with ErrNotSupported where the device has no steering.
//
// Implements: ibv_create_flow.
func (qp *QP) CreateFlow(rule FlowRule) (*Flow, error) {
	const op = "create flow"
	if err := qp.obj.Use(); err != nil {
		return nil, qp.err(op, err)
	}
	defer qp.obj.Done()
	raw, err := rule.encode(uint8(qp.opts.Port))
	if err != nil {
		return nil, qp.err(op, err)
	}
	f := &Flow{qp: qp}
	if f.flow, err = qp.qp.CreateFlow(raw); err != nil {
		return nil, qp.err(op, err)
	}
	life.Enter(&f.obj, f, fmt.Sprintf("flow to QP 0x%06x", qp.num), &qp.obj)
	return f, nil
}

// encode lays the rule out as struct ibv_flow_attr with what follows it.
func (r *FlowRule) encode(port uint8) ([]byte, error) {
	const most = 255
	if len(r.Specs) > most {
		return nil, fmt.Errorf("%d specifications: it takes %d", len(r.Specs), most)
	}
	rule := make([]byte, cverbs.FlowAttrLen)
	for i, s := range r.Specs {
		if v := reflect.ValueOf(s); s == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, fmt.Errorf("specification %d is missing", i)
		}
		raw, err := s.spec()
		if err != nil {
			return nil, fmt.Errorf("specification %d: %w", i, err)
		}
		rule = append(rule, raw...)
	}
	*(*cverbs.FlowAttr)(unsafe.Pointer(&rule[0])) = cverbs.FlowAttr{
		Type: int32(r.Kind), Size: uint16(len(rule)), Priority: r.Priority, NumSpecs: uint8(len(r.Specs)),
		Port: port, Flags: uint32(r.Flags),
	}
	return rule, nil
}

// Close takes the rule away.
//
// Implements: ibv_destroy_flow.
func (f *Flow) Close() error {
	if err := f.obj.Close(f.flow.Destroy); err != nil {
		return f.qp.err("destroy flow", err)
	}
	return nil
}

// CloseAll is Close: nothing hangs on a rule.
func (f *Flow) CloseAll() error { return f.Close() }
