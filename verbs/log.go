package verbs

import (
	"context"
	"log/slog"
	"sync/atomic"
)

var logger atomic.Pointer[slog.Logger]

// SetLogger has the package log what happens on the control path: objects made
// and destroyed and changes of state at level Debug, ports that come and go at
// Info, and at Warn what went wrong without a call that could say so. The data
// path logs nothing. The logger's handler must not call back into this package:
// locks may be held. nil, as at the start, logs nothing at all. It is safe for
// concurrent use.
func SetLogger(l *slog.Logger) { logger.Store(l) }

func logAt(level slog.Level, message string, pairs []any) {
	if l := logger.Load(); l != nil {
		l.Log(context.Background(), level, message, pairs...)
	}
}

func logDebug(message string, pairs ...any) { logAt(slog.LevelDebug, message, pairs) }
func logWarn(message string, pairs ...any)  { logAt(slog.LevelWarn, message, pairs) }
