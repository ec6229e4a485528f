package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gofabric/gofabric/internal/printable"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/counters"
)

// Metrics. Names follow Prometheus' conventions: base units, counters end in
// _total. docs/monitor.md maps them to node_exporter's.
var (
	ofPort    = []string{"device", "port"}
	ofCounter = []string{"device", "port", "counter"}
	ofGPU     = []string{"gpu", "uuid"}

	portInfo      = desc("port_info", "A port, always 1.", "device", "port", "netdev", "link_layer", "model", "board_id", "firmware", "pci")
	portActive    = desc("port_active", "1 if the port is active, else 0.", ofPort...)
	portState     = desc("port_state_info", "The state of a port as a label, always 1.", "device", "port", "state", "physical_state")
	portRate      = desc("port_rate_bytes_per_second", "What the port signals, per direction.", ofPort...)
	portLimit     = desc("port_limit_bytes_per_second", "What port and PCIe link together allow, per direction.", ofPort...)
	portSent      = desc("port_transmitted_bytes_total", "Bytes sent by the port; on RoCE those of RDMA.", ofPort...)
	portReceived  = desc("port_received_bytes_total", "Bytes received by the port; on RoCE those of RDMA.", ofPort...)
	portSentP     = desc("port_transmitted_packets_total", "Packets sent by the port.", ofPort...)
	portReceivedP = desc("port_received_packets_total", "Packets received by the port.", ofPort...)
	portErrors    = desc("port_errors_total", "Errors and congestion that the port counted, by the InfiniBand specification's names.", "device", "port", "counter", "severity")
	portVendor    = desc("port_hw_events_total", "What the driver counts of the transport, in its own names.", "device", "port", "counter", "severity")
	portSaturated = desc("port_counter_saturated", "1 for a counter that sticks at its greatest value.", ofCounter...)
	portAbsent    = desc("port_counters_absent", "Counters of the port that are there and cannot be read.", ofPort...)
	netSent       = desc("port_netdev_transmitted_bytes_total", "Bytes sent by the port's network interface.", "device", "port", "netdev")
	netReceived   = desc("port_netdev_received_bytes_total", "Bytes received by the port's network interface.", "device", "port", "netdev")
	cardHeat      = desc("card_temperature_celsius", "Temperature of an RDMA card.", "device", "sensor")

	gpuInfo      = desc("gpu_info", "A GPU, always 1.", "gpu", "uuid", "name", "pci")
	gpuBusy      = desc("gpu_busy_ratio", "Share of the last sampling period in which a kernel ran.", ofGPU...)
	gpuMemory    = desc("gpu_memory_used_bytes", "Memory in use.", ofGPU...)
	gpuPower     = desc("gpu_power_watts", "Power drawn.", ofGPU...)
	gpuHeat      = desc("gpu_temperature_celsius", "Temperature.", ofGPU...)
	gpuLinks     = desc("gpu_nvlinks_active", "Active NVLinks.", ofGPU...)
	gpuLinkLimit = desc("gpu_nvlink_limit_bytes_per_second", "Payload that the active NVLinks carry, per direction.", ofGPU...)
	gpuSent      = desc("gpu_nvlink_transmitted_bytes_total", "Payload sent by all NVLinks.", ofGPU...)
	gpuReceived  = desc("gpu_nvlink_received_bytes_total", "Payload received by all NVLinks.", ofGPU...)
	gpuECC       = desc("gpu_uncorrected_memory_errors_total", "Uncorrected memory errors since the driver was loaded.", ofGPU...)

	readFailed = desc("read_failed", "1 if the machine could not be read this time.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("gofabric_"+name, help, labels, nil)
}

// collector reads the machine for each scrape.
type collector struct{ source *source }

// Describe sends nothing: what there is depends on the machine.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	r, err := c.source.read()
	e := emitter{ch}
	if err != nil {
		e.gauge(readFailed, 1)
		return
	}
	e.gauge(readFailed, 0)
	for _, p := range r.ports {
		e.port(r.sys, p)
	}
	for _, g := range r.gpus {
		e.gpu(g)
	}
}

type emitter struct{ ch chan<- prometheus.Metric }

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, clean(labels)...)
}

func (e emitter) counter(d *prometheus.Desc, v uint64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), clean(labels)...)
}

// clean makes labels of names out of files: Prometheus refuses invalid UTF-8.
func clean(labels []string) []string {
	for i := range labels {
		labels[i] = printable.Text(labels[i])
	}
	return labels
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (e emitter) port(s *topo.System, p portReading) {
	device, port := p.hca.Name, strconv.Itoa(p.port.Number)
	netdev, pci := "", ""
	if len(p.port.Netdevs) > 0 {
		netdev = p.port.Netdevs[0]
	}
	if len(p.hca.PCI) > 0 {
		pci = string(p.hca.PCI[0])
	}
	e.gauge(portInfo, 1, device, port, netdev, string(p.port.LinkLayer), p.hca.Model, p.hca.BoardID, p.hca.Firmware, pci)
	if p.port.State != "" {
		e.gauge(portActive, boolean(p.port.State == topo.PortActive), device, port)
		e.gauge(portState, 1, device, port, string(p.port.State), p.port.PhysState)
	}
	const gigabit = 1e9 / 8
	if p.port.RateGbps > 0 {
		e.gauge(portRate, p.port.RateGbps*gigabit, device, port)
	}
	if limit, _ := p.limit(s); limit > 0 {
		e.gauge(portLimit, limit*1e9, device, port)
	}
	for _, v := range p.sample.Values {
		e.value(v, device, port, p.sample.Netdev)
	}
	unreadable := 0
	for _, a := range p.sample.Absent {
		if a.Name != "" {
			unreadable++
		}
	}
	e.gauge(portAbsent, float64(unreadable), device, port)
	told := map[string]bool{}
	for _, t := range p.heat {
		sensor := cmp.Or(printable.Text(t.Label), t.Sensor)
		for told[sensor] { // of another chip of the card
			sensor += " of another chip"
		}
		told[sensor] = true
		e.gauge(cardHeat, t.Celsius, device, sensor)
	}
}

// traffic are the counters that have a metric of their own.
var traffic = map[string]*prometheus.Desc{
	"port_xmit_data": portSent, "port_rcv_data": portReceived, "port_xmit_packets": portSentP, "port_rcv_packets": portReceivedP,
}

func (e emitter) value(v counters.Value, device, port, netdev string) {
	severity := counters.Describe(v.Source, v.Name).Severity
	switch v.Source {
	case counters.Port:
		switch d := traffic[v.Name]; {
		case d != nil:
			e.counter(d, v.Value, device, port)
		case severity > counters.None:
			e.counter(portErrors, v.Value, device, port, v.Name, severity.String())
		}
	case counters.Vendor:
		e.counter(portVendor, v.Value, device, port, v.Name, severity.String())
	case counters.Interface:
		switch v.Name {
		case "tx_bytes":
			e.counter(netSent, v.Value, device, port, netdev)
		case "rx_bytes":
			e.counter(netReceived, v.Value, device, port, netdev)
		}
	}
	if v.Saturated {
		e.gauge(portSaturated, 1, device, port, v.Name)
	}
}

func (e emitter) gpu(g gpuReading) {
	index := strconv.Itoa(g.gpu.Index)
	label := []string{index, g.gpu.UUID}
	e.gauge(gpuInfo, 1, index, g.gpu.UUID, g.gpu.Name, g.gpu.PCIAddress)
	s := g.status
	if s.GPUBusy != nil {
		e.gauge(gpuBusy, float64(*s.GPUBusy)/100, label...)
	}
	if s.MemoryUsed != nil {
		e.gauge(gpuMemory, float64(*s.MemoryUsed), label...)
	}
	if s.Power != nil {
		e.gauge(gpuPower, *s.Power, label...)
	}
	if s.Temperature != nil {
		e.gauge(gpuHeat, float64(*s.Temperature), label...)
	}
	if g.links.Links > 0 {
		e.gauge(gpuLinks, float64(g.links.Active), label...)
	}
	if g.links.Rate != nil && g.links.Active > 0 {
		e.gauge(gpuLinkLimit, *g.links.Rate*1e9, label...)
	}
	if s.NVLinkSent != nil {
		e.counter(gpuSent, *s.NVLinkSent, label...)
	}
	if s.NVLinkReceived != nil {
		e.counter(gpuReceived, *s.NVLinkReceived, label...)
	}
	if s.ECC.Uncorrected != nil {
		e.counter(gpuECC, *s.ECC.Uncorrected, label...)
	}
}

// listenAddress gives an address without a host this machine's own: what others may
// read is what somebody asked for.
func listenAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("--listen %s: want host:port, as in 127.0.0.1:9879", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

func handler(s *source) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{s})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "gofabric monitor: /metrics\n") // a reader that has gone is no matter
	})
	return mux
}

// serve answers Prometheus until the context ends.
func serve(ctx context.Context, address string, s *source, log io.Writer) error {
	address, err := listenAddress(address)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	const patience = 20 * time.Second
	server := &http.Server{
		Handler: http.MaxBytesHandler(handler(s), 0), MaxHeaderBytes: 16 << 10,
		ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: time.Minute,
	}
	fmt.Fprintf(log, "monitor: metrics at http://%s/metrics\n", listener.Addr())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--listen: %w", err)
	}
	return nil
}
