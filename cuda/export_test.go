package cuda

import "time"

// SetClosePatience changes how long closing waits for a copy that was given up,
// until the returned function is called.
func SetClosePatience(d time.Duration) (restore func()) {
	was := closePatience
	closePatience = d
	return func() { closePatience = was }
}
