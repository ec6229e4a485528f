package verbs

import (
	"errors"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// PD is a protection domain: queue pairs reach only memory regions of their
// own domain. It is safe for concurrent use.
type PD struct {
	obj life.Object
	dev *Device
	pd  cverbs.PD

	imported  bool // another process made it
	standsFor *PD  // of a parent domain: the one that it is made over
}

// base is the domain that counts: a parent domain's own, or else this one.
func (pd *PD) base() *PD {
	for pd != nil && pd.standsFor != nil {
		pd = pd.standsFor
	}
	return pd
}

// AllocPD makes a protection domain.
//
// Implements: ibv_alloc_pd.
func (d *Device) AllocPD() (*PD, error) {
	if err := d.obj.Use(); err != nil {
		return nil, d.err("allocate PD", err)
	}
	defer d.obj.Done()
	raw, err := d.ctx.AllocPD()
	if err != nil {
		return nil, d.err("allocate PD", err)
	}
	return d.enterPD(&PD{pd: raw}, "PD"), nil
}

// enterPD completes a domain that was made. The parents are in use; without any
// it is the device's.
func (d *Device) enterPD(pd *PD, name string, parents ...*life.Object) *PD {
	pd.dev = d
	if parents == nil {
		parents = []*life.Object{&d.obj}
	}
	life.Enter(&pd.obj, pd, name, parents...)
	logDebug(name+" allocated", "device", d.name)
	return pd
}

// Device returns the device that the domain belongs to.
func (pd *PD) Device() *Device { return pd.dev }

// Close frees the domain. It fails with ErrBusy while regions or queue pairs of
// it are open. An imported domain is only forgotten.
//
// Implements: ibv_dealloc_pd, ibv_unimport_pd.
func (pd *PD) Close() error {
	end := pd.pd.Dealloc
	if pd.imported {
		end = pd.pd.Unimport
	}
	if err := pd.obj.Close(end); err != nil {
		return pd.dev.err("free PD", err)
	}
	return nil
}

// CloseAll closes everything of the domain, the newest first, and the domain.
func (pd *PD) CloseAll() error {
	return errors.Join(pd.obj.CloseChildren(), pd.Close())
}
