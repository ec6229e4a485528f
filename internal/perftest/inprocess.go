package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/gofabric/gofabric/internal/loopdev"
)

// inProcessNote goes with every result of the device inside this process.
const inProcessNote = "the device is inside this process, and both ends ran there: the figures show that the code works, " +
	"and say nothing about the performance of any adapter"

// inProcess tells whether a device lives inside this process, so that nobody else
// can be the peer.
func inProcess(device string) bool { return slices.Contains(loopdev.Devices(), device) }

// runInProcess runs both ends, and prints what the client does.
func runInProcess(parent context.Context, config Config, stdout, stderr io.Writer) error {
	if config.Host != "" {
		return fmt.Errorf("%s is a device inside this process, which no other host reaches: leave out %s", config.Device, config.Host)
	}
	listener, err := Listen(parent, "127.0.0.1", 0)
	if err != nil {
		return err
	}
	defer listener.Close()
	fmt.Fprintf(stderr, "%s: %s\n", config.Tool.Name, inProcessNote)

	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	server := config
	server.JSON, server.Plot, server.CFile, server.Only = false, "", "", ""
	server.MinBandwidth, server.MinMessageRate = 0, 0
	done := make(chan error, 1)
	go func() {
		err := runEnd(ctx, server, listening{listener: listener}, io.Discard, io.Discard)
		if err != nil {
			cancel(fmt.Errorf("server: %w", err))
		}
		done <- err
	}()
	client := config
	client.Host, client.Port = "127.0.0.1", listener.Addr().(*net.TCPAddr).Port
	err = runEnd(ctx, client, tcpLink{}, stdout, stderr)
	if err != nil {
		cancel(err)
	}
	serverErr := <-done
	switch {
	case err == nil:
		return serverErr
	case parent.Err() != nil:
		return context.Cause(parent)
	case errors.Is(serverErr, ErrPeerClosed) && !errors.Is(err, ErrPeerClosed):
		return err // which is why the server met with that
	}
	// Each side tells what it saw of the other's failure: the first says more.
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// listening is a tcpLink whose listener there is already.
type listening struct {
	tcpLink
	listener *Listener
}

func (l listening) meet(ctx context.Context, _ *Config, _ func() error) (net.Conn, error) {
	return l.listener.Accept(ctx)
}
