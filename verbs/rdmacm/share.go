package rdmacm

import (
	"errors"
	"sync"

	"github.com/gofabric/gofabric/verbs"
)

// SharedDevice is a device, with a protection domain, that all connections of
// the process that ask for it share.
type SharedDevice struct {
	Device *verbs.Device
	PD     *verbs.PD

	once sync.Once
	name string
}

type sharedEntry struct {
	device *verbs.Device
	pd     *verbs.PD
	uses   int
}

var sharedDevices = struct {
	sync.Mutex
	open map[string]*sharedEntry
}{open: map[string]*sharedEntry{}}

// Share returns the shared handle of a device, opening it if nobody has it. It is
// closed when the last one that was returned is released. Errors are those of
// verbs.Open.
func Share(device string) (*SharedDevice, error) {
	sharedDevices.Lock()
	defer sharedDevices.Unlock()
	e := sharedDevices.open[device]
	if e == nil {
		dev, err := verbs.Open(device)
		if err != nil {
			return nil, err
		}
		pd, err := dev.AllocPD()
		if err != nil {
			return nil, errors.Join(err, dev.Close())
		}
		e = &sharedEntry{device: dev, pd: pd}
		sharedDevices.open[device] = e
	}
	e.uses++
	return &SharedDevice{Device: e.device, PD: e.pd, name: device}, nil
}

// Release gives the handle back. What the caller made on the device must be
// closed before. Releasing twice is harmless.
func (s *SharedDevice) Release() (err error) {
	s.once.Do(func() { err = releaseDevice(s.name) })
	return err
}

func releaseDevice(name string) error {
	sharedDevices.Lock()
	defer sharedDevices.Unlock()
	e := sharedDevices.open[name]
	if e.uses--; e.uses > 0 {
		return nil
	}
	delete(sharedDevices.open, name)
	return errors.Join(e.pd.Close(), e.device.Close())
}
