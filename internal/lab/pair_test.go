//go:build linux && amd64

package lab

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPairSeesTheCable(t *testing.T) {
	im, ctx := inGuest(t)
	var outA, outB bytes.Buffer
	input, feed := io.Pipe()
	said := make(chan string, 16)
	p, err := im.StartPair(ctx,
		Job{
			Path: "sh", Stdin: input, Stdout: io.MultiWriter(&outA, lineChan(t, said)),
			Args: []string{"-c", `rdma link; tc qdisc add dev eth0 root netem loss 0.1% && ping -c 1 -w 20 $GOFABRIC_LAB_PEER; echo tried
				while read word; do while [ $(cat /sys/class/net/eth0/carrier) != $word ]; do sleep 0.1; done; echo carrier $word; done; exit 4`},
		},
		Job{Path: "sh", Args: []string{"-c", "hostname; sleep 1000"}, Stdout: &outB},
	)
	require.NoError(t, err)
	go func() {
		_, err := p.A.Wait()
		input.CloseWithError(fmt.Errorf("guest a ended: %v", err))
	}()
	awaitLine(ctx, t, said, "tried")
	for _, up := range []bool{false, true} {
		require.NoError(t, p.A.SetLink(ctx, up))
		word := map[bool]string{false: "0", true: "1"}[up]
		_, err := fmt.Fprintln(feed, word)
		require.NoError(t, err)
		awaitLine(ctx, t, said, "carrier "+word)
	}
	require.NoError(t, feed.Close())
	a, err := p.A.Wait()
	require.NoError(t, err)
	assert.Equal(t, 4, a.ExitCode, "standard input ended")
	p.B.PowerOff()
	_, err = p.B.Wait()
	assert.ErrorIs(t, err, ErrPoweredOff)
	assert.Contains(t, outA.String(), "link rxe0/1 state ACTIVE")
	assert.Contains(t, outA.String(), "1 packets received")
	assert.Equal(t, "b\n", outB.String())
}

func TestPairEndsWithAGuest(t *testing.T) {
	im, ctx := inGuest(t)
	_, _, err := im.RunPair(ctx,
		Job{Path: "sh", Args: []string{"-c", "echo c > /proc/sysrq-trigger"}},
		Job{Path: "sh", Args: []string{"-c", "sleep 1000"}})
	var guest *GuestError
	require.ErrorAs(t, err, &guest)
}

// lineChan hands on each line that is written.
func lineChan(t *testing.T, c chan<- string) io.Writer {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			c <- lines.Text()
		}
	}()
	t.Cleanup(func() { w.Close(); <-done })
	return w
}

func awaitLine(ctx context.Context, t *testing.T, c <-chan string, want string) {
	t.Helper()
	for {
		select {
		case l := <-c:
			if l == want {
				return
			}
		case <-ctx.Done():
			require.FailNow(t, "no line", want)
		}
	}
}
