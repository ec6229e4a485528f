//go:build linux && cgo

package cverbs

import "unsafe"

// RegAddress registers memory that may not be this process's, such as a GPU's, by
// its address.
//
// Implements: ibv_reg_mr, ibv_reg_mr_iova2.
func (pd PD) RegAddress(addr, length uint64, access uint32) (MR, error) {
	// It is a number to everybody here; the conversion by way of memory says so.
	return pd.RegMR(*(*unsafe.Pointer)(unsafe.Pointer(&addr)), int(length), access)
}
