package cuda

import (
	"github.com/gofabric/gofabric/internal/ccuda"
)

// CanAccessPeer reports whether work of this GPU can read and write the memory of
// another directly. A GPU can its own.
//
// Implements: cuDeviceCanAccessPeer.
func (d *Device) CanAccessPeer(peer *Device) (bool, error) {
	const op = "query peer access"
	if err := peer.isOpen(); err != nil {
		return false, d.err(op, err)
	}
	if err := d.use(); err != nil {
		return false, d.err(op, err)
	}
	defer d.obj.Done()
	if d.raw == peer.raw {
		return true, nil
	}
	can, r := d.raw.CanAccess(peer.raw)
	return can, d.check(op, r)
}

// isOpen answers ErrClosed for a device that is not, whose number says nothing.
// What is asked of the number alone needs the device no longer than that.
func (d *Device) isOpen() error {
	err := d.use()
	if err == nil {
		d.obj.Done()
	}
	return err
}

// EnablePeerAccess lets work of this GPU read and write the memory from Alloc of
// another, until DisablePeerAccess or the end of either context. It does nothing if
// that is so already. It works in one direction. Copies need no peer access, but
// are faster with it.
//
// It fails with ErrNotSupported where the GPUs cannot.
//
// Implements: cuCtxEnablePeerAccess.
func (d *Device) EnablePeerAccess(peer *Device) error {
	return d.withPeer("enable peer access", peer, func() ccuda.Result {
		if r := d.ctx.EnablePeer(peer.ctx); r != ccuda.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED {
			return r
		}
		return 0
	})
}

// DisablePeerAccess ends peer access, also for other users of the primary context
// in this process. It does nothing if there is none.
//
// Implements: cuCtxDisablePeerAccess.
func (d *Device) DisablePeerAccess(peer *Device) error {
	return d.withPeer("disable peer access", peer, func() ccuda.Result {
		if r := d.ctx.DisablePeer(peer.ctx); r != ccuda.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED {
			return r
		}
		return 0
	})
}

// withPeer runs do while both contexts are there. It does not keep both objects in
// use: two goroutines that took them in opposite order could stop each other.
func (d *Device) withPeer(op string, peer *Device, do func() ccuda.Result) error {
	if err := peer.use(); err != nil {
		return d.err(op, err)
	}
	peer.hold()
	peer.obj.Done()
	r, err := d.whileOpen(op, peer, do)
	if dropped := peer.drop(); err == nil && r == 0 {
		return d.err(op, dropped)
	}
	if err != nil {
		return err
	}
	return d.check(op, r)
}

func (d *Device) whileOpen(op string, peer *Device, do func() ccuda.Result) (ccuda.Result, error) {
	if err := d.use(); err != nil {
		return 0, d.err(op, err)
	}
	defer d.obj.Done()
	if d.raw == peer.raw {
		return 0, nil
	}
	return do(), nil
}
