//go:build !linux || !cgo

package nccl

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWithoutCgoEverythingSaysSo(t *testing.T) {
	_, err := Library()
	assert.ErrorIs(t, err, ErrNotSupported)
	_, err = NewUniqueID()
	assert.ErrorIs(t, err, ErrNotSupported)
	_, err = InitRank(context.Background(), nil, UniqueID{}, 0, 1, Config{})
	assert.ErrorIs(t, err, ErrNotSupported)
	_, err = InitAll(context.Background(), nil, Config{})
	assert.ErrorIs(t, err, ErrNotSupported)
	_, err = MemAlloc(nil, 1)
	assert.ErrorIs(t, err, ErrNotSupported)
	_, err = Parameters()
	assert.ErrorIs(t, err, ErrNotSupported)
	assert.NoError(t, NewGroup().Run(context.Background()))
}
