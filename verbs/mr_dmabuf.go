package verbs

import (
	"errors"
	"fmt"
	"math"
	"os"
)

// RegisterDMABuf registers length bytes of the memory behind the dma-buf fd,
// from offset on: memory of a GPU or of another device, which this process need
// not see. Requests address its first byte as iova, which has to lie at the same
// place within a page as offset; with offset on a page, 0 is as good as any. The
// zero access is AccessLocalWrite. The region keeps the dma-buf itself: fd may be
// closed at once.
//
// It fails with ErrNotSupported where rdma-core is older than 34 or the device's
// driver has no such memory, and with syscall.EINVAL if the piece does not lie
// within the dma-buf.
//
// Implements: ibv_reg_dmabuf_mr.
func (pd *PD) RegisterDMABuf(fd int, offset, length, iova uint64, access Access) (*MR, error) {
	const op = "register dma-buf"
	if access == 0 {
		access = AccessLocalWrite
	}
	if err := checkDMABuf(fd, offset, length, iova, uint64(os.Getpagesize())); err != nil {
		return nil, pd.dev.err(op, err)
	}
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	raw, err := pd.pd.RegDMABufMR(fd, offset, length, iova, uint32(access))
	if err != nil {
		return nil, &OpError{Op: op, Device: pd.dev.name, Err: err, Hint: registerHint(err, 0, access)}
	}
	return pd.enterMR(&MR{mr: raw, addr: iova, length: int(length), access: access}), nil
}

// checkDMABuf looks for what no device can register.
func checkDMABuf(fd int, offset, length, iova, page uint64) error {
	switch {
	case fd < 0 || fd > math.MaxInt32:
		return fmt.Errorf("%d is not a file descriptor", fd)
	case length == 0:
		return errors.New("a region of 0 bytes: it needs at least one")
	case length > math.MaxInt || offset > math.MaxUint64-length || iova > math.MaxUint64-length:
		return fmt.Errorf("%d bytes from offset 0x%x and iova 0x%x do not fit 64 bits", length, offset, iova)
	case (offset^iova)%page != 0:
		return fmt.Errorf("offset 0x%x and iova 0x%x lie at different places within a page of %d bytes: their remainders must be the same", offset, iova, page)
	}
	return nil
}
