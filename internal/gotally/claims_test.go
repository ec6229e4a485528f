package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestClaimsOfTestsThatPassed: what a failed test claims counts for nothing.
func TestClaimsOfTestsThatPassed(t *testing.T) {
	stream := `{"Action":"run","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    suite.go:1: coverage: on rxe0, kernel 6.1\n"}
{"Action":"run","Package":"p","Test":"TestC/Good"}
{"Action":"output","Package":"p","Test":"TestC/Good","Output":"    covers.go:75: coverage: tested ibv_reg_mr\n"}
{"Action":"output","Package":"p","Test":"TestC/Good","Output":"    covers.go:75: coverage: refused ibv_alloc_dm\n"}
{"Action":"output","Package":"p","Test":"TestC/Good","Output":"says coverage: tested ibv_lie and more\n"}
{"Action":"pass","Package":"p","Test":"TestC/Good"}
{"Action":"run","Package":"p","Test":"TestC/Also"}
{"Action":"output","Package":"p","Test":"TestC/Also","Output":"    covers.go:75: coverage: tested ibv_reg_mr\n"}
{"Action":"pass","Package":"p","Test":"TestC/Also"}
{"Action":"run","Package":"p","Test":"TestC/Bad"}
{"Action":"output","Package":"p","Test":"TestC/Bad","Output":"    covers.go:75: coverage: tested ibv_bad\n"}
{"Action":"fail","Package":"p","Test":"TestC/Bad"}
`
	tally := newTally(io.Discard)
	require.NoError(t, tally.read(strings.NewReader(stream)))
	p := tally.finish("6.1/44")
	assert.Equal(t, map[string]string{"tested ibv_reg_mr": "Also", "refused ibv_alloc_dm": "Good"}, p.Claims)
	assert.Equal(t, "rxe0, kernel 6.1", p.Where)
}
