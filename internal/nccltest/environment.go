package nccltest

import (
	"fmt"
	"strconv"
	"strings"
)

// Variables of nccl-tests.
const (
	envDevice       = "NCCL_TESTS_DEVICE"
	envSplit        = "NCCL_TESTS_SPLIT"
	envSplitMask    = "NCCL_TESTS_SPLIT_MASK"
	envMinBandwidth = "NCCL_TESTS_MIN_BW"
)

// variable is a variable of the environment, for the help text.
type variable struct{ name, what string }

// variables are what tool reads.
func variables(tool Tool) []variable {
	list := []variable{
		{envDevice, "the number of the first GPU of each process"},
		{envSplit, "make groups of the processes: AND, OR, MOD or DIV and a number"},
		{envSplitMask, "make groups by a mask of the process's number"},
		{envMinBandwidth, "GB/s of which 90 % must be reached on average, or the exit status is 7"},
	}
	if tool.Name == AllToAllV.Name {
		list = append(list, patternVariables...)
	}
	return list
}

// environment reads the variables of nccl-tests.
func (p *parser) environment(lookup func(string) (string, bool)) error {
	c := &p.config
	bad := func(name, problem string) error {
		return &UsageError{Tool: c.Tool.Name, Flag: name, Problem: problem}
	}
	if text, ok := lookup(envDevice); ok {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < -1 {
			return bad(envDevice, fmt.Sprintf("%q is no GPU's number", text))
		}
		if n >= 0 {
			c.Device = &n
		}
	}
	var err error
	if text, ok := lookup(envSplitMask); ok {
		if c.Group, err = parseSplitMask(text); err != nil {
			return bad(envSplitMask, err.Error())
		}
	} else if text, ok := lookup(envSplit); ok {
		if c.Group, err = parseSplit(text); err != nil {
			return bad(envSplit, err.Error())
		}
	}
	if text, ok := lookup(envMinBandwidth); ok {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return bad(envMinBandwidth, fmt.Sprintf("%q is no bandwidth in GB/s", text))
		}
		c.MinBandwidth = &v
	}
	if c.Tool.Name == AllToAllV.Name {
		if c.pattern, err = readPattern(lookup); err != nil {
			return bad("", err.Error())
		}
	}
	return nil
}

// refusedFlags are the flags of the C tool that we do not have, and why.
var refusedFlags = []struct{ long, short, reason string }{
	{"device_implementation", "D", "runs the C tool's own kernels on NCCL's device API, whose ABI changes between releases; this program only has NCCL's host calls"},
	{"device_cta_count", "V", "is for -D, which this program does not have"},
}
