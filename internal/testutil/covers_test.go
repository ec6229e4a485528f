package testutil

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// claimer is a test that records what a claim does to it.
type claimer struct {
	testing.TB
	logs, errs []string
	failed     bool
	cleanups   []func()
}

func (c *claimer) Helper()          {}
func (c *claimer) Failed() bool     { return c.failed }
func (c *claimer) Cleanup(f func()) { c.cleanups = append(c.cleanups, f) }
func (c *claimer) Logf(format string, args ...any) {
	c.logs = append(c.logs, fmt.Sprintf(format, args...))
}

func (c *claimer) Errorf(format string, args ...any) {
	c.failed = true
	c.errs = append(c.errs, fmt.Sprintf(format, args...))
}

func (c *claimer) Fatalf(format string, args ...any) { c.Errorf(format, args...) }

func (c *claimer) end() {
	for _, f := range c.cleanups {
		f()
	}
}

func TestClaimWithoutACall(t *testing.T) {
	c := &claimer{TB: t}
	WatchCalls(c)
	Covers(c, "ibv_nobody_called_this")
	assert.Empty(t, c.logs)
	c.end()
	assert.Len(t, c.errs, 1)
	assert.Empty(t, c.logs, "nothing is counted")

	c = &claimer{TB: t}
	Refuses(c, errors.ErrUnsupported, "ibv_nobody_called_this")
	c.end()
	assert.Len(t, c.errs, 1)
	assert.Empty(t, c.logs)

	c = &claimer{TB: t}
	Refuses(c, errors.New("another error"), "ibv_nobody_called_this")
	assert.Len(t, c.errs, 1, "it is no refusal")
}

func TestClaimOfAFailedTest(t *testing.T) {
	c := &claimer{TB: t, failed: true}
	Covers(c, "ibv_inc_rkey")
	c.end()
	assert.Empty(t, c.logs)
	assert.Empty(t, c.errs)
}

func TestClaimOfArithmetic(t *testing.T) {
	c := &claimer{TB: t}
	Covers(c, "ibv_inc_rkey")
	c.end()
	assert.Equal(t, []string{"coverage: tested ibv_inc_rkey"}, c.logs)
}

func TestClaimOfAnotherProcess(t *testing.T) {
	c := &claimer{TB: t}
	CoversElsewhere(c, "    covers.go:1: coverage: tested ibv_a\n", "ibv_a", "ibv_b")
	assert.Equal(t, []string{"coverage: tested ibv_a"}, c.logs)
	assert.Len(t, c.errs, 1)
}
