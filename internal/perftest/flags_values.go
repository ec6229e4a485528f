package perftest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gofabric/gofabric/internal/command"
)

// size is a message size: a number, and K or M for binary multiples.
type size int

func (s *size) Set(text string) error {
	digits, factor := text, int64(1)
	switch {
	case strings.HasSuffix(text, "K"):
		digits, factor = text[:len(text)-1], 1<<10
	case strings.HasSuffix(text, "M"):
		digits, factor = text[:len(text)-1], 1<<20
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return command.ValueError(fmt.Sprintf("%q is not a size like 4096, 64K or 8M", text))
	}
	if err != nil || v < 1 || v > maxSize/factor {
		return command.ValueError(fmt.Sprintf("%s is not in 1..%d bytes", text, maxSize))
	}
	*s = size(v * factor)
	return nil
}

func (s *size) Type() string { return "size" }

func (s *size) String() string { return strconv.Itoa(int(*s)) }

// word is a text that is not empty: an empty one is a shell's variable that was not
// set, and not the wish for the default.
type word string

func (w *word) Set(text string) error {
	if text == "" {
		return command.ValueError("the value is empty; leave the flag out for the default")
	}
	*w = word(text)
	return nil
}

func (w *word) Type() string { return "string" }

func (w *word) String() string { return string(*w) }

// positive is a number above zero.
type positive float64

func (p *positive) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return command.ValueError(fmt.Sprintf("%q is not a number above zero", text))
	}
	*p = positive(v)
	return nil
}

func (p *positive) Type() string { return "number" }

func (p *positive) String() string {
	if *p == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*p), 'g', -1, 64)
}
