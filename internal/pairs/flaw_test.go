package pairs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRxeFlaw(t *testing.T) {
	ours := "write_bw: verbs: request 323 on QP 0x000028: remote invalid request (status 9, vendor error 0x0)\n"
	theirs := " Completion with error at client\n Failed status 9: wr_id 0 syndrom 0x0\n"
	assert.True(t, Output{Status: 1, Stderr: ours}.RxeFlaw())
	assert.True(t, Output{Status: 1, Stdout: theirs}.RxeFlaw())
	assert.False(t, Output{Stdout: theirs}.RxeFlaw(), "it ended well")
	assert.False(t, Output{Status: 1, Stderr: "write_bw: status 10"}.RxeFlaw())
	assert.False(t, Output{Status: 1, Stderr: "verbs: request 1: remote access error (status 10, vendor error 0x0)"}.RxeFlaw())
}

func TestClockFlaw(t *testing.T) {
	assert.True(t, Output{Status: 1, Stderr: "Can't produce a report\n"}.ClockFlaw())
	assert.False(t, Output{Stderr: "Can't produce a report\n"}.ClockFlaw(), "it ended well")
	assert.False(t, Output{Status: 1, Stderr: " Unable to init the socket connection\n"}.ClockFlaw())
}
