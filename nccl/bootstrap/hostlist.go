package bootstrap

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// maxHosts bounds what a node list may expand to, and maxHostName the length of
// each name: a short list could stand for more than there is memory.
const (
	maxHosts    = 1 << 16
	maxHostName = 255
)

// maxNesting bounds brackets within brackets.
const maxNesting = 8

var errHostlist = errors.New("malformed node list")

// A host list is a list of terms; a term is a row of pieces, each of which is
// one of several texts: a literal (one text), a range of numbers, or, for
// brackets, what a list of terms stands for. The names of a term are all
// combinations, the last piece changing fastest.
type hostTerm []hostPiece

type hostPiece struct {
	literal string
	choices []hostTerm // of brackets
	longest int        // of their names
	numbers *numberRange
}

type numberRange struct {
	low, high uint64
	width     int // digits, filled up with zeros
}

// ExpandHostlist returns the names that a node list in Slurm's form stands for,
// in its order: "gpu[001-003,7],login" is gpu001 gpu002 gpu003 gpu7 login.
// Brackets may follow each other and hold brackets: "r[1-2]n[0-1]" and
// "n[1[0-1],5]". A list of more than 65536 names, and one that is not of the
// form, is an error. It follows the section on node names of slurm.conf(5).
func ExpandHostlist(list string) ([]string, error) {
	terms, err := parseHostlist(list)
	if err != nil {
		return nil, err
	}
	if countHosts(terms) > maxHosts {
		return nil, fmt.Errorf("%w: it stands for more than %d names", errHostlist, maxHosts)
	}
	var names []string
	for name := range hostNames(terms) {
		names = append(names, name)
	}
	return names, nil
}

// firstHost returns the first name of a node list.
func firstHost(list string) (string, error) {
	terms, err := parseHostlist(list)
	if err != nil {
		return "", err
	}
	for name := range hostNames(terms) {
		return name, nil
	}
	return "", fmt.Errorf("%w: it is empty", errHostlist)
}

func hostNames(terms []hostTerm) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, term := range terms {
			if !term.each("", yield) {
				return
			}
		}
	}
}

// each yields prefix with every text of the term behind it.
func (t hostTerm) each(prefix string, yield func(string) bool) bool {
	if len(t) == 0 {
		return yield(prefix)
	}
	piece, rest := t[0], t[1:]
	next := func(text string) bool { return rest.each(prefix+text, yield) }
	switch {
	case piece.numbers != nil:
		for n := piece.numbers.low; ; n++ {
			if !next(fmt.Sprintf("%0*d", piece.numbers.width, n)) {
				return false
			}
			if n == piece.numbers.high {
				return true
			}
		}
	case piece.choices != nil:
		for _, choice := range piece.choices {
			if !choice.each("", next) {
				return false
			}
		}
		return true
	default:
		return next(piece.literal)
	}
}

// countHosts counts the names, and stops counting above maxHosts.
func countHosts(terms []hostTerm) uint64 {
	const stop = maxHosts + 1
	sum := uint64(0)
	for _, term := range terms {
		product := uint64(1)
		for _, piece := range term {
			switch {
			case piece.numbers != nil:
				product *= min(piece.numbers.high-piece.numbers.low, stop) + 1
			case piece.choices != nil:
				product *= countHosts(piece.choices)
			}
			product = min(product, stop)
		}
		sum = min(sum+product, stop)
	}
	return sum
}

// longest returns the length of the longest name that the terms stand for.
func longest(terms []hostTerm) int {
	most := 0
	for _, term := range terms {
		length := 0
		for _, piece := range term {
			switch {
			case piece.numbers != nil:
				length += max(piece.numbers.width, len(strconv.FormatUint(piece.numbers.high, 10)))
			case piece.choices != nil:
				length += piece.longest
			default:
				length += len(piece.literal)
			}
		}
		most = max(most, length)
	}
	return most
}

// hostlistParser reads a list from front to back.
type hostlistParser struct {
	text string
	at   int
}

func parseHostlist(list string) ([]hostTerm, error) {
	if len(list) > 1<<20 {
		return nil, fmt.Errorf("%w: it has %d characters", errHostlist, len(list))
	}
	p := hostlistParser{text: list}
	terms, err := p.list(0)
	if err != nil {
		return nil, err
	}
	if p.at < len(p.text) {
		return nil, p.fail("a bracket closes that none opened")
	}
	if n := longest(terms); n > maxHostName {
		return nil, fmt.Errorf("%w: a name has %d characters, %d is the most", errHostlist, n, maxHostName)
	}
	return terms, nil
}

func (p *hostlistParser) fail(problem string) error {
	return fmt.Errorf("%w: %s at character %d", errHostlist, problem, p.at+1)
}

// list reads terms up to the end or to the bracket that closes this list.
func (p *hostlistParser) list(depth int) ([]hostTerm, error) {
	var terms []hostTerm
	for {
		term, err := p.term(depth)
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
		if p.at == len(p.text) || p.text[p.at] == ']' {
			return terms, nil
		}
		p.at++ // the comma
	}
}

func (p *hostlistParser) term(depth int) (hostTerm, error) {
	var term hostTerm
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ',' || c == ']':
			if len(term) == 0 {
				return nil, p.fail("a name is missing")
			}
			return term, nil
		case c == '[':
			if depth == maxNesting {
				return nil, p.fail("too many brackets within brackets")
			}
			p.at++
			choices, err := p.list(depth + 1)
			if err != nil {
				return nil, err
			}
			if p.at == len(p.text) {
				return nil, p.fail("a bracket is not closed")
			}
			p.at++
			term = append(term, hostPiece{choices: choices, longest: longest(choices)})
		default:
			piece, err := p.literal(depth)
			if err != nil {
				return nil, err
			}
			term = append(term, piece)
		}
	}
	if len(term) == 0 {
		return nil, p.fail("a name is missing")
	}
	return term, nil
}

// literal reads up to the next bracket or comma: part of a name, or, within
// brackets, a number or a range of numbers.
func (p *hostlistParser) literal(depth int) (hostPiece, error) {
	start := p.at
	for p.at < len(p.text) && !strings.ContainsRune("[],", rune(p.text[p.at])) {
		if !hostByte(p.text[p.at]) {
			return hostPiece{}, p.fail(fmt.Sprintf("%q cannot stand in a name", p.text[p.at]))
		}
		p.at++
	}
	text := p.text[start:p.at]
	if depth == 0 {
		return hostPiece{literal: text}, nil
	}
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	from, err := parseHostNumber(low)
	if err != nil {
		return hostPiece{}, p.fail(fmt.Sprintf("%q is no number or range of numbers", clip(text)))
	}
	to, err := parseHostNumber(high)
	if err != nil {
		return hostPiece{}, p.fail(fmt.Sprintf("%q is no number or range of numbers", clip(text)))
	}
	if to < from {
		return hostPiece{}, p.fail(fmt.Sprintf("the range %q runs backwards", clip(text)))
	}
	return hostPiece{numbers: &numberRange{low: from, high: to, width: len(low)}}, nil
}

func hostByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

// parseHostNumber takes digits only, and few enough to count with.
func parseHostNumber(text string) (uint64, error) {
	if text == "" || len(text) > 18 || strings.Trim(text, "0123456789") != "" {
		return 0, errHostlist
	}
	return strconv.ParseUint(text, 10, 64)
}

// tasksOfNode reads Slurm's "2(x3),1": how many tasks the node of this number,
// from 0, has.
func tasksOfNode(list string, node int) (int, error) {
	malformed := fmt.Errorf("%q is not of the form \"2(x3),1\"", clip(list))
	for _, item := range strings.Split(list, ",") {
		count, times := item, "1"
		if before, after, ok := strings.Cut(item, "(x"); ok {
			inner, closed := strings.CutSuffix(after, ")")
			if !closed {
				return 0, malformed
			}
			count, times = before, inner
		}
		tasks, err := parseHostNumber(count)
		if err != nil || tasks < 1 || tasks > MaxSize {
			return 0, malformed
		}
		nodes, err := parseHostNumber(times)
		if err != nil || nodes < 1 || nodes > 1<<30 {
			return 0, malformed
		}
		if uint64(node) < nodes {
			return int(tasks), nil
		}
		node -= int(nodes)
	}
	return 0, fmt.Errorf("%q is about fewer nodes", clip(list))
}
