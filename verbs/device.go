package verbs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/sysfs"
)

// Device is an opened RDMA device: the root of everything that is made on it.
// It is safe for concurrent use.
type Device struct {
	obj  life.Object
	ctx  cverbs.Context
	name string
	attr DeviceAttr

	channelMu sync.Mutex
	channel   *eventChannel // of the CQs with events; made at the first of them

	async *asyncReader

	elsewhere elsewhere
}

// Open opens a device by its kernel name, such as "mlx5_0". Devices lists the
// names.
//
// It fails with ErrLibraryNotFound where libibverbs is not installed, with
// fs.ErrNotExist if there is no such device, and with syscall.EACCES if the
// user may not open it.
//
// Implements: ibv_open_device, ibv_get_device_list, ibv_free_device_list.
func Open(name string) (*Device, error) {
	s := sysScan{Reader: sysfs.NewReader(infoRoot(name))}
	if err := s.find(name); err != nil {
		return nil, &OpError{Op: "open device", Err: err, Hint: missingHint(name)}
	}
	ctx, err := cverbs.OpenDevice(name)
	if err != nil {
		hint, err := openProblem(name, err)
		return nil, &OpError{Op: "open device", Device: name, Err: err, Hint: hint}
	}
	return newDevice(name, ctx)
}

// newDevice makes a device of an opened context, or closes it.
func newDevice(name string, ctx cverbs.Context) (*Device, error) {
	d := &Device{ctx: ctx, name: name}
	raw, err := ctx.QueryDevice()
	if err != nil {
		return nil, errors.Join(&OpError{Op: "query device", Device: name, Err: err}, ctx.Close())
	}
	d.attr = deviceAttr(&raw)
	d.attr.CompVectors = ctx.Vectors()
	if d.async, err = d.readEvents(); err != nil {
		return nil, errors.Join(&OpError{Op: "read asynchronous events", Device: name, Err: err}, ctx.Close())
	}
	logDebug("device opened", "device", name, "firmware", d.attr.Firmware)
	life.Enter(&d.obj, d, "device "+name)
	return d, nil
}

// missingHint tells a device of this process that was not asked for.
func missingHint(name string) string {
	if _, ok := cverbs.ProviderOf(name); !ok && strings.HasPrefix(name, "loop") {
		return "the in-process device is there once the program imports verbs/verbstest and is built with cgo"
	}
	return ""
}

// infoRoot is the tree that describes a device: the kernel's, or its provider's.
func infoRoot(name string) fs.FS {
	if p, ok := cverbs.ProviderOf(name); ok {
		return p.Root()
	}
	return sysfs.Dir("/")
}

// openProblem looks at what stands between the user and a device that exists,
// and returns what to do and the cause. The library looks for a device's node
// in more than one way, and its errno is that of the last.
func openProblem(name string, err error) (hint string, cause error) {
	info, ierr := deviceIn(infoRoot(name), name)
	if ierr != nil {
		return "", err
	}
	if info.Uverbs == "" {
		return "the kernel has no verbs interface for it: load the module ib_uverbs", err
	}
	node := "/dev/infiniband/" + info.Uverbs
	f, nerr := os.OpenFile(node, os.O_RDWR, 0)
	switch {
	case nerr == nil:
		f.Close()
		if n, cerr := cverbs.CountDevices(); cerr == nil && n == 0 {
			return "libibverbs finds no driver for any device: Debian's package ibverbs-providers installs them", err
		}
		return "", err
	case errors.Is(nerr, fs.ErrPermission):
		return "no permission on " + node + ": the user needs read and write access to it", nerr
	case errors.Is(nerr, fs.ErrNotExist):
		return node + " is missing: in a container, pass it in", err
	}
	return nerr.Error(), err
}

// LibraryPath returns the file of libibverbs that is in use. Its name ends in
// the release: libibverbs.so.1.14.44.0 is of rdma-core 44.
func LibraryPath() (string, error) { return cverbs.LibraryPath() }

// Name returns the device's name.
func (d *Device) Name() string { return d.name }

// Info reads what the kernel says of the device now: its ports, their state,
// their GID tables.
func (d *Device) Info() (DeviceInfo, error) {
	info, err := deviceIn(infoRoot(d.name), d.name)
	if err != nil {
		return DeviceInfo{}, &OpError{Op: "read device", Device: d.name, Err: err}
	}
	return info, nil
}

// Attributes returns the device's limits and capabilities, as they were when it
// was opened.
//
// Implements: ibv_query_device.
func (d *Device) Attributes() DeviceAttr { return d.attr }

// Port asks the device for the state of one of its ports, from 1.
//
// Implements: ibv_query_port.
func (d *Device) Port(number int) (PortAttr, error) {
	if err := d.checkPort(number); err != nil {
		return PortAttr{}, err
	}
	if err := d.obj.Use(); err != nil {
		return PortAttr{}, d.err("query port", err)
	}
	defer d.obj.Done()
	raw, err := d.ctx.QueryPort(uint8(number))
	if err != nil {
		return PortAttr{}, &OpError{Op: "query port", Device: d.name, Port: number, Err: d.cause(err)}
	}
	return portAttr(&raw), nil
}

func (d *Device) checkPort(number int) error {
	if d == nil || d.async == nil {
		return d.err("use port", ErrClosed) // it was never opened
	}
	if number >= 1 && number <= d.attr.Ports {
		return nil
	}
	return d.err("use port", fmt.Errorf("no port %d: the device has ports 1 to %d", number, d.attr.Ports))
}

func (d *Device) err(op string, err error) error {
	if d == nil {
		return &OpError{Op: op, Err: err} // of an object that was never made
	}
	return &OpError{Op: op, Device: d.name, Err: d.cause(err)}
}

// cause tells a device that is gone from one that fails: the kernel answers EIO
// for both, but lists only the latter.
func (d *Device) cause(err error) error {
	if !errors.Is(err, syscall.EIO) || errors.Is(err, ErrDeviceGone) {
		return err
	}
	s := sysScan{Reader: sysfs.NewReader(infoRoot(d.name))}
	if errors.Is(s.find(d.name), fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrDeviceGone, err)
	}
	return err
}

// Close closes the device. It fails with ErrBusy while anything made on it is
// open.
//
// Implements: ibv_close_device, ibv_destroy_comp_channel.
func (d *Device) Close() error {
	err := d.obj.Close(func() error {
		if err := d.closeChannel(); err != nil {
			return err
		}
		d.async.stop()
		if err := d.ctx.Close(); err != nil {
			return err
		}
		logDebug("device closed", "device", d.name)
		return nil
	})
	if err != nil {
		return d.err("close device", err)
	}
	return nil
}

// CloseAll closes everything that was made on the device, the newest first, and
// the device.
func (d *Device) CloseAll() error {
	return errors.Join(d.obj.CloseChildren(), d.Close())
}
