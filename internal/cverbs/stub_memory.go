//go:build !linux || !cgo

package cverbs

import "unsafe"

// Handles and values that only C makes.
type (
	// MW is a memory window.
	MW struct{}
	// DM is memory of a device.
	DM struct{}
	// DMAH is a DMA handle.
	DMAH struct{}
	// Buf is memory that the library allocated.
	Buf struct{}
	// TD is a thread domain.
	TD struct{}
	// Counters count what a flow carries.
	Counters struct{}
	// MRInit is what RegMREx registers.
	MRInit struct {
		Length   uint64
		Access   uint32
		Mask     uint64
		IOVA     uint64
		Addr     unsafe.Pointer
		FD       int
		FDOffset uint64
		DMAH     DMAH
	}
)

func (PD) RegMRIOVA(unsafe.Pointer, uint64, uint64, uint32) (MR, error) { return MR{}, errBuild }
func (PD) RegDMABufMR(int, uint64, uint64, uint64, uint32) (MR, error)  { return MR{}, errBuild }
func (MR) Rereg(int32, PD, unsafe.Pointer, int, uint32) (bool, error)   { return false, errBuild }
func (PD) Advise(int32, uint32, []SGE) error                            { return errBuild }
func (PD) AllocNullMR() (MR, error)                                     { return MR{}, errBuild }
func (PD) RegEverything(uint32) (MR, error)                             { return MR{}, errBuild }
func (MR) Handle() uint32                                               { return 0 }
func (MR) Extent() (unsafe.Pointer, uint64)                             { return nil, 0 }
func (PD) ImportMR(uint32) (MR, error)                                  { return MR{}, errBuild }
func (MR) Unimport() error                                              { return errBuild }
func (PD) Handle() uint32                                               { return 0 }
func (Context) ImportPD(uint32) (PD, error)                             { return PD{}, errBuild }
func (PD) Unimport() error                                              { return errBuild }
func (PD) AllocMW(int32) (MW, error)                                    { return MW{}, errBuild }
func (MW) RKey() uint32                                                 { return 0 }
func (MW) SetRKey(uint32)                                               {}
func (*SendWR) IsBind(MW, uint32) bool                                  { return false }
func (MW) Dealloc() error                                               { return errBuild }
func (QP) BindMW(MW, uint64, uint32, MR, uint64, uint64, uint32) error  { return errBuild }
func (*SendWR) SetBind(MW, uint32, MR, uint64, uint64, uint32)          {}
func (Context) AllocDM(uint64, uint32) (DM, error)                      { return DM{}, errBuild }
func (Context) ImportDM(uint32) (DM, error)                             { return DM{}, errBuild }
func (DM) Unimport() error                                              { return errBuild }
func (DM) Handle() uint32                                               { return 0 }
func (DM) Free() error                                                  { return errBuild }
func (DM) Write(uint64, []byte) error                                   { return errBuild }
func (DM) Read(uint64, []byte) error                                    { return errBuild }
func (DM) ExportDMABuf() (int, error)                                   { return 0, errBuild }
func (PD) RegDMMR(DM, uint64, uint64, uint32) (MR, error)               { return MR{}, errBuild }
func (PD) RegMREx(MRInit) (MR, error)                                   { return MR{}, errBuild }
func (Context) AllocDMAH(uint32, uint32, uint8, uint8) (DMAH, error)    { return DMAH{}, errBuild }
func (DMAH) Dealloc() error                                             { return errBuild }
func (PD) AllocBuf(int) (unsafe.Pointer, Buf, error)                    { return nil, Buf{}, errBuild }
func (Buf) Free() error                                                 { return errBuild }
func (PD) RegBufMR(Buf, unsafe.Pointer, int, uint32) (MR, error)        { return MR{}, errBuild }
