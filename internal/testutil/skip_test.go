package testutil

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

// recorder stands in for a test and notes how it ended.
type recorder struct {
	testing.TB
	outcome string
}

func (r *recorder) Helper() {}

func (r *recorder) Skip(args ...any) {
	r.outcome = "skip: " + fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.outcome = "fail: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func outcome(f func(testing.TB)) string {
	r := &recorder{outcome: "went on"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.outcome
}

func TestSkipOutsideTheLabSkips(t *testing.T) {
	t.Setenv(LabEnv, "")
	assert.Equal(t, "skip: no device", outcome(func(tb testing.TB) { Skip(tb, "no device") }))
}

func TestSkipInTheLabFails(t *testing.T) {
	t.Setenv(LabEnv, "6.1")
	assert.Contains(t, outcome(func(tb testing.TB) { Skip(tb, "no device") }), "fail: ")
}

func TestSkipPeerCannotSkipsInTheLabToo(t *testing.T) {
	t.Setenv(LabEnv, "6.1")
	assert.Equal(t, "skip: C cannot", outcome(func(tb testing.TB) { SkipPeerCannot(tb, "C cannot") }))
}

func TestDevice(t *testing.T) {
	t.Setenv(LabEnv, "")
	t.Setenv(DeviceEnv, "")
	assert.Contains(t, outcome(func(tb testing.TB) { Device(tb) }), "skip: ", "real devices are left alone unasked")

	t.Setenv(DeviceEnv, "mlx5_0")
	var name string
	assert.Equal(t, "went on", outcome(func(tb testing.TB) { name = Device(tb) }))
	assert.Equal(t, "mlx5_0", name)
}
