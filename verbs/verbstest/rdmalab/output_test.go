package main

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLabelled(t *testing.T) {
	var out bytes.Buffer
	lock := new(sync.Mutex)
	a, b := &labelled{to: &out, label: "a: ", lock: lock}, &labelled{to: &out, label: "b: ", lock: lock}
	for _, s := range []struct {
		w    *labelled
		text string
	}{{a, "one\ntw"}, {b, "1\n\n2"}, {a, "o\n"}, {b, ""}, {a, "end"}} {
		n, err := s.w.Write([]byte(s.text))
		assert.NoError(t, err)
		assert.Equal(t, len(s.text), n)
	}
	a.close()
	b.close()
	assert.Equal(t, "a: one\nb: 1\nb: \na: two\na: end\nb: 2\n", out.String())
}
