//go:build linux && cgo

package cuda_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/stretchr/testify/assert"
)

// callAll calls every method of an object with arguments that are zero or nil. None
// may panic, whatever they return.
func callAll(t *testing.T, object any) {
	t.Helper()
	v := reflect.ValueOf(object)
	for i := range v.NumMethod() {
		name, m := v.Type().Method(i).Name, v.Method(i)
		args := make([]reflect.Value, 0, m.Type().NumIn())
		for j := range m.Type().NumIn() {
			in := m.Type().In(j)
			if m.Type().IsVariadic() && j == m.Type().NumIn()-1 {
				break
			}
			if in == reflect.TypeFor[context.Context]() {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				args = append(args, reflect.ValueOf(ctx))
				continue
			}
			args = append(args, reflect.Zero(in))
		}
		assert.NotPanics(t, func() {
			m.Call(args)
		}, "%T.%s", object, name)
	}
}

// TestObjectsThatWereNeverMade: the zero values of all types, and nil, answer whatever
// is asked of them.
func TestObjectsThatWereNeverMade(t *testing.T) {
	for _, object := range []any{
		new(cuda.Device), new(cuda.Buffer), (*cuda.Buffer)(nil), new(cuda.Stream), new(cuda.Event),
	} {
		t.Run(fmt.Sprintf("%T", object), func(t *testing.T) { callAll(t, object) })
	}
}
