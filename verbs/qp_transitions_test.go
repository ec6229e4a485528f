package verbs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTransitions checks rows of the specification's table that set the
// services apart.
func TestTransitions(t *testing.T) {
	connect := AttrAV | AttrPathMTU | AttrDestQPN | AttrRQPSN
	for _, c := range []struct {
		kind     QPType
		from, to QPState
		mask     AttrMask
		ok       bool
	}{
		{RC, StateReset, StateInit, AttrPKeyIndex | AttrPort | AttrAccess, true},
		{UC, StateReset, StateInit, AttrPKeyIndex | AttrPort | AttrAccess, true},
		{UD, StateReset, StateInit, AttrPKeyIndex | AttrPort | AttrAccess, false},
		{UD, StateReset, StateInit, AttrPKeyIndex | AttrPort | AttrQKey, true},
		{RC, StateReset, StateInit, AttrPKeyIndex | AttrPort | AttrAccess | AttrQKey, false},
		{RC, StateInit, StateRTR, connect, false},
		{RC, StateInit, StateRTR, connect | AttrMaxDestReads | AttrMinRNRTimer, true},
		{UC, StateInit, StateRTR, connect, true},
		{UC, StateInit, StateRTR, connect | AttrMaxDestReads, false},
		{UD, StateInit, StateRTR, 0, true},
		{UD, StateInit, StateRTR, AttrQKey, true},
		{UD, StateInit, StateRTR, AttrAV, false},
		{RC, StateRTR, StateRTS, AttrSQPSN, false},
		{UC, StateRTR, StateRTS, AttrSQPSN, true},
		{UC, StateRTR, StateRTS, AttrSQPSN | AttrTimeout, false},
		{UD, StateRTR, StateRTS, AttrSQPSN, true},
		{RC, StateRTS, StateRTS, AttrMinRNRTimer, true},
		{UC, StateRTS, StateRTS, AttrMinRNRTimer, false},
		{UD, StateRTS, StateRTS, AttrQKey, true},
		{RC, StateRTS, StateSQD, AttrEnSQDAsyncNotify, true},
		{RC, StateSQD, StateSQD, AttrTimeout | AttrMaxReads, true},
		{UC, StateSQD, StateSQD, AttrTimeout, false},
		{RC, StateSQE, StateRTS, AttrCurState, false},
		{UC, StateSQE, StateRTS, AttrCurState, true},
		{UD, StateSQE, StateRTS, AttrCurState | AttrQKey, true},
		{UD, StateReset, StateRTS, 0, false},
		{UC, StateRTS, StateErr, 0, true},
		{UD, StateErr, StateReset, 0, true},
		{RC, StateErr, StateRTS, 0, false},
	} {
		err := checkTransition(c.kind, c.from, c.to, c.mask|AttrState)
		assert.Equal(t, c.ok, err == nil, "%v from %v to %v with %v: %v", c.kind, c.from, c.to, c.mask, err)
	}
}
