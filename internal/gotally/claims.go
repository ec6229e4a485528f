package main

import (
	"regexp"
	"strings"
)

// What tests print of the C functions that they covered, and of where they ran;
// package testutil has the other side.
var (
	claimLine = regexp.MustCompile(`: coverage: ((?:tested|refused) [a-z][a-z0-9_]*)\n$`)
	whereLine = regexp.MustCompile(`: coverage: on (.*)\n$`)
)

// claim keeps what a line of a test's output claims until the test has passed.
func (t *tally) claim(test *outcome, line string) {
	if found := claimLine.FindStringSubmatch(line); found != nil {
		test.claims = append(test.claims, found[1])
	}
	if found := whereLine.FindStringSubmatch(line); found != nil {
		t.where = found[1]
	}
}

// claimed takes the claims of a test that passed. Of several tests that make one,
// the first by name stands for it.
func (t *tally) claimed(test string, claims []string) {
	if _, name, ok := strings.Cut(test, "/"); ok {
		test = name
	}
	for _, c := range claims {
		if before, ok := t.claims[c]; !ok || test < before {
			t.claims[c] = test
		}
	}
}
