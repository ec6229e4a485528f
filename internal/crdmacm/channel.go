//go:build linux && cgo

package crdmacm

// #include "gf1_cma.h"
import "C"

import (
	"syscall"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// Channel is an event channel (struct rdma_event_channel).
type Channel struct{ p unsafe.Pointer }

type rawEvent struct{ p unsafe.Pointer }

func errno(rc C.int) error {
	if rc == 0 {
		return nil
	}
	return syscall.Errno(rc)
}

func (ch Channel) c() *C.struct_gf1_cm_channel { return (*C.struct_gf1_cm_channel)(ch.p) }

// CreateChannel makes an event channel.
//
// Implements: rdma_create_event_channel.
func CreateChannel() (Channel, error) {
	v, err := library()
	if err != nil {
		return Channel{}, err
	}
	var ch *C.struct_gf1_cm_channel
	rc := C.gf1_cm_create_channel(v, &ch)
	return Channel{unsafe.Pointer(ch)}, errno(rc)
}

// FD returns the channel's descriptor, which the channel owns.
func (ch Channel) FD() int { return int(ch.c().fd) }

// Destroy closes the channel.
//
// Implements: rdma_destroy_event_channel.
func (ch Channel) Destroy() { C.gf1_cm_destroy_channel(load.table, ch.c()) }

// Next takes an event off the channel. On a channel that does not block, no
// event is EAGAIN. Each event taken must be acknowledged: destroying its id
// waits for that.
//
// Implements: rdma_get_cm_event.
func (ch Channel) Next() (Event, error) {
	var n C.struct_gf1_cm_news
	if rc := C.gf1_cm_next(load.table, ch.c(), &n); rc != 0 {
		return Event{}, errno(rc)
	}
	return Event{
		ID: ID{unsafe.Pointer(n.id)}, Listener: ID{unsafe.Pointer(n.listen_id)},
		Type: int32(n._type), Status: int32(n.status), Arg: uint64(n.arg),
		Datagram: n.datagram != 0,
		Param: ConnParam{
			PrivateData:        C.GoBytes(unsafe.Pointer(&n.private_data), C.int(n.private_len)),
			ResponderResources: uint8(n.responder_resources), InitiatorDepth: uint8(n.initiator_depth),
			FlowControl: n.flow_control != 0, RetryCount: uint8(n.retry_count),
			RNRRetryCount: uint8(n.rnr_retry_count), SRQ: n.srq != 0, QPNum: uint32(n.qp_num),
		},
		AH:   *(*cverbs.AHAttr)(unsafe.Pointer(&n.ah)),
		QKey: uint32(n.qkey),
		raw:  rawEvent{unsafe.Pointer(n.event)},
	}, nil
}

// Ack acknowledges an event that Next returned.
//
// Implements: rdma_ack_cm_event.
func (e Event) Ack() error {
	return errno(C.gf1_cm_ack(load.table, (*C.struct_gf1_cm_event)(e.raw.p)))
}

// EventString names an event as the library does.
//
// Implements: rdma_event_str.
func EventString(event int32) (string, error) {
	v, err := library()
	if err != nil {
		return "", err
	}
	return C.GoString(C.gf1_cm_event_str(v, C.int(event))), nil
}

// Devices lists the names of the devices that the connection manager can use.
// It opens them, for good.
//
// Implements: rdma_get_devices, rdma_free_devices.
func Devices() ([]string, error) {
	v, err := library()
	if err != nil {
		return nil, err
	}
	var list **C.struct_gf1_context
	var n C.int
	if rc := C.gf1_cm_get_devices(v, &list, &n); rc != 0 {
		return nil, errno(rc)
	}
	defer C.gf1_cm_free_devices(v, list)
	var names []string
	for _, ctx := range unsafe.Slice(list, int(n)) {
		names = append(names, C.GoString(&ctx.device.name[0]))
	}
	return names, nil
}
