//go:build !linux || !cgo

package cverbs

import (
	"errors"
	"fmt"
	"unsafe"
)

// errBuild is what every verb answers in a build that cannot reach libibverbs.
// Nothing but OpenDevice, CountDevices and LibraryPath can be reached without
// it, since no handle exists.
var errBuild = fmt.Errorf("this program was built without cgo for linux: %w", errors.ErrUnsupported)

// Handles of C objects; in this build none is ever made.
type (
	// Context is an opened device.
	Context struct{}
	// PD is a protection domain.
	PD struct{}
	// MR is a memory region.
	MR struct{}
	// Channel is a completion channel.
	Channel struct{}
	// CQ is a completion queue.
	CQ struct{}
	// QP is a queue pair.
	QP struct{}
	// SRQ is a shared receive queue.
	SRQ struct{}
	// AH is an address handle.
	AH struct{}
	// AsyncEvent is something that happened to an object or to the device.
	AsyncEvent struct{}
)

func LibraryPath() (string, error)                          { return "", errBuild }
func CountDevices() (int, error)                            { return 0, errBuild }
func OpenDevice(string) (Context, error)                    { return Context{}, errBuild }
func (Context) Close() error                                { return errBuild }
func (Context) Vectors() int                                { return 0 }
func (Context) QueryDevice() (DeviceAttr, error)            { return DeviceAttr{}, errBuild }
func (Context) QueryPort(uint8) (PortAttr, error)           { return PortAttr{}, errBuild }
func (Context) QueryGIDTable(int) ([]GIDEntry, error)       { return nil, errBuild }
func (Context) AllocPD() (PD, error)                        { return PD{}, errBuild }
func (PD) Dealloc() error                                   { return errBuild }
func (PD) RegMR(unsafe.Pointer, int, uint32) (MR, error)    { return MR{}, errBuild }
func (MR) Keys() (lkey, rkey uint32)                        { return 0, 0 }
func (MR) Dereg() error                                     { return errBuild }
func (Context) CreateChannel() (Channel, error)             { return Channel{}, errBuild }
func (Channel) FD() int                                     { return -1 }
func (Channel) NextEvent() (CQ, error)                      { return CQ{}, errBuild }
func (Channel) Destroy() error                              { return errBuild }
func (Context) CreateCQ(int, Channel, int) (CQ, error)      { return CQ{}, errBuild }
func (CQ) Size() int                                        { return 0 }
func (CQ) AckEvents(int) error                              { return errBuild }
func (CQ) Destroy() error                                   { return errBuild }
func (CQ) Poll(*WC, int) (int, error)                       { return 0, errBuild }
func (CQ) Spin(*WC, int, int) (int, error)                  { return 0, errBuild }
func (CQ) Arm(bool) error                                   { return errBuild }
func (PD) CreateQP(CQ, CQ, int32, *QPCap, bool) (QP, error) { return QP{}, errBuild }
func (QP) Num() uint32                                      { return 0 }
func (QP) Modify(*QPAttr, uint32) error                     { return errBuild }
func (QP) Query(uint32) (QPAttr, error)                     { return QPAttr{}, errBuild }
func (QP) Destroy() error                                   { return errBuild }
func (QP) PostSend(*SendWR, int) Posted                     { return Posted{} }
func (QP) PostRecv(*RecvWR, int) Posted                     { return Posted{} }
func (QP) PostAndPoll(*SendWR, int, CQ, *WC, int) Posted    { return Posted{} }
func NewQueue(int) (*Queue, error)                          { return nil, errBuild }
func (q *Queue) Leave()                                     {}
func (q *Queue) Renew() error                               { return errBuild }
func (q *Queue) Free()                                      {}
func Alloc(uintptr) unsafe.Pointer                          { return nil }
func Free(unsafe.Pointer)                                   {}
