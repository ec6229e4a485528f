package perftest

import (
	"bytes"
	"fmt"
	"os"
)

// cpuLoad measures how busy the processors were with user programs, as the C
// tools do; nil measures nothing.
type cpuLoad struct{ user, idle uint64 }

// startCPU begins, if wanted.
func startCPU(wanted bool) *cpuLoad {
	if !wanted {
		return nil
	}
	text, _ := os.ReadFile("/proc/stat")
	load, ok := parseCPU(text)
	if !ok {
		return nil
	}
	return &load
}

// parseCPU reads the first line of /proc/stat: user, nice, system, idle.
func parseCPU(text []byte) (load cpuLoad, ok bool) {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	var nice, system uint64
	n, _ := fmt.Sscanf(string(line), "cpu %d %d %d %d", &load.user, &nice, &system, &load.idle)
	return load, n == 4
}

// percent is the share since the beginning, nil where it was not measured.
func (l *cpuLoad) percent() *float64 {
	if l == nil {
		return nil
	}
	text, _ := os.ReadFile("/proc/stat")
	now, ok := parseCPU(text)
	if !ok || now.user < l.user || now.idle < l.idle || now == *l {
		return nil
	}
	user, idle := float64(now.user-l.user), float64(now.idle-l.idle)
	if user+idle == 0 {
		return nil
	}
	share := 100 * user / (user + idle)
	return &share
}
