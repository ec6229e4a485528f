package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gofabric/gofabric/topo/doctor"
)

// nodePath is what a peer is asked for.
const nodePath = "/v1/node"

// mostBytes bounds what a peer may answer, and peerTimeout how long it may take.
const (
	mostBytes   = 1 << 20
	peerTimeout = 10 * time.Second
)

// serve answers peers until the context ends. It tells what Node holds: device
// names, firmware, rates, MTUs, kinds of GIDs and NCCL's settings, and takes
// nothing from those who ask.
func serve(ctx context.Context, address string, n doctor.Node, log io.Writer) error {
	data, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--serve: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+nodePath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data) // a peer that has gone is no matter
	})
	server := &http.Server{
		Handler: http.MaxBytesHandler(mux, 0), MaxHeaderBytes: 8 << 10,
		ReadTimeout: peerTimeout, WriteTimeout: peerTimeout, IdleTimeout: peerTimeout,
	}
	fmt.Fprintf(log, "doctor: answering at %s; compare with doctor --peer HOST:%d\n", listener.Addr(), listener.Addr().(*net.TCPAddr).Port)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--serve: %w", err)
	}
	return nil
}

// ask gets a peer's Node.
func ask(ctx context.Context, address string) (doctor.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	var n doctor.Node
	if _, _, err := net.SplitHostPort(address); err != nil {
		return n, usagef("want host:port")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+nodePath, nil)
	if err != nil {
		return n, err
	}
	client := http.Client{
		// A peer is in the same network: no proxy, and no way to somewhere else.
		Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 8 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return n, fmt.Errorf("%w: is doctor --serve running there?", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return n, fmt.Errorf("it answers %s: that is no doctor", response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, mostBytes+1))
	switch {
	case err != nil:
		return n, err
	case len(data) > mostBytes:
		return n, fmt.Errorf("it answers with more than %d bytes: that is no doctor", mostBytes)
	}
	if err := json.Unmarshal(data, &n); err != nil {
		return n, fmt.Errorf("its answer is no doctor's: %w", err)
	}
	if err := n.Check(); err != nil {
		return n, err
	}
	if n.Hostname == "" {
		n.Hostname = address
	}
	return n, nil
}
