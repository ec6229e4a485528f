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
	pd := &PD{dev: d, pd: raw}
	life.Enter(&pd.obj, pd, "PD", &d.obj)
	logDebug("PD allocated", "device", d.name)
	return pd, nil
}

// Device returns the device that the domain belongs to.
func (pd *PD) Device() *Device { return pd.dev }

// Close frees the domain. It fails with ErrBusy while regions or queue pairs of
// it are open.
//
// Implements: ibv_dealloc_pd.
func (pd *PD) Close() error {
	if err := pd.obj.Close(pd.pd.Dealloc); err != nil {
		return pd.dev.err("free PD", err)
	}
	return nil
}

// CloseAll closes everything of the domain, the newest first, and the domain.
func (pd *PD) CloseAll() error {
	return errors.Join(pd.obj.CloseChildren(), pd.Close())
}
