package verbs_test

import (
	"context"
	"testing"
	"time"
)

// patiently bounds a wait that ought to end soon.
func patiently(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
