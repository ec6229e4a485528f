package verbs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A visit is nobody's use: whoever comes waits for its end.
func TestVisitIsNoUse(t *testing.T) {
	var g guard
	assert.False(t, g.visit(), "closed")
	g.open()
	require.True(t, g.visit())
	assert.False(t, g.visit(), "one at a time")
	entered := make(chan error)
	go func() { entered <- g.enter() }()
	select {
	case err := <-entered:
		t.Fatal("entered beside a visit: ", err)
	default:
	}
	g.exit()
	require.NoError(t, <-entered)
	assert.False(t, g.visit(), "somebody is inside")
	assert.ErrorIs(t, g.enter(), ErrConcurrentUse)
	g.exit()
	g.shut()
	assert.ErrorIs(t, g.enter(), ErrClosed)
}
