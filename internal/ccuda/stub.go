//go:build !linux || !cgo

package ccuda

import (
	"errors"
	"fmt"
	"unsafe"
)

// errBuild is what opening answers in a build that cannot reach libcuda. The
// rest cannot be reached without it, since no context exists.
var errBuild = fmt.Errorf("this program was built without cgo for linux: %w", errors.ErrUnsupported)

// Device is a CUdevice.
type Device int32

func Library() (string, int, error)            { return "", 0, errBuild }
func Init() (Result, error)                    { return 0, errBuild }
func (Result) Missing() error                  { return errBuild }
func (Result) Text() (name, text string)       { return "", "" }
func EnterLeave() (_, _ unsafe.Pointer)        { return nil, nil }
func DeviceCount() (int, Result)               { return 0, 0 }
func GetDevice(int) (Device, Result)           { return 0, 0 }
func Current() (Context, Result)               { return 0, 0 }
func SetCurrent(Context) Result                { return 0 }
func (Device) Name() (string, Result)          { return "", 0 }
func (Device) PCIAddress() (string, Result)    { return "", 0 }
func (Device) UUID() (_ [16]byte, _ Result)    { return }
func (Device) Memory() (uint64, Result)        { return 0, 0 }
func (Device) Attribute(int) (int, Result)     { return 0, 0 }
func (Device) CanAccess(Device) (bool, Result) { return false, 0 }
func (Device) Retain() (Context, Result)       { return 0, 0 }
func (Device) Release() Result                 { return 0 }
func (Device) Active() (bool, Result)          { return false, 0 }
func (Device) OpenPlace(Context)               {}
func (Device) ClosePlace()                     {}
func ForgetDMABufs(_, _ uint64)                {}
func Find(_, _ uint64) int                     { return 0 }

func (Context) SyncMemops(uint64) Result                          { return 0 }
func (Context) FlushWrites() Result                               { return 0 }
func (Context) Synchronize() Result                               { return 0 }
func (Context) Priorities() (_, _ int, _ Result)                  { return }
func (Context) EnablePeer(Context) Result                         { return 0 }
func (Context) DisablePeer(Context) Result                        { return 0 }
func (Context) MemInfo() (_, _ uint64, _ Result)                  { return }
func (Context) CreateStream(uint32, int) (uintptr, Result)        { return 0, 0 }
func (Context) DestroyStream(uintptr) Result                      { return 0 }
func (Context) QueryStream(uintptr) Result                        { return 0 }
func (Context) OwnsStream(uintptr) (bool, Result)                 { return false, 0 }
func (Context) WaitEvent(_, _ uintptr) Result                     { return 0 }
func (Context) BeginCapture(uintptr, int) Result                  { return 0 }
func (Context) EndCapture(uintptr) (uintptr, Result)              { return 0, 0 }
func (Context) CaptureStatus(uintptr) (int, Result)               { return 0, 0 }
func (Context) CreateEvent(uint32) (uintptr, Result)              { return 0, 0 }
func (Context) DestroyEvent(uintptr) Result                       { return 0 }
func (Context) RecordEvent(_, _ uintptr) Result                   { return 0 }
func (Context) QueryEvent(uintptr) Result                         { return 0 }
func (Context) Elapsed(_, _ uintptr) (float32, Result)            { return 0, 0 }
func (Context) Alloc(uint64) (uint64, Result)                     { return 0, 0 }
func (Context) Free(uint64) Result                                { return 0 }
func (Context) AllocHost(uint64, uint32) (unsafe.Pointer, Result) { return nil, 0 }
func (Context) FreeHost(unsafe.Pointer) Result                    { return 0 }
func (Context) Copy(_, _, _ uint64, _ uintptr) Result             { return 0 }
func (Context) Fill(uint64, uint32, int, uint64, uintptr) Result  { return 0 }
func (Context) Pointer(uint64) (Pointer, Result)                  { return Pointer{}, 0 }
func (Context) Range(uint64) (_, _ uint64, _ Result)              { return }
func (Context) DMABuf(_, _ uint64) (int, Result)                  { return -1, 0 }
func (Context) Unmap(_, _ uint64) Result                          { return 0 }
func (Context) IPCMemory(uint64) (_ IPCHandle, _ Result)          { return }
func (Context) OpenIPCMemory(IPCHandle) (uint64, Result)          { return 0, 0 }
func (Context) CloseIPCMemory(uint64) Result                      { return 0 }
func (Context) IPCEvent(uintptr) (_ IPCHandle, _ Result)          { return }
func (Context) OpenIPCEvent(IPCHandle) (uintptr, Result)          { return 0, 0 }
func (Context) GraphNodes(uintptr) (int, Result)                  { return 0, 0 }
func (Context) DestroyGraph(uintptr) Result                       { return 0 }
func (Context) Instantiate(uintptr) (uintptr, Result)             { return 0, 0 }
func (Context) LaunchGraph(_, _ uintptr) Result                   { return 0 }
func (Context) DestroyExec(uintptr) Result                        { return 0 }
func (Context) LoadModule([]byte) (_ uintptr, _ string, _ Result) { return }
func (Context) UnloadModule(uintptr) Result                       { return 0 }
func (Context) Function(uintptr, string) (uintptr, Result)        { return 0, 0 }
func (Context) Param(uintptr, int) (Param, Result)                { return Param{}, 0 }
func (Context) FunctionAttribute(uintptr, int) (int, Result)      { return 0, 0 }
func (Context) SetFunctionAttribute(uintptr, int, int) Result     { return 0 }
func (Context) Launch(uintptr, *Grid, uintptr, []byte) Result     { return 0 }
func (Context) Map(uint64, bool, bool, []Device) (_, _ uint64, _ Result) {
	return
}
