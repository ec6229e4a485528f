// Package pairs runs a perftest tool against another, as server and client on
// this machine, and reads what they print. Either may be the C tool or ours.
package pairs
