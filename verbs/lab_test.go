//go:build linux

package verbs_test

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestEventsOfPortsInLab takes the far end of the device's virtual cable down
// and up again.
func TestEventsOfPortsInLab(t *testing.T) {
	if !testutil.InLab() {
		testutil.Skip(t, "takes network interfaces down: it runs in the lab")
	}
	dev, err := verbs.Open(testutil.Device(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.CloseAll()) }()
	info, err := dev.Info()
	require.NoError(t, err)
	far := farEnd(t, info.Ports[0].Netdev)
	q, err := dev.Events(verbs.EventOptions{})
	require.NoError(t, err)
	next := func(want verbs.EventType) {
		for {
			ev, err := q.Next(patiently(t))
			require.NoError(t, err)
			if ev.Type == want {
				assert.Equal(t, verbs.Event{Type: want, Port: 1}, ev)
				return
			}
		}
	}
	defer setLink(t, far, true)
	setLink(t, far, false)
	next(verbs.EventPortError)
	setLink(t, far, true)
	next(verbs.EventPortActive)
}

// farEnd returns the other interface of a veth pair.
func farEnd(t *testing.T, name string) string {
	text, err := os.ReadFile("/sys/class/net/" + name + "/iflink")
	require.NoError(t, err)
	index, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	iface, err := net.InterfaceByIndex(index)
	require.NoError(t, err)
	require.NotEqual(t, name, iface.Name, "not a veth pair")
	return iface.Name
}

func setLink(t *testing.T, name string, up bool) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	req, err := unix.NewIfreq(name)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req))
	flags := req.Uint16() &^ unix.IFF_UP
	if up {
		flags |= unix.IFF_UP
	}
	req.SetUint16(flags)
	require.NoError(t, unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req))
}
