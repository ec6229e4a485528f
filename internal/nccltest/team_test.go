package nccltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/nccl/bootstrap"
)

func alone(t *testing.T) *job {
	session, err := bootstrap.Connect(context.Background(), bootstrap.World{Size: 1}, bootstrap.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, session.Close()) })
	return &job{session: session, size: 1, places: 1}
}

func TestTeamMeetsAndReduces(t *testing.T) {
	const size, rounds = 4, 200
	for _, spin := range []bool{false, true} {
		team := newTeam(size, alone(t))
		team.spin = spin
		var all sync.WaitGroup
		for thread := range size {
			all.Add(1)
			go func() {
				defer all.Done()
				for round := range rounds {
					v := float64(round*size + thread)
					for _, how := range []Average{AverageRank0, AverageMin, AverageMax, AverageMean, sum} {
						want := combine([]float64{float64(round * size), float64(round*size + 1), float64(round*size + 2), float64(round*size + 3)}, how)
						got, list, err := team.reduce(context.Background(), thread, v, how)
						if err != nil || got != want || len(list) != size {
							panic(fmt.Sprint(err, got, want, list))
						}
					}
					if err := team.barrier(context.Background()); err != nil {
						panic(err)
					}
				}
			}()
		}
		all.Wait()
	}
}

// TestTeamFailureFreesThoseThatWait, parked or on their way.
func TestTeamFailureFreesThoseThatWait(t *testing.T) {
	team := newTeam(2, alone(t))
	cause := errors.New("a reason")
	done := make(chan error)
	go func() { done <- team.barrier(context.Background()) }()
	team.fail(cause)
	assert.ErrorIs(t, <-done, cause)
	assert.ErrorIs(t, team.barrier(context.Background()), cause)
	_, _, err := team.reduce(context.Background(), 0, 1, sum)
	assert.ErrorIs(t, err, cause)
}
