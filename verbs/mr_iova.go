package verbs

import (
	"fmt"
	"math"
	"os"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// checkIOVA looks for what no device can register.
func checkIOVA(addr, length, iova uint64) error {
	page := uint64(os.Getpagesize())
	switch {
	case iova > math.MaxUint64-length:
		return fmt.Errorf("%d bytes from iova 0x%x do not fit 64 bits", length, iova)
	case (addr^iova)%page != 0:
		return fmt.Errorf("the memory at 0x%x and iova 0x%x lie at different places within a page of %d bytes: their remainders must be the same", addr, iova, page)
	}
	return nil
}

// endless is the length of a region that has no end.
const endless = math.MaxInt

// RegisterEverything registers the whole address space of this process, as it is
// and as it will become, by on-demand paging: MR.SGE takes addresses. access is
// taken together with AccessOnDemand; zero is AccessLocalWrite.
//
// It fails with ErrNotSupported where device or kernel have no implicit on-demand
// paging (DeviceAttrEx.ODP).
//
// Implements: ibv_reg_mr.
func (pd *PD) RegisterEverything(access Access) (*MR, error) {
	const op = "register the address space"
	if access == 0 {
		access = AccessLocalWrite
	}
	access |= AccessOnDemand
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	raw, err := pd.pd.RegEverything(uint32(access))
	if err != nil {
		return nil, &OpError{Op: op, Device: pd.dev.name, Err: pd.dev.cause(err), Hint: registerHint(err, 0, access)}
	}
	return pd.enterMR(&MR{mr: raw, length: endless, access: access, everywhere: true}), nil
}

// AllocNullMR makes a region without memory: what is written to it is dropped,
// and what is read from it is zero. Any address will do, and MR.SGE takes them.
//
// Implements: ibv_alloc_null_mr.
func (pd *PD) AllocNullMR() (*MR, error) {
	const op = "allocate null MR"
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	raw, err := pd.pd.AllocNullMR()
	if err != nil {
		return nil, pd.dev.err(op, err)
	}
	return pd.enterMR(&MR{mr: raw, length: endless, access: AccessLocalWrite}), nil
}

// Advice is what Advise says of memory (enum ibv_advise_mr_advice).
type Advice int32

// Advice.
const (
	PrefetchRead    Advice = cverbs.IBV_ADVISE_MR_ADVICE_PREFETCH          // it will be read
	PrefetchWrite   Advice = cverbs.IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE    // it will be written to
	PrefetchPresent Advice = cverbs.IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT // only what is in memory now
)

// Advise has the device map pieces of regions with on-demand paging before it
// needs them: at once if wait is given, else some time soon.
//
// It fails with ErrNotSupported where device or kernel know no advice.
//
// Implements: ibv_advise_mr.
func (pd *PD) Advise(advice Advice, wait bool, pieces ...SGE) error {
	const op = "advise of memory"
	for i, s := range pieces {
		if s.Addr == badAddr {
			return pd.dev.err(op, fmt.Errorf("piece %d lies outside its memory region", i))
		}
	}
	if err := pd.obj.Use(); err != nil {
		return pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	var flags uint32
	if wait {
		flags = cverbs.IBV_ADVISE_MR_FLAG_FLUSH
	}
	list := make([]cverbs.SGE, len(pieces))
	for i, s := range pieces {
		list[i] = cverbs.SGE(s)
	}
	if err := pd.pd.Advise(int32(advice), flags, list); err != nil {
		return pd.dev.err(op, err)
	}
	return nil
}
