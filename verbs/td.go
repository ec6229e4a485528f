package verbs

import (
	"errors"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// TD is a thread domain: the promise that what is made in it is used by one
// goroutine at a time, so that the device's driver leaves its locks out. It is
// safe for concurrent use.
type TD struct {
	obj life.Object
	dev *Device
	td  cverbs.TD
}

// AllocTD makes a thread domain; PD.AllocParentDomain uses it.
//
// It fails with ErrNotSupported where the device's driver knows none.
//
// Implements: ibv_alloc_td.
func (d *Device) AllocTD() (*TD, error) {
	const op = "allocate thread domain"
	if err := d.obj.Use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	raw, err := d.ctx.AllocTD()
	if err != nil {
		return nil, d.err(op, err)
	}
	td := &TD{dev: d, td: raw}
	life.Enter(&td.obj, td, "thread domain", &d.obj)
	return td, nil
}

// Close frees the thread domain. It fails with ErrBusy while a parent domain of it
// is open.
//
// Implements: ibv_dealloc_td.
func (td *TD) Close() error {
	if err := td.obj.Close(td.td.Dealloc); err != nil {
		return td.dev.err("free thread domain", err)
	}
	return nil
}

// CloseAll closes the parent domains of the thread domain, and it.
func (td *TD) CloseAll() error { return errors.Join(td.obj.CloseChildren(), td.Close()) }

// AllocParentDomain makes a domain that stands for this one, with the promise of a
// thread domain, or none if td is nil. Regions and queue pairs of both are one
// another's. The driver's memory comes from where it always does: allocators of
// the caller's are not offered, as they would be called from C at any time.
//
// It fails with ErrNotSupported where the device's driver knows no parent domains.
//
// Implements: ibv_alloc_parent_domain.
func (pd *PD) AllocParentDomain(td *TD) (*PD, error) {
	const op = "allocate parent domain"
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	parents := []*life.Object{&pd.obj}
	var raw cverbs.TD
	if td != nil {
		if err := td.obj.Use(); err != nil {
			return nil, pd.dev.err(op, err)
		}
		defer td.obj.Done()
		if td.dev != pd.dev {
			return nil, pd.dev.err(op, errors.New("the thread domain is of another device"))
		}
		raw, parents = td.td, append(parents, &td.obj)
	}
	domain, err := pd.pd.AllocParentDomain(raw)
	if err != nil {
		return nil, pd.dev.err(op, err)
	}
	return pd.dev.enterPD(&PD{pd: domain, standsFor: pd}, "parent domain", parents...), nil
}
