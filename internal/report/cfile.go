package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/gofabric/gofabric/internal/stats"
)

// CFile is what --out_json writes: the JSON file of the C tools, with their names
// and their order, as the releases from 24.01 on have it. That of 4.5 is not
// JSON.
type CFile struct {
	info    field
	results field
}

// field is an object whose fields keep their order.
type field []pair

type pair struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (f field) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range f {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(p.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", p.name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (f *field) add(name string, value any) { *f = append(*f, pair{name, value}) }

// decimal is a number with so many decimals.
func decimal(v float64, places int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf("%.*f", places, v))
}

// NewCFile returns the file of a test, without a result.
func NewCFile(info Info) *CFile {
	c := &CFile{}
	f := &c.info
	number := func(name string, value *int) {
		if value != nil {
			f.add(name, *value)
		}
	}
	f.add("test", strings.ReplaceAll(info.Title, " ", "_"))
	f.add("Dual_port", "OFF")
	f.add("Device", info.Device)
	f.add("Number_of_qps", info.QueuePairs)
	f.add("Transport_type", info.Transport)
	f.add("Connection_type", info.Connection)
	f.add("Using_SRQ", onOff(info.SharedReceive))
	f.add("PCIe_relax_order", onOff(info.RelaxedOrdering))
	f.add("ibv_wr_API", onOff(info.ExtendedWR))
	number("TX_depth", info.TxDepth)
	number("RX_depth", info.RxDepth)
	number("CQ_Moderation", info.CQModeration)
	f.add("Mtu", info.MTU)
	f.add("Link_type", info.LinkType)
	number("GID_index", info.GIDIndex)
	number("Max_inline_data", info.MaxInline)
	number("Outstand_reads", info.OutReads)
	f.add("rdma_cm_QPs", onOff(info.CMPairs))
	f.add("Use_ROCm_memory", "OFF")
	f.add("Data_ex_method", info.exchange())
	number("TOS", info.TypeOfService)
	return c
}

func (c *CFile) begin(size, messages uint64) {
	c.results = field{{"MsgSize", size}, {"n_iterations", messages}}
}

func (c *CFile) end(cpu *float64) {
	if cpu != nil {
		c.results.add("CPU_util", decimal(*cpu, 2))
	}
}

// Bandwidth sets the result; cpu may be nil.
func (c *CFile) Bandwidth(bw stats.Bandwidth, unit stats.Unit, cpu *float64) {
	var peak float64
	if bw.PeakBytesPerSecond != nil {
		peak = unit.FromBytes(*bw.PeakBytesPerSecond)
	}
	average, places := unit.FromBytes(bw.BytesPerSecond), 2
	if unit == stats.Gbit && average < smallGbit {
		places = 6
	}
	c.begin(bw.Size, bw.Messages)
	c.results.add("BW_peak", decimal(peak, places))
	c.results.add("BW_average", decimal(average, places))
	c.results.add("MsgRate", decimal(bw.MessagesPerSecond/1e6, 6))
	c.end(cpu)
}

// Latency sets the result; cpu may be nil.
func (c *CFile) Latency(l stats.Latency, cpu *float64) {
	c.begin(l.Size, l.Messages)
	c.results.add("t_min", decimal(micros(l.Min), 2))
	c.results.add("t_max", decimal(micros(l.Max), 2))
	c.results.add("t_typical", decimal(micros(l.Typical), 2))
	c.results.add("t_avg", decimal(micros(l.Average), 2))
	c.results.add("t_stdev", decimal(micros(l.Deviation), 2))
	c.results.add("percentile_99", decimal(micros(l.P99), 2))
	c.results.add("percentile_99.9", decimal(micros(l.P999), 2))
	c.end(cpu)
}

// LatencyRate sets the result; cpu may be nil.
func (c *CFile) LatencyRate(l stats.LatencyRate, cpu *float64) {
	c.begin(l.Size, l.Messages)
	c.results.add("t_avg", decimal(micros(l.Average), 2))
	c.results.add("tps_average", decimal(l.PerSecond, 2))
	c.end(cpu)
}

// Write writes the file anew.
func (c *CFile) Write(path string) error {
	text, err := json.MarshalIndent(field{{"test_info", c.info}, {"results", c.results}}, "", "  ")
	if err != nil {
		return fmt.Errorf("report: a result cannot be written as JSON: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}
