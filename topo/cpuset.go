package topo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CPUSet is a set of CPUs by their number, sorted. nil is a set that is not
// known where a field says so.
type CPUSet []int

// maxCPU is the highest number that a CPU can have in Linux. It bounds what a list
// may name, so that a damaged one cannot fill memory.
const maxCPU = 8191

// NewCPUSet returns the set of the given CPUs, sorted and each once.
func NewCPUSet(cpus ...int) CPUSet {
	s := slices.Clone(cpus)
	slices.Sort(s)
	return CPUSet(slices.Compact(s))
}

// ParseCPUList reads the kernel's list form: "0-31,64-95", with steps as in
// "0-6:2/4" where the kernel takes them. An empty text is an empty set, not nil.
func ParseCPUList(text string) (CPUSet, error) {
	s := CPUSet{}
	text = strings.TrimSpace(text)
	if text == "" {
		return s, nil
	}
	for _, item := range strings.Split(text, ",") {
		item = strings.TrimSpace(item)
		span, group, stepped := strings.Cut(item, ":")
		first, last, ranged := strings.Cut(span, "-")
		from, ok := cpuNumber(first)
		to := from
		if ranged && ok {
			to, ok = cpuNumber(last)
		}
		used, step := 1, 1
		if stepped && ok {
			u, g, slash := strings.Cut(group, "/")
			used, ok = cpuNumber(u)
			if ok && slash {
				step, ok = cpuNumber(g)
			}
			ok = ok && slash && ranged && used > 0 && used <= step
		}
		if !ok || to < from {
			return nil, fmt.Errorf("CPU list: %q is not a number below %d or a range, as in 0-31,64-95", clip(item), maxCPU+1)
		}
		for base := from; base <= to; base += step {
			for c := base; c < base+used && c <= to; c++ {
				s = append(s, c)
			}
		}
		if len(s) > 4*maxCPU {
			return nil, fmt.Errorf("CPU list: names more than %d CPUs", maxCPU)
		}
	}
	return NewCPUSet(s...), nil
}

func cpuNumber(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int(n), err == nil && n <= maxCPU
}

// ParseCPUMask reads the kernel's mask form: hexadecimal words of 32 bits from
// the highest CPUs to the lowest, "00000000,0000ffff", with or without 0x. short
// says that a word that is not the first has fewer than eight digits, or that
// the first of several words has a number of digits that no kernel writes (it
// pads to the width of the machine's mask, a multiple of four bits up to eight
// digits): digits were lost, and with them CPUs.
func ParseCPUMask(text string) (set CPUSet, short bool, err error) {
	words := strings.Split(strings.TrimPrefix(strings.TrimSpace(text), "0x"), ",")
	if len(words) > (maxCPU+1)/32 {
		return nil, false, fmt.Errorf("CPU mask: %d words are more than any machine has", len(words))
	}
	set = CPUSet{}
	for i, word := range words {
		word = strings.TrimPrefix(word, "0x")
		v, ok := hexDigits(word, 1, 8, 0xffffffff)
		if !ok && len(words) == 1 && word != "" {
			return parseLongMask(word)
		}
		if !ok {
			return nil, false, fmt.Errorf("CPU mask: %q is not a hexadecimal word of at most 8 digits", clip(word))
		}
		if len(word) < 8 && (i > 0 || len(word) == 7) {
			short = true
		}
		base := 32 * (len(words) - 1 - i)
		for b := 0; b < 32; b++ {
			if v>>b&1 == 1 {
				set = append(set, base+b)
			}
		}
	}
	slices.Sort(set)
	return set, short, nil
}

// parseLongMask reads a mask in one word of any length, as 0x1ffffffff.
func parseLongMask(word string) (CPUSet, bool, error) {
	if len(word) > (maxCPU+1)/4 {
		return nil, false, fmt.Errorf("CPU mask: %d digits are more than any machine has", len(word))
	}
	set := CPUSet{}
	for i := len(word) - 1; i >= 0; i-- {
		v, ok := hexDigits(word[i:i+1], 1, 1, 15)
		if !ok {
			return nil, false, fmt.Errorf("CPU mask: %q is not hexadecimal", clip(word))
		}
		base := 4 * (len(word) - 1 - i)
		for b := 0; b < 4; b++ {
			if v>>b&1 == 1 {
				set = append(set, base+b)
			}
		}
	}
	return set, false, nil
}

// String writes the set as the kernel's list: "0-31,64-95".
func (s CPUSet) String() string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] == s[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(s[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(s[j]))
		}
		i = j + 1
	}
	return b.String()
}

// Mask writes the set as the kernel's mask of whole 32-bit words: "0000ffff".
func (s CPUSet) Mask() string {
	words := 1
	if len(s) > 0 {
		words = s[len(s)-1]/32 + 1
	}
	bits := make([]uint32, words)
	for _, c := range s {
		bits[c/32] |= 1 << (c % 32)
	}
	text := make([]string, 0, words)
	for i := words - 1; i >= 0; i-- {
		text = append(text, fmt.Sprintf("%08x", bits[i]))
	}
	return strings.Join(text, ",")
}

// Contains reports whether the CPU is in the set.
func (s CPUSet) Contains(cpu int) bool {
	_, found := slices.BinarySearch(s, cpu)
	return found
}

// Intersect returns the CPUs that are in both sets.
func (s CPUSet) Intersect(t CPUSet) CPUSet {
	both := CPUSet{}
	for _, c := range s {
		if t.Contains(c) {
			both = append(both, c)
		}
	}
	return both
}

// Union returns the CPUs that are in either set.
func (s CPUSet) Union(t CPUSet) CPUSet {
	either := slices.Grow(CPUSet(nil), max(len(s), len(t)))
	for len(s) > 0 && len(t) > 0 {
		if s[0] <= t[0] {
			either, s = append(either, s[0]), s[1:]
		} else {
			either, t = append(either, t[0]), t[1:]
		}
	}
	return slices.Compact(append(append(either, s...), t...))
}

// MarshalText implements encoding.TextMarshaler with the list form.
func (s CPUSet) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with the list form.
func (s *CPUSet) UnmarshalText(text []byte) (err error) {
	*s, err = ParseCPUList(string(text))
	return err
}
