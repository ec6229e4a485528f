//go:build !linux || !cgo

package cnccl

import (
	"errors"
	"fmt"
	"unsafe"
)

// errBuild is what Open answers in a build that cannot reach libnccl. Nothing
// else can be reached without a Library.
var errBuild = fmt.Errorf("this program was built without cgo for linux: %w", errors.ErrUnsupported)

// Library is libnccl as opened; in this build there is none.
type Library struct{}

func Open(_, _ unsafe.Pointer, _ ...string) (*Library, error)   { return nil, errBuild }
func (*Library) Has(int) bool                                   { return false }
func (*Library) Path() string                                   { return "" }
func (*Library) Version() int                                   { return 0 }
func (*Library) ResultText(int) string                          { return "" }
func (*Library) UniqueID() ([128]byte, int, string)             { return [128]byte{}, NotCalled, "" }
func (*Library) MemAlloc(uintptr, uint64) (uint64, int, string) { return 0, NotCalled, "" }
func (*Library) MemFree(uintptr, uint64) (int, string)          { return NotCalled, "" }
func (*Library) ParamText(string) (string, int, string)         { return "", NotCalled, "" }
func (*Library) ParamInt(string) (int64, int, string)           { return 0, NotCalled, "" }
func (*Library) ParamKeys() ([]string, int, string)             { return nil, NotCalled, "" }
func (*Library) Identity(uint64) (int, int, int, int)           { return 0, 0, 0, NotCalled }
func (*Library) ParamDump()                                     {}

// Functions lists nothing: the table is C.
func Functions() []Function { return nil }

// Batch is a list of operations; in this build none runs.
type Batch struct{}

func NewBatch(*Library) *Batch       { return &Batch{} }
func (*Batch) Free()                 {}
func (*Batch) Reset()                {}
func (*Batch) Add() *Op              { return &Op{} }
func (*Batch) Op(int) *Op            { return &Op{} }
func (*Batch) Len() int              { return 0 }
func (*Batch) Drop()                 {}
func (*Batch) AddMember(Member)      {}
func (*Batch) Member(int) *Member    { return &Member{} }
func (*Batch) Members() int          { return 0 }
func (*Batch) NewWaits(int) int32    { return 0 }
func (*Batch) Wait(int32) *Wait      { return &Wait{} }
func (*Batch) ResetWaits()           {}
func (*Batch) Run(int, int) int      { return NotCalled }
func (*Batch) Poll(int) int          { return NotCalled }
func (*Batch) Code() int             { return NotCalled }
func (*Batch) Failed() int           { return 0 }
func (*Batch) MissingFunction() int  { return -1 }
func (*Batch) ContextCode() int      { return 0 }
func (*Batch) Last() string          { return "" }
func (*Batch) Microseconds() float32 { return 0 }

// Slot is memory for what NCCL keeps; in this build there is none.
type Slot struct{}

func NewSlot() Slot                     { return Slot{} }
func (Slot) Free()                      {}
func (Slot) Address() uint64            { return 0 }
func (Slot) Comm() uint64               { return 0 }
func (Slot) Window() uint64             { return 0 }
func (Slot) Handle() uint64             { return 0 }
func (Slot) Reduction() int32           { return 0 }
func (Slot) Stats() (stats [4]uint64)   { return stats }
func (Slot) SetIDs(...[128]byte)        {}
func (Slot) ID() (id [128]byte)         { return id }
func (Slot) SetExcluded([]int)          {}
func (Slot) SetScalar([]byte)           {}
func (Slot) SetConfig(*Config, int)     {}
func (Slot) PrepareProperties(int)      {}
func (Slot) Properties() (p Properties) { return p }
