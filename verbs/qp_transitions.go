package verbs

import "fmt"

// transition is a row of the specification's table of state changes
// (InfiniBand Architecture, volume 1, section 11.2.5.2, and annex A14 for XRC). That
// of raw packets is the kernel's.
type transition struct{ required, optional AttrMask }

type step struct{ from, to QPState }

// transitions are those of each service. Going to RESET or ERR is allowed from
// everywhere and takes no attribute.
var transitions = map[QPType]map[step]transition{
	RC: {
		{StateReset, StateInit}: {required: AttrPKeyIndex | AttrPort | AttrAccess},
		{StateInit, StateInit}:  {optional: AttrPKeyIndex | AttrPort | AttrAccess},
		{StateInit, StateRTR}: {
			required: AttrAV | AttrPathMTU | AttrDestQPN | AttrRQPSN | AttrMaxDestReads | AttrMinRNRTimer,
			optional: AttrAltPath | AttrAccess | AttrPKeyIndex,
		},
		{StateRTR, StateRTS}: {
			required: AttrTimeout | AttrRetryCount | AttrRNRRetry | AttrSQPSN | AttrMaxReads,
			optional: liveRC,
		},
		{StateRTS, StateRTS}: {optional: liveRC},
		{StateRTS, StateSQD}: {optional: AttrEnSQDAsyncNotify},
		{StateSQD, StateRTS}: {optional: liveRC},
		{StateSQD, StateSQD}: {
			optional: AttrPort | AttrAV | AttrTimeout | AttrRetryCount | AttrRNRRetry | AttrMaxReads |
				AttrMaxDestReads | AttrAltPath | AttrPKeyIndex | AttrAccess | AttrMinRNRTimer | AttrPathMigState,
		},
	},
	UC: {
		{StateReset, StateInit}: {required: AttrPKeyIndex | AttrPort | AttrAccess},
		{StateInit, StateInit}:  {optional: AttrPKeyIndex | AttrPort | AttrAccess},
		{StateInit, StateRTR}: {
			required: AttrAV | AttrPathMTU | AttrDestQPN | AttrRQPSN,
			optional: AttrAltPath | AttrAccess | AttrPKeyIndex,
		},
		{StateRTR, StateRTS}: {required: AttrSQPSN, optional: liveUC},
		{StateRTS, StateRTS}: {optional: liveUC},
		{StateRTS, StateSQD}: {optional: AttrEnSQDAsyncNotify},
		{StateSQD, StateRTS}: {optional: liveUC},
		{StateSQD, StateSQD}: {optional: AttrAV | AttrAltPath | AttrAccess | AttrPKeyIndex | AttrPathMigState},
		{StateSQE, StateRTS}: {optional: AttrCurState | AttrAccess},
	},
	UD: {
		{StateReset, StateInit}: {required: AttrPKeyIndex | AttrPort | AttrQKey},
		{StateInit, StateInit}:  {optional: AttrPKeyIndex | AttrPort | AttrQKey},
		{StateInit, StateRTR}:   {optional: AttrPKeyIndex | AttrQKey},
		{StateRTR, StateRTS}:    {required: AttrSQPSN, optional: liveUD},
		{StateRTS, StateRTS}:    {optional: liveUD},
		{StateRTS, StateSQD}:    {optional: AttrEnSQDAsyncNotify},
		{StateSQD, StateRTS}:    {optional: liveUD},
		{StateSQD, StateSQD}:    {optional: AttrPKeyIndex | AttrQKey},
		{StateSQE, StateRTS}:    {optional: liveUD},
	},
	XRCSend: {
		{StateReset, StateInit}: {required: AttrPKeyIndex | AttrPort | AttrAccess},
		{StateInit, StateInit}:  {optional: AttrPKeyIndex | AttrPort | AttrAccess},
		{StateInit, StateRTR}: {
			required: AttrAV | AttrPathMTU | AttrDestQPN | AttrRQPSN,
			optional: AttrAltPath | AttrAccess | AttrPKeyIndex,
		},
		{StateRTR, StateRTS}: {
			required: AttrTimeout | AttrRetryCount | AttrRNRRetry | AttrSQPSN | AttrMaxReads,
			optional: liveUC,
		},
		{StateRTS, StateRTS}: {optional: liveUC},
		{StateRTS, StateSQD}: {optional: AttrEnSQDAsyncNotify},
		{StateSQD, StateRTS}: {optional: liveUC},
		{StateSQD, StateSQD}: {
			optional: AttrPort | AttrAV | AttrTimeout | AttrRetryCount | AttrRNRRetry | AttrMaxReads |
				AttrAltPath | AttrPKeyIndex | AttrAccess | AttrPathMigState,
		},
	},
	XRCRecv: {
		{StateReset, StateInit}: {required: AttrPKeyIndex | AttrPort | AttrAccess},
		{StateInit, StateInit}:  {optional: AttrPKeyIndex | AttrPort | AttrAccess},
		{StateInit, StateRTR}: {
			required: AttrAV | AttrPathMTU | AttrDestQPN | AttrRQPSN | AttrMaxDestReads | AttrMinRNRTimer,
			optional: AttrAltPath | AttrAccess | AttrPKeyIndex,
		},
		{StateRTR, StateRTS}: {required: AttrTimeout | AttrSQPSN, optional: liveRC},
		{StateRTS, StateRTS}: {optional: liveRC},
		{StateRTS, StateSQD}: {optional: AttrEnSQDAsyncNotify},
		{StateSQD, StateRTS}: {optional: liveRC},
		{StateSQD, StateSQD}: {
			optional: AttrPort | AttrAV | AttrTimeout | AttrMaxDestReads | AttrAltPath | AttrPKeyIndex |
				AttrAccess | AttrMinRNRTimer | AttrPathMigState,
		},
	},
	RawPacket: {
		{StateReset, StateInit}: {required: AttrPort},
		{StateInit, StateInit}:  {optional: AttrPort},
		{StateInit, StateRTR}:   {},
		{StateRTR, StateRTS}:    {optional: AttrRateLimit},
		{StateRTS, StateRTS}:    {optional: AttrRateLimit},
	},
}

// What may be changed while a queue pair sends.
const (
	liveUC = AttrCurState | AttrAltPath | AttrAccess | AttrPathMigState
	liveRC = liveUC | AttrMinRNRTimer
	liveUD = AttrCurState | AttrQKey
)

// checkTransition answers what is wrong with a change of state before the
// device is asked: the kernel would only say EINVAL.
func checkTransition(kind QPType, from, to QPState, mask AttrMask) error {
	given := mask &^ AttrState
	t, ok := transitions[kind][step{from, to}]
	switch {
	case to == StateReset || to == StateErr:
		t = transition{optional: AttrCurState}
	case !ok:
		return fmt.Errorf("a queue pair of type %v cannot go from %v to %v", kind, from, to)
	}
	if missing := t.required &^ given; missing != 0 {
		return fmt.Errorf("going from %v to %v needs: %v", from, to, missing)
	}
	if extra := given &^ (t.required | t.optional); extra != 0 {
		return fmt.Errorf("going from %v to %v does not take: %v", from, to, extra)
	}
	return nil
}
