package verbs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is left of closed queues is freed at once where nobody polls, and else by
// the next poll.
func TestRemainsDoNotWaitForAPoll(t *testing.T) {
	var cq CQ
	cq.side.open()
	freed := 0
	free := func() { freed++ }
	cq.bury(free)
	assert.Equal(t, 1, freed)

	assert.NoError(t, cq.side.enter())
	cq.bury(free)
	assert.Equal(t, 1, freed, "somebody polls")
	cq.stash.take(nil)
	assert.Equal(t, 2, freed)
	cq.bury(free)
	cq.side.exit()
	cq.bury(free)
	assert.Equal(t, 4, freed, "that of before too")

	cq.side.shut()
	cq.stash.close()
	cq.bury(free)
	assert.Equal(t, 5, freed)
}
