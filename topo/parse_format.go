package topo

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Format names a form in which a machine is described.
type Format string

const (
	FormatNCCL         Format = "NCCL topology XML"
	FormatHwloc        Format = "hwloc XML"
	FormatLspciTree    Format = "lspci -tv"
	FormatLspciVerbose Format = "lspci -vvv"
	FormatMatrix       Format = "nvidia-smi topo -m"
)

// ErrUnknownFormat is in the chain of the error of Parse for data that is none of
// the formats.
var ErrUnknownFormat = errors.New("not a description of a machine in any known format")

// MaxInput is how many bytes Parse takes. The largest real input, lspci -vvv of a
// machine with a thousand functions, has some 4 MiB. A reader of files needs to
// read one byte more at most to see that a file is too long.
const MaxInput = 64 << 20

// parser is one format. not says in a few words why data is not in the format,
// and "" when it is: then parse has the last word.
type parser struct {
	format Format
	not    func(data []byte) string
	parse  func(data []byte) (*System, error)
}

// parsers stand in the order in which they are tried: what is surest first.
func parsers() []parser {
	return []parser{
		{FormatCapture, notCapture, parseCapture},
		{FormatNCCL, notXML("system"), parseNCCL},
		{FormatHwloc, notXML("topology"), parseHwloc},
		{FormatMatrix, notMatrix, parseMatrix},
		{FormatLspciTree, notLspciTree, parseLspciTree},
		{FormatLspciVerbose, notLspciVerbose, parseLspciVerbose},
	}
}

// Parse reads a description of a machine in any of the formats, told apart by
// their content: a capture (see Capture), NCCL's topology XML, hwloc's XML
// (versions 1 to 3), the text of lspci -tv, of lspci -vvv and of nvidia-smi topo
// -m, with or without terminal escape codes. The System is finished; what the format does not tell is absent
// in it.
//
// The format is "" and the error has ErrUnknownFormat in its chain where the
// content fits none; the error then says what was tried. Otherwise an error says
// what is wrong and where; it is an *InvalidError where the description
// contradicts itself.
func Parse(data []byte) (*System, Format, error) {
	if len(data) > MaxInput {
		return nil, "", fmt.Errorf("%w: it has more than the %d MiB that a description may have",
			ErrUnknownFormat, MaxInput>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var tried []string
	for _, p := range parsers() {
		if why := p.not(data); why != "" {
			tried = append(tried, string(p.format)+" ("+why+")")
			continue
		}
		s, err := p.parse(data)
		if err != nil {
			return nil, p.format, fmt.Errorf("%s: %w", p.format, err)
		}
		s.Source = string(p.format)
		if err := s.Finish(); err != nil {
			return nil, p.format, fmt.Errorf("%s: %w", p.format, err)
		}
		return s, p.format, nil
	}
	return nil, "", fmt.Errorf("%w; tried %s", ErrUnknownFormat, strings.Join(tried, ", "))
}

// textLines splits text as tools print it into lines: no escape codes, no
// carriage returns, no invalid UTF-8.
func textLines(data []byte) []string {
	text := strings.ToValidUTF8(string(data), "?")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Split(stripEscapes(text), "\n")
}

// stripEscapes removes the escape sequences that terminals take: CSI sequences
// as ESC [ 4 m, and what is left of them ("[4m", "[0m") where a tool on the way
// dropped the ESC itself.
func stripEscapes(s string) string {
	if !strings.ContainsAny(s, "\x1b[") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case strings.HasPrefix(rest, "\x1b["):
			j := 2
			for j < len(rest) && rest[j] >= 0x20 && rest[j] <= 0x3f {
				j++
			}
			i += min(j+1, len(rest))
		case rest[0] == 0x1b:
			i++
		case strings.HasPrefix(rest, "[4m"), strings.HasPrefix(rest, "[0m"):
			i += 3
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

// isNVIDIAGPU says whether a function is a GPU that nvidia-smi would count: a
// display or 3D controller of NVIDIA, or of a vendor that the source keeps back.
func isNVIDIAGPU(d *PCIDevice) bool {
	return d.Class>>16 == 0x03 && (d.Vendor == vendorNVIDIA || d.Vendor == 0)
}

const classBridge Class = 0x060400

// numberGPUs gives the GPUs the order of their addresses, which is nvidia-smi's,
// where the source does not number them.
func numberGPUs(gpus []*GPU) {
	slices.SortStableFunc(gpus, func(a, b *GPU) int { return a.PCI.Compare(b.PCI) })
	for i, g := range gpus {
		g.Index = i
	}
}
