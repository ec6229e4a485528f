package perftest

import "github.com/gofabric/gofabric/verbs"

// Vendors by their number, as adapters report it.
const (
	vendorMellanox    = 0x02c9
	vendorMellanoxPCI = 0x15b3
	vendorIntel       = 0x8086
	vendorBroadcom    = 0x14e4
	vendorAmazon      = 0x1d0f
	vendorQLogic      = 0x1077
)

// inlineLimit is the largest message to send inline: what was asked for, or
// perftest's default, which the latency tests have on adapters that they know.
func (e *end) inlineLimit() int {
	c := e.config
	if c.Inline != nil {
		return *c.Inline
	}
	// The processor takes inline messages, and does not reach a GPU's memory.
	if !c.Tool.Latency || c.Tool.Verb.brings() || c.Memory.onGPU() {
		return 0
	}
	switch e.dev.Attributes().VendorID {
	case vendorMellanox, vendorMellanoxPCI, vendorIntel:
		switch {
		case c.Tool.Verb == VerbWrite:
			return 220
		case c.Connection == verbs.UD:
			return 188
		}
		return 236
	case vendorBroadcom:
		return 96
	case vendorAmazon:
		return 32
	case vendorQLogic:
		return 128
	}
	return 0
}
