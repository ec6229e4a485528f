package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

const (
	dataDir = "internal/coverage/data"
	oldest  = "44"
	newest  = "56"
	// unboundFile says of functions why they are not bound: "function: reason".
	unboundFile = dataDir + "/unbound.txt"
	// laterFile has functions of releases after the newest list: "release function".
	laterFile = dataDir + "/functions-later.txt"
)

// state is everything that the table is made of.
type state struct {
	lists   map[string][]string // lines "header function" by release
	later   map[string]string   // release by function
	unbound map[string]string   // reason by function
	source  source
	results results
}

func load() (*state, error) {
	if _, err := os.Stat("go.mod"); err != nil {
		return nil, errors.New("run it in the root of the module")
	}
	s := &state{lists: map[string][]string{}, later: map[string]string{}, unbound: map[string]string{}}
	for _, release := range []string{oldest, newest} {
		lines, err := readLines(listFile(release))
		if err != nil {
			return nil, err
		}
		s.lists[release] = lines
	}
	lines, err := readLines(laterFile)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		release, function, _ := strings.Cut(line, " ")
		s.later[function] = release
	}
	if lines, err = readLines(unboundFile); err != nil {
		return nil, err
	}
	for _, line := range lines {
		function, reason, _ := strings.Cut(line, ": ")
		s.unbound[function] = reason
	}
	if s.source, err = readSource(); err != nil {
		return nil, err
	}
	s.results, err = readResults()
	return s, err
}

func functionIn(line string) string {
	_, function, _ := strings.Cut(line, " ")
	return function
}

// Verdicts on a function, from the best to the worst.
const (
	tested = iota
	refused
	onlyBound
	notBound
	verdicts
)

func (s *state) verdict(function string) int {
	switch {
	case !s.source.bound[function]:
		return notBound
	case s.results.claims["tested"][function] != nil:
		return tested
	case s.results.claims["refused"][function] != nil:
		return refused
	}
	return onlyBound
}

// count returns how many functions of some lines have each verdict.
func (s *state) count(lines []string) (n [verdicts]int) {
	for _, line := range lines {
		n[s.verdict(functionIn(line))]++
	}
	return n
}

// sums is the closing line.
func (s *state) sums(release string) string {
	lines := s.lists[release]
	n, all := s.count(lines), len(lines)
	return fmt.Sprintf("bound %d/%d, tested %d/%d, refused %d/%d", all-n[notBound], all, n[tested], all, n[refused], all)
}

// problems are where lists, source, results and the document disagree.
func (s *state) problems() []error {
	var list []error
	bad := func(format string, args ...any) { list = append(list, fmt.Errorf(format, args...)) }
	known := maps.Clone(s.later)
	for _, release := range []string{oldest, newest} {
		for _, line := range s.lists[release] {
			known[functionIn(line)] = release
		}
	}
	for _, names := range []map[string]bool{s.source.bound, s.source.claimed} {
		for _, f := range slices.Sorted(maps.Keys(names)) {
			if _, ok := known[f]; !ok && isOurs(f) {
				bad("%s is bound or claimed and stands in no list of %s", f, dataDir)
			}
		}
	}
	for f := range s.unbound {
		if s.source.bound[f] {
			bad("%s is bound: take it out of %s", f, unboundFile)
		}
	}
	for _, byFunction := range s.results.claims {
		for f := range byFunction {
			if !s.source.claimed[f] || !s.source.bound[f] {
				bad("%s has %s, which no test claims or nothing binds any more: run make conformance", resultsFile, f)
			}
		}
	}
	if err := s.checkDocument(); err != nil {
		list = append(list, err)
	}
	return list
}

// isOurs tells the C libraries that are counted here from others, whose Implements
// lines stand in the same packages.
func isOurs(function string) bool {
	for _, prefix := range []string{"ibv_", "rdma_"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return strings.HasSuffix(function, "_ibv_rate")
}
