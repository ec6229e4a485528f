//go:build linux && cgo

package crdmacm

// #include "gf1_rsocket.h"
import "C"

import (
	"runtime"
	"syscall"
	"unsafe"
)

// What rsocket_values.go says is what the header says.
var (
	_ [0]struct{} = [SOL_RDMA - C.GF1_SOL_RDMA]struct{}{}
	_ [0]struct{} = [RDMA_SQSIZE - C.GF1_RDMA_SQSIZE]struct{}{}
	_ [0]struct{} = [RDMA_RQSIZE - C.GF1_RDMA_RQSIZE]struct{}{}
	_ [0]struct{} = [RDMA_INLINE - C.GF1_RDMA_INLINE]struct{}{}
	_ [0]struct{} = [RDMA_IOMAPSIZE - C.GF1_RDMA_IOMAPSIZE]struct{}{}
	_ [0]struct{} = [IOPage - C.GF1_RS_PAGE]struct{}{}
	_ [0]struct{} = [unsafe.Sizeof(PollFD{}) - C.sizeof_struct_pollfd]struct{}{}
)

// RSocket is an rsocket's descriptor. Its calls do not block, but for Shutdown and
// Close, which wait until what was sent has arrived.
type RSocket int32

// rsTable has the functions once rsockets has resolved them; the lock of load
// guards the making.
var rsTable *C.struct_gf1_rs

func rsockets() (*C.struct_gf1_rs, error) {
	if _, err := library(); err != nil {
		return nil, err
	}
	load.Lock()
	defer load.Unlock()
	if rsTable != nil {
		return rsTable, nil
	}
	table := new(C.struct_gf1_rs)
	if err := resolve(load.dl, unsafe.Pointer(&C.gf1_rs_names), nil, unsafe.Pointer(table)); err != nil {
		return nil, err
	}
	rsTable = table
	return table, nil
}

// OpenRSocket makes an rsocket of an address's family. A datagram rsocket must be
// bound before it is closed.
//
// Implements: rsocket, rfcntl.
func OpenRSocket(family *Sockaddr, kind int) (RSocket, error) {
	v, err := rsockets()
	if err != nil {
		return -1, err
	}
	var fd C.int
	rc := C.gf1_rs_open(v, C.int(family.family()), C.int(kind), &fd)
	return RSocket(fd), errno(rc)
}

func (s RSocket) Bind(addr *Sockaddr) error {
	return errno(C.gf1_rs_bind(rsTable, C.int(s), unsafe.Pointer(addr), C.int(addr.len())))
}

func (s RSocket) Listen(backlog int) error {
	return errno(C.gf1_rs_listen(rsTable, C.int(s), C.int(backlog)))
}

func (s RSocket) Accept() (RSocket, error) {
	var fd C.int
	rc := C.gf1_rs_accept(rsTable, C.int(s), &fd)
	return RSocket(fd), errno(rc)
}

func (s RSocket) Connect(addr *Sockaddr) error {
	return errno(C.gf1_rs_connect(rsTable, C.int(s), unsafe.Pointer(addr), C.int(addr.len())))
}

// Connected tells how a connecting in progress went; EAGAIN while it goes on.
func (s RSocket) Connected() error { return errno(C.gf1_rs_connected(rsTable, C.int(s))) }

func (s RSocket) Shutdown(how int) error {
	return errno(C.gf1_rs_shutdown(rsTable, C.int(s), C.int(how)))
}

func (s RSocket) Close() error { return errno(C.gf1_rs_close(rsTable, C.int(s))) }

func (s RSocket) Read(b []byte) (int, error) {
	var n C.size_t
	rc := C.gf1_rs_read(rsTable, C.int(s), unsafe.Pointer(unsafe.SliceData(b)), C.size_t(len(b)), &n)
	return int(n), errno(rc)
}

func (s RSocket) Peek(b []byte) (int, error) {
	var n C.size_t
	rc := C.gf1_rs_peek(rsTable, C.int(s), unsafe.Pointer(unsafe.SliceData(b)), C.size_t(len(b)), &n)
	return int(n), errno(rc)
}

func (s RSocket) Write(b []byte) (int, error) {
	var n C.size_t
	rc := C.gf1_rs_write(rsTable, C.int(s), unsafe.Pointer(unsafe.SliceData(b)), C.size_t(len(b)), &n)
	return int(n), errno(rc)
}

// mostVectors is how many buffers one Writev takes.
const mostVectors = 64

// Writev writes the buffers, at most 64 of them, none of them empty.
func (s RSocket) Writev(list [][]byte) (int, error) {
	var (
		pin  runtime.Pinner
		n    C.size_t
		vecs [mostVectors]C.struct_iovec
	)
	defer pin.Unpin()
	list = list[:min(len(list), mostVectors)]
	for i, b := range list {
		p := unsafe.SliceData(b)
		pin.Pin(p)
		vecs[i] = C.struct_iovec{iov_base: unsafe.Pointer(p), iov_len: C.size_t(len(b))}
	}
	rc := C.gf1_rs_writev(rsTable, C.int(s), &vecs[0], C.int(len(list)), &n)
	return int(n), errno(rc)
}

func (s RSocket) Send(b []byte) (int, error) {
	var n C.size_t
	rc := C.gf1_rs_send(rsTable, C.int(s), unsafe.Pointer(unsafe.SliceData(b)), C.size_t(len(b)), &n)
	return int(n), errno(rc)
}

func (s RSocket) RecvFrom(b []byte) (n int, from Sockaddr, err error) {
	var got C.size_t
	rc := C.gf1_rs_recvfrom(rsTable, C.int(s), unsafe.Pointer(unsafe.SliceData(b)), C.size_t(len(b)),
		unsafe.Pointer(&from), &got)
	return int(got), from, errno(rc)
}

func (s RSocket) SendTo(b []byte, to *Sockaddr) (int, error) {
	var n C.size_t
	rc := C.gf1_rs_sendto(rsTable, C.int(s), unsafe.Pointer(unsafe.SliceData(b)), C.size_t(len(b)),
		unsafe.Pointer(to), C.int(to.len()), &n)
	return int(n), errno(rc)
}

func (s RSocket) name(peer C.int) (addr Sockaddr, err error) {
	rc := C.gf1_rs_name(rsTable, C.int(s), peer, unsafe.Pointer(&addr))
	return addr, errno(rc)
}

func (s RSocket) LocalName() (Sockaddr, error) { return s.name(0) }

func (s RSocket) PeerName() (Sockaddr, error) { return s.name(1) }

func (s RSocket) SetOption(level, name, value int) error {
	return errno(C.gf1_rs_set(rsTable, C.int(s), C.int(level), C.int(name), C.int(value)))
}

func (s RSocket) Option(level, name int) (int, error) {
	var value C.int
	rc := C.gf1_rs_get(rsTable, C.int(s), C.int(level), C.int(name), &value)
	return int(value), errno(rc)
}

// IOMap lets the peer write to buf, which is not of the Go heap, at an offset.
func (s RSocket) IOMap(buf []byte, offset int64) error {
	rc := C.gf1_rs_iomap(rsTable, C.int(s), unsafe.Pointer(unsafe.SliceData(buf)), C.size_t(len(buf)), C.off_t(offset))
	return errno(rc)
}

func (s RSocket) IOUnmap(buf []byte) error {
	rc := C.gf1_rs_iounmap(rsTable, C.int(s), unsafe.Pointer(unsafe.SliceData(buf)), C.size_t(len(buf)))
	return errno(rc)
}

// IOWrite writes to what the peer mapped. 0 bytes say that nothing is mapped there.
func (s RSocket) IOWrite(b []byte, offset int64) (int, error) {
	var n C.size_t
	rc := C.gf1_rs_iowrite(rsTable, C.int(s), unsafe.Pointer(unsafe.SliceData(b)), C.size_t(len(b)), C.off_t(offset), &n)
	return int(n), errno(rc)
}

// RPoller waits for rsockets, in C and in the calling thread.
type RPoller struct {
	v            *C.struct_gf1_rs
	event, timer C.int
}

// NewRPoller makes the descriptors that end a Wait.
func NewRPoller() (*RPoller, error) {
	v, err := rsockets()
	if err != nil {
		return nil, err
	}
	p := &RPoller{v: v}
	if rc := C.gf1_rs_wakers(&p.event, &p.timer); rc != 0 {
		return nil, errno(rc)
	}
	return p, nil
}

// Own returns the entries of the poller's own descriptors, which a Wait needs.
func (p *RPoller) Own() [2]PollFD {
	return [2]PollFD{{FD: int32(p.event), Events: POLLIN}, {FD: int32(p.timer), Events: POLLIN}}
}

// Wait waits until an entry is ready: one of rsockets, or its own after Wake and
// Alarm.
func (p *RPoller) Wait(fds []PollFD) error {
	for {
		rc := C.gf1_rs_poll(p.v, (*C.struct_pollfd)(unsafe.Pointer(unsafe.SliceData(fds))), C.int(len(fds)))
		if err := errno(rc); err != syscall.EINTR {
			C.gf1_rs_drain(p.event)
			return err
		}
	}
}

// Wake ends the Wait that runs, or the next.
func (p *RPoller) Wake() { C.gf1_rs_wake(p.event) }

// Alarm ends a Wait after some milliseconds; 0 takes an alarm back.
func (p *RPoller) Alarm(ms int) { C.gf1_rs_alarm(p.timer, C.int(ms)) }

// Close closes the descriptors. No Wait may run.
func (p *RPoller) Close() {
	_ = syscall.Close(int(p.event))
	_ = syscall.Close(int(p.timer))
}
