//go:build linux

package ethtool

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No link is faster than its driver says it could be.
func TestThisMachinesInterfaces(t *testing.T) {
	list, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range list {
		mbps, err := Fastest(i.Name)
		if err != nil {
			assert.ErrorIs(t, err, errors.ErrUnsupported, i.Name)
			continue
		}
		text, _ := os.ReadFile("/sys/class/net/" + i.Name + "/speed")
		speed, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		t.Logf("%s: up to %d Mb/s, runs at %d", i.Name, mbps, speed)
		if mbps > 0 {
			assert.LessOrEqual(t, speed, mbps, i.Name)
		}
		_, err = Stats(i.Name)
		assert.True(t, err == nil || errors.Is(err, errors.ErrUnsupported), "%v", err)
	}
}
