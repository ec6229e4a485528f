package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/topo/doctor"
)

// nodePath is what a peer is asked for.
const nodePath = "/v1/node"

// nodeSchema tells a doctor's answer from another service's. It grows when a field
// changes its meaning.
const nodeSchema = "gofabric doctor node 1"

// answer is what is served.
type answer struct {
	Schema string `json:"schema"`
	doctor.Node
}

// mostBytes bounds what a peer may answer, and peerTimeout how long it may take.
const (
	mostBytes   = 1 << 20
	peerTimeout = 10 * time.Second
)

// serve answers peers until the context ends. It tells what Node holds: device
// names, firmware, rates, MTUs, kinds of GIDs and NCCL's settings, and takes
// nothing from those who ask.
func serve(ctx context.Context, address string, n doctor.Node, log io.Writer) error {
	data, err := json.MarshalIndent(answer{nodeSchema, n}, "", "  ")
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
	var a answer
	host, port, err := net.SplitHostPort(address)
	if number, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || number == 0 || strings.ContainsAny(host, "/?#@ ") {
		return a.Node, usagef("want host:port, as in node2:9878")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, (&url.URL{Scheme: "http", Host: address, Path: nodePath}).String(), nil)
	if err != nil {
		return a.Node, err
	}
	client := http.Client{
		// A peer is in the same network: no proxy, and no way to somewhere else.
		Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 8 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return a.Node, noAnswer(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return a.Node, fmt.Errorf("it answers %s: that is no doctor", response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, mostBytes+1))
	switch {
	case err != nil:
		return a.Node, noAnswer(ctx, err)
	case len(data) > mostBytes:
		return a.Node, fmt.Errorf("it answers with more than %d bytes: that is no doctor", mostBytes)
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a.Node, fmt.Errorf("its answer is no doctor's: %w", err)
	}
	if a.Schema != nodeSchema {
		return a.Node, fmt.Errorf("its answer is no doctor's, or another release's: the schema is %q and not %q", a.Schema[:min(len(a.Schema), 40)], nodeSchema)
	}
	if err := a.Check(); err != nil {
		return a.Node, err
	}
	if a.Hostname == "" {
		a.Hostname = address
	}
	return a.Node, nil
}

// noAnswer says why a peer has not answered, or what ended the question.
func noAnswer(ctx context.Context, err error) error {
	if signal := (command.SignalError{}); errors.As(context.Cause(ctx), &signal) {
		return signal
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it has not answered within %s: is doctor --serve running there?", peerTimeout)
	}
	var request *url.Error // which says again what was asked
	if errors.As(err, &request) {
		err = request.Err
	}
	return fmt.Errorf("%w: is doctor --serve running there?", err)
}
