package nvml

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// CPUSet is a set of processor numbers, ascending. Nil is unknown.
type CPUSet []int

// maxCPU bounds the numbers that ParseCPUSet takes, so that a range of a broken
// file does not fill the memory.
const maxCPU = 1 << 16

// CPUSetFromMask reads an affinity mask as NVML fills it: words of the machine's
// size, the lowest processor in the lowest bit of the first. Only the bits that
// are set count: the length of a mask says nothing about how many processors a
// machine has. A mask without a bit is unknown, nil.
func CPUSetFromMask(words []uint) CPUSet {
	var set CPUSet
	for i, word := range words {
		for ; word != 0; word &= word - 1 {
			set = append(set, i*bits.UintSize+bits.TrailingZeros(word))
		}
	}
	return set
}

// ParseCPUSet reads the kernel's list format: "0-55,112-167", also "0,4,8".
// An empty text is an empty set, not unknown.
func ParseCPUSet(text string) (CPUSet, error) {
	set := CPUSet{}
	text = strings.TrimSpace(text)
	if text == "" {
		return set, nil
	}
	last := -1
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.ParseUint(from, 10, 32)
		end := first
		if err == nil && isRange {
			end, err = strconv.ParseUint(to, 10, 32)
		}
		if err != nil || end < first || end > maxCPU {
			return nil, fmt.Errorf("%q is not a list of processors such as 0-55,112-167", clip(part))
		}
		for cpu := int(first); cpu <= int(end); cpu++ {
			if cpu <= last {
				return nil, fmt.Errorf("the list of processors is not ascending at %d", cpu)
			}
			last = cpu
			set = append(set, cpu)
		}
	}
	return set, nil
}

func clip(text string) string {
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}

// String writes the kernel's list format: "0-55,112-167".
func (s CPUSet) String() string {
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i
		for end+1 < len(s) && s[end+1] == s[end]+1 {
			end++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(s[i]))
		if end > i {
			b.WriteString("-" + strconv.Itoa(s[end]))
		}
		i = end + 1
	}
	return b.String()
}

// MarshalText writes the list format.
func (s CPUSet) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the list format.
func (s *CPUSet) UnmarshalText(text []byte) error {
	set, err := ParseCPUSet(string(text))
	if err == nil {
		*s = set
	}
	return err
}
