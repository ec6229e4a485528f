package counters

import "strings"

// Source is where a counter stands.
type Source string

// The sources.
const (
	Port      Source = "counters"    // of the port, as the InfiniBand specification names them
	Vendor    Source = "hw_counters" // of the port, in the driver's own names
	Interface Source = "statistics"  // of the port's network interface, all its traffic
	Ethtool   Source = "ethtool"     // the interface's driver, in its own names
	AER       Source = "aer"         // errors of a PCIe link
)

// Unit is what a Value counts.
type Unit string

// The units.
const (
	Events  Unit = "events"
	Bytes   Unit = "bytes"
	Packets Unit = "packets"
	// Ticks are in a unit of the vendor: only their ratio to others tells anything.
	Ticks Unit = "ticks"
)

// Severity is how bad growth of a counter is.
type Severity int

// The severities, ascending.
const (
	None     Severity = iota // traffic, or not known to be bad
	Info                     // worth knowing: congestion
	Warning                  // costs speed
	Critical                 // data is lost or a link goes down
)

// String returns "none", "info", "warning" or "critical".
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	case Critical:
		return "critical"
	}
	return "none"
}

// MarshalText implements encoding.TextMarshaler with the words of String.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the words of String.
func (s *Severity) UnmarshalText(text []byte) error {
	for _, known := range []Severity{None, Info, Warning, Critical} {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return &wordError{string(text)}
}

type wordError struct{ word string }

func (e *wordError) Error() string {
	return "counters: " + clip(e.word) + " is no severity: want none, info, warning or critical"
}

// Description says what a counter is.
type Description struct {
	Unit  Unit
	Scale uint64 // what the file's number is multiplied by: 4 for words of data
	// Bits is the width at which the counter sticks, 0 where it does not.
	Bits     int
	Severity Severity // of growth
	Means    string   // a phrase, "" for traffic and unknown names
}

// Describe tells about a counter by its name, and of an unknown one that it counts
// events of no severity: vendors add names freely.
func Describe(source Source, name string) Description {
	info, known := Description{}, false
	switch source {
	case Port:
		info, known = portCounters[name]
	case Vendor:
		info, known = vendorCounters[name]
		if !known {
			info = vendorByWords(name)
		}
	case Interface, Ethtool:
		info = byWords(name)
	case AER:
		info = aerInfo(name)
	}
	if info.Unit == "" {
		info.Unit = Events
	}
	if info.Scale == 0 {
		info.Scale = 1
	}
	return info
}

// portCounters are those of the specification. Widths are those without the
// extended set, whose 64 bits never fill.
var portCounters = map[string]Description{
	"port_xmit_data":                  {Unit: Bytes, Scale: 4, Bits: 32},
	"port_rcv_data":                   {Unit: Bytes, Scale: 4, Bits: 32},
	"port_xmit_packets":               {Unit: Packets, Bits: 32},
	"port_rcv_packets":                {Unit: Packets, Bits: 32},
	"unicast_xmit_packets":            {Unit: Packets},
	"unicast_rcv_packets":             {Unit: Packets},
	"multicast_xmit_packets":          {Unit: Packets},
	"multicast_rcv_packets":           {Unit: Packets},
	"port_xmit_wait":                  {Unit: Ticks, Bits: 32, Severity: Info, Means: "the port had data and no credits: congestion"},
	"link_downed":                     {Bits: 8, Severity: Critical, Means: "the link went down"},
	"excessive_buffer_overrun_errors": {Bits: 4, Severity: Critical, Means: "the receiver's buffers overran"},
	"local_link_integrity_errors":     {Bits: 4, Severity: Critical, Means: "the physical link lost its integrity; heat did it once"},
	"symbol_error":                    {Bits: 16, Severity: Warning, Means: "symbols arrived damaged: cable or transceiver"},
	"port_rcv_errors":                 {Bits: 16, Severity: Warning, Means: "packets arrived damaged"},
	"link_error_recovery":             {Bits: 8, Severity: Warning, Means: "the link had to recover"},
	"port_xmit_discards":              {Bits: 16, Severity: Warning, Means: "packets were dropped before they were sent: congestion or a port that is down"},
	"VL15_dropped":                    {Bits: 16, Severity: Warning, Means: "management packets were dropped"},
	"port_rcv_remote_physical_errors": {Bits: 16, Severity: Warning, Means: "packets arrived marked bad: the damage is upstream"},
	"port_rcv_constraint_errors":      {Bits: 8, Severity: Warning, Means: "packets were refused by a partition or filter on arrival"},
	"port_xmit_constraint_errors":     {Bits: 8, Severity: Warning, Means: "packets were refused by a partition or filter on departure"},
	"port_rcv_switch_relay_errors":    {Bits: 16, Severity: Info, Means: "a switch could not forward packets"},
}

// vendorCounters are mlx5's, and rxe's where the meaning is the same.
var vendorCounters = map[string]Description{
	"out_of_sequence":            {Severity: Warning, Means: "packets arrived out of order: loss, or adaptive routing"},
	"packet_seq_err":             {Severity: Warning, Means: "the peer reported missing packets"},
	"implied_nak_seq_err":        {Severity: Warning, Means: "an answer was missing"},
	"local_ack_timeout_err":      {Severity: Warning, Means: "no acknowledgement came in time: loss, or a peer that hangs"},
	"rnr_nak_retry_err":          {Severity: Warning, Means: "the peer had posted no receive"},
	"out_of_buffer":              {Severity: Warning, Means: "a message came and no receive was posted"},
	"roce_adp_retrans":           {Severity: Warning, Means: "adaptive retransmission: packets are lost"},
	"roce_adp_retrans_to":        {Severity: Warning, Means: "adaptive retransmission timed out"},
	"roce_slow_restart":          {Severity: Warning, Means: "a connection began slowly again after loss"},
	"rx_icrc_encapsulated":       {Severity: Warning, Means: "RoCE packets arrived damaged"},
	"duplicate_request":          {Severity: Warning, Means: "requests came twice: their answers were lost"},
	"req_remote_access_errors":   {Severity: Critical, Means: "the peer refused a key, an address or a right"},
	"resp_remote_access_errors":  {Severity: Critical, Means: "a peer used a wrong key, address or right"},
	"req_cqe_error":              {Severity: Critical, Means: "requests ended with an error"},
	"resp_cqe_error":             {Severity: Critical, Means: "receives ended with an error"},
	"req_cqe_flush_error":        {Means: "requests were flushed, as when a connection is closed"},
	"resp_cqe_flush_error":       {Means: "receives were flushed, as when a connection is closed"},
	"req_remote_invalid_request": {Severity: Warning, Means: "the peer took a request for invalid"},
	"resp_local_length_error":    {Severity: Warning, Means: "a message was longer than the receive"},
	"np_cnp_sent":                {Severity: Info, Means: "congestion was seen here and told to the sender"},
	"rp_cnp_handled":             {Severity: Info, Means: "sending was slowed down by congestion"},
	"rp_cnp_ignored":             {Severity: Info, Means: "a notice of congestion was ignored"},
	"np_ecn_marked_roce_packets": {Severity: Info, Means: "packets arrived marked by a congested switch"},
	"rx_write_requests":          {},
	"rx_read_requests":           {},
	"rx_atomic_requests":         {},
	// rxe's names.
	"out_of_seq_request":     {Severity: Warning, Means: "packets arrived out of order or were lost"},
	"rcvd_rnr_err":           {Severity: Warning, Means: "the peer had posted no receive"},
	"rcvd_seq_err":           {Severity: Warning, Means: "the peer reported missing packets"},
	"ack_deferred":           {},
	"completer_retry_err":    {Severity: Warning, Means: "requests were sent again"},
	"retry_exceeded_err":     {Severity: Critical, Means: "a connection broke: no answer after all retries"},
	"retry_rnr_exceeded_err": {Severity: Critical, Means: "a connection broke: the peer never posted a receive"},
	"link_downed":            {Severity: Critical, Means: "the link went down"},
}

// vendorByWords takes CNP and ECN counters of other vendors for what they are.
func vendorByWords(name string) Description {
	if strings.Contains(name, "cnp") || strings.Contains(name, "ecn") {
		return Description{Severity: Info, Means: "congestion was signalled"}
	}
	return byWords(name)
}

// byWords gives a generic name its unit, by the words that drivers use alike.
func byWords(name string) Description {
	switch {
	case strings.Contains(name, "bytes"), strings.HasSuffix(name, "octets"):
		return Description{Unit: Bytes}
	case strings.Contains(name, "pause") || strings.HasSuffix(name, "discards_phy"):
		return Description{Severity: Info, Means: "the interface was paused, or dropped packets: congestion"}
	case strings.HasSuffix(name, "packets"), strings.HasSuffix(name, "pkts"):
		return Description{Unit: Packets}
	case name == "rx_crc_errors", name == "rx_crc_errors_phy", name == "rx_symbol_err_phy":
		return Description{Severity: Warning, Means: "frames arrived damaged: cable or transceiver"}
	case name == "link_down_events_phy":
		return Description{Severity: Critical, Means: "the link went down"}
	}
	return Description{}
}

func aerInfo(name string) Description {
	class, _, _ := strings.Cut(name, "/")
	switch class {
	case "fatal":
		return Description{Severity: Critical, Means: "the PCIe link lost data beyond repair"}
	case "nonfatal":
		return Description{Severity: Critical, Means: "PCIe transactions failed"}
	case "correctable":
		return Description{Severity: Warning, Means: "the PCIe link repeats damaged packets: signal integrity"}
	}
	return Description{}
}

func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
