package nccltest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gofabric/gofabric/internal/command"
)

// flag is a flag whose value is 0 or 1.
type flag bool

func (f *flag) Set(text string) error {
	var v int
	if err := (&command.Number{Dst: &v, Low: 0, High: 1}).Set(text); err != nil {
		return err
	}
	*f = v == 1
	return nil
}

func (f *flag) Type() string { return "0|1" }

func (f *flag) String() string {
	if *f {
		return "1"
	}
	return "0"
}

// size is a number of bytes: K, M or G at the end, also small, are binary
// multiples, and a fraction is allowed, as in 1.5G.
type size uint64

func (s *size) Set(text string) error {
	v, ok := parseSize(text)
	if !ok {
		return command.ValueError(fmt.Sprintf("%q is not a size like 8, 64K, 1.5M or 4G", text))
	}
	*s = size(v)
	return nil
}

func parseSize(text string) (uint64, bool) {
	digits, factor := strings.TrimSpace(text), 1.0
	if n := len(digits); n > 1 && strings.ContainsRune("bB", rune(digits[n-1])) {
		digits = digits[:n-1]
	}
	if n := len(digits); n > 0 {
		switch digits[n-1] {
		case 'K', 'k':
			factor = 1 << 10
		case 'M', 'm':
			factor = 1 << 20
		case 'G', 'g':
			factor = 1 << 30
		}
		if factor > 1 {
			digits = strings.TrimSpace(digits[:n-1])
		}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if v *= factor; err != nil || !(v >= 0 && v < 1<<62) {
		return 0, false
	}
	return uint64(v), true
}

func (s *size) Type() string { return "size" }

func (s *size) String() string { return strconv.FormatUint(uint64(*s), 10) }

// choice is a flag whose value is one of several words.
type choice[T any] struct {
	dst   *T
	words []string
	value func(string) (T, error)
	text  string
}

func (c *choice[T]) Set(text string) error {
	v, err := c.value(text)
	if err != nil {
		return command.ValueError(fmt.Sprintf("%q is none of %s", text, strings.Join(c.words, ", ")))
	}
	*c.dst, c.text = v, text
	return nil
}

func (c *choice[T]) Type() string { return "string" }

func (c *choice[T]) String() string { return c.text }

// refused is the value of a flag of the C tool that we do not have.
type refused string

func (r refused) Set(string) error { return command.ValueError(r) }
func (refused) Type() string       { return "string" }
func (refused) String() string     { return "" }
