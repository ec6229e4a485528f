//go:build !linux || !cgo

package cverbs

func (PD) RegDMABufMR(int, uint64, uint64, uint64, uint32) (MR, error) { return MR{}, errBuild }
