// Command devinfo shows the RDMA devices of this machine as ibv_devinfo does, field
// by field, and behind each device what that hides: the network interface, the NUMA
// node, the PCIe link and what the GIDs are good for.
//
//	devinfo            # as ibv_devinfo
//	devinfo -v         # as ibv_devinfo -v
//	devinfo --ibstat   # as ibstat
//
// Without libibverbs, or built without cgo, it shows what /sys tells. An error is
// one line on standard error and exit status 1.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/verbs"
)

const help = `devinfo shows the RDMA devices of this machine as ibv_devinfo and ibstat do, and what
those hide: network interface, NUMA node, PCIe link, kinds of GIDs.

Usage:
  devinfo [flags]

Flags:
`

// options is what the flags say.
type options struct {
	device                       string
	port                         int
	verbose, list, ibstat, plain bool
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	err := show(args, out, errs)
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(errs, "devinfo: %s\n", command.OneLine(err.Error()))
	return 1
}

func show(args []string, out, errs io.Writer) error {
	var o options
	f := pflag.NewFlagSet("devinfo", pflag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by run
	f.SortFlags = false
	f.Usage = func() { fmt.Fprint(out, help, f.FlagUsages()) }
	f.StringVarP(&o.device, "ib-dev", "d", "", "this `device` only")
	f.IntVarP(&o.port, "ib-port", "i", 0, "this `port` only")
	command.Toggle(f, &o.list, "list", "l", "the names only")
	command.Toggle(f, &o.verbose, "verbose", "v", "all attributes")
	command.Toggle(f, &o.ibstat, "ibstat", "", "in the layout of ibstat")
	command.Toggle(f, &o.plain, "plain", "", "only what the C tools print")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		flag, problem := command.Explain(err)
		return errors.New(strings.TrimPrefix(flag+": "+problem, ": "))
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%q is no flag; --help shows how", f.Arg(0))
	}
	if f.Changed("ib-port") && (o.port < 1 || o.port > 255) {
		return fmt.Errorf("-i/--ib-port: %d is no port: they count from 1", o.port)
	}
	devices, err := o.devices()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if o.list {
		fmt.Fprintf(&b, "%d HCAs found:\n", len(devices))
		for _, d := range devices {
			fmt.Fprintf(&b, "\t%s\n", d.Name)
		}
		fmt.Fprintln(&b)
		_, err := out.Write(b.Bytes())
		return err
	}
	var hidden *topo.System
	if !o.plain {
		// A machine whose place on PCI cannot be read still has devices.
		if hidden, err = topo.Live(topo.ReadOptions{}); err != nil {
			fmt.Fprintf(errs, "devinfo: PCIe and NUMA: %s\n", command.OneLine(err.Error()))
		}
	}
	for _, d := range devices {
		if err := o.one(&b, errs, d, hidden); err != nil {
			return err
		}
	}
	_, err = out.Write(b.Bytes())
	return err
}

func (o options) devices() ([]verbs.DeviceInfo, error) {
	devices, err := verbs.Devices()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range devices {
		names = append(names, d.Name)
	}
	if o.device != "" {
		i := slices.Index(names, o.device)
		if i < 0 {
			return nil, fmt.Errorf("no RDMA device %q: this machine has %s", o.device, orNone(strings.Join(names, ", ")))
		}
		devices = devices[i : i+1]
	}
	if len(devices) == 0 {
		return nil, errors.New("no RDMA device: /sys/class/infiniband has none; where there should be one, its driver is not loaded (mlx5_ib for NVIDIA's)")
	}
	for _, d := range devices {
		if _, ok := d.Port(o.port); !ok && o.port != 0 {
			return nil, fmt.Errorf("%s has no port %d: it has %d", d.Name, o.port, len(d.Ports))
		}
	}
	return devices, nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (o options) one(w, errs io.Writer, d verbs.DeviceInfo, hidden *topo.System) error {
	if o.ibstat {
		o.stat(w, d)
	} else {
		opened, err := query(d)
		if err != nil {
			fmt.Fprintf(errs, "devinfo: %s: %s; this is what /sys tells\n", d.Name, command.OneLine(err.Error()))
		}
		o.info(w, d, opened)
	}
	if hidden != nil {
		o.also(w, d, hidden)
	}
	if !o.ibstat {
		fmt.Fprintln(w)
	}
	return nil
}

// queried is what an opened device told, nil where it could not be opened.
type queried struct {
	device verbs.DeviceAttrEx
	ports  map[int]verbs.PortAttr
}

func query(d verbs.DeviceInfo) (q *queried, err error) {
	device, err := verbs.Open(d.Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, device.CloseAll()) }()
	attr, err := device.AttributesEx()
	if err != nil {
		return nil, err
	}
	// The extended answer has no number of vectors.
	attr.CompVectors = device.Attributes().CompVectors
	q = &queried{attr, map[int]verbs.PortAttr{}}
	for _, p := range d.Ports {
		attr, err := device.Port(p.Number)
		if err != nil {
			return nil, err
		}
		q.ports[p.Number] = attr
	}
	return q, nil
}
