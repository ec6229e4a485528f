package lab

import (
	"io"
	"strings"
	"sync"
)

// consoleTail keeps the end of what is written to it, and copies all of it to
// another writer if there is one.
type consoleTail struct {
	mu   sync.Mutex
	buf  []byte
	copy io.Writer
}

const consoleKeep = 16 << 10

func (c *consoleTail) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf = append(c.buf, p...)
	if over := len(c.buf) - consoleKeep; over > 0 {
		c.buf = append(c.buf[:0], c.buf[over:]...)
	}
	if c.copy != nil {
		return c.copy.Write(p)
	}
	return len(p), nil
}

// text returns the last lines, without the control characters of firmware.
func (c *consoleTail) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	clean := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, string(c.buf))
	return tail(clean, 4<<10)
}
