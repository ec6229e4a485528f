package nccltest

import (
	"fmt"
	"strconv"
	"strings"
)

// split puts processes into groups that each make a communicator: those with
// the same colour. The zero value is one group.
type split struct {
	operator byte // '&', '|', '%', '/', or 0
	operand  int
}

var splitWords = []struct {
	word     string
	operator byte
}{{"AND", '&'}, {"&", '&'}, {"OR", '|'}, {"|", '|'}, {"MOD", '%'}, {"%", '%'}, {"DIV", '/'}, {"/", '/'}}

// parseSplit reads NCCL_TESTS_SPLIT: an operation on the process's number, such
// as "MOD 2", "&0x1" or "DIV 8".
func parseSplit(text string) (split, error) {
	for _, w := range splitWords {
		if len(text) < len(w.word) || !strings.EqualFold(text[:len(w.word)], w.word) {
			continue
		}
		operand, err := strconv.ParseInt(strings.TrimSpace(text[len(w.word):]), 0, 32)
		if err != nil {
			return split{}, fmt.Errorf("%q: no number stands after %s", text, w.word)
		}
		if operand <= 0 && w.operator != '&' && w.operator != '|' {
			return split{}, fmt.Errorf("%q: the number must be greater than 0", text)
		}
		return split{w.operator, int(operand)}, nil
	}
	return split{}, fmt.Errorf("%q: want AND, OR, MOD or DIV (or & | %% /) and a number", text)
}

// parseSplitMask reads NCCL_TESTS_SPLIT_MASK, a hexadecimal number.
func parseSplitMask(text string) (split, error) {
	digits := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "0x")
	mask, err := strconv.ParseUint(digits, 16, 31)
	if err != nil {
		return split{}, fmt.Errorf("%q is no hexadecimal number", text)
	}
	return split{'&', int(mask)}, nil
}

// color is the group of a process.
func (s split) color(process int) int {
	switch s.operator {
	case '&':
		return process & s.operand
	case '|':
		return process | s.operand
	case '%':
		return process % s.operand
	case '/':
		return process / s.operand
	}
	return 0
}
