package rdmacm

import (
	"errors"
	"sync"

	"github.com/gofabric/gofabric/verbs"
)

// sharedHubs are those of connections that name none: one a device, there as long
// as connections of it are.
var sharedHubs = struct {
	sync.Mutex
	open map[string]*sharedHub
}{open: map[string]*sharedHub{}}

type sharedHub struct {
	hub    *Hub
	device *SharedDevice
	uses   int
}

// useHub returns the shared hub of a device.
func useHub(device string) (*Hub, error) {
	sharedHubs.Lock()
	defer sharedHubs.Unlock()
	s := sharedHubs.open[device]
	if s == nil {
		dev, err := Share(device)
		if err != nil {
			return nil, err
		}
		h, err := NewHub(dev.Device, HubOptions{})
		if err != nil {
			return nil, errors.Join(err, dev.Release())
		}
		h.shared = device
		s = &sharedHub{hub: h, device: dev}
		sharedHubs.open[device] = s
	}
	s.uses++
	return s.hub, nil
}

// endUse gives a shared hub back.
func endUse(device string) error { return changeUses(device, -1) }

// changeUses closes a shared hub that nobody uses. One whose messages or buffers
// are not released stays until they are, or a later connection uses it again.
func changeUses(device string, by int) error {
	sharedHubs.Lock()
	defer sharedHubs.Unlock()
	s := sharedHubs.open[device]
	if s == nil {
		return nil
	}
	if s.uses += by; s.uses > 0 {
		return nil
	}
	err := s.hub.Close()
	if errors.Is(err, verbs.ErrBusy) {
		return nil
	}
	delete(sharedHubs.open, device)
	return errors.Join(err, s.device.Release())
}
