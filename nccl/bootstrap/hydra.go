package bootstrap

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// hydraProxy names the process of MPICH's mpiexec that started the ranks of this
// machine, which has no other name for a run: its number and the time when it
// started. The ranks may be below shells. Empty where there is none, or no /proc.
func hydraProxy() string {
	pid := os.Getppid()
	for depth := 0; pid > 1 && depth < 16; depth++ {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return ""
		}
		name, parent, start, ok := parseStat(stat)
		if !ok {
			return ""
		}
		if name == "hydra_pmi_proxy" {
			return fmt.Sprintf("hydra.%d.%s", pid, start)
		}
		pid = parent
	}
	return ""
}

// parseStat takes from /proc/PID/stat the command's name, the parent and the
// start time. It follows proc(5). The name may hold blanks and brackets.
func parseStat(stat []byte) (name string, parent int, start string, ok bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return "", 0, "", false
	}
	fields := bytes.Fields(stat[end+1:])
	const parentField, startField = 1, 19 // counted from the state
	if len(fields) <= startField {
		return "", 0, "", false
	}
	parent, err := strconv.Atoi(string(fields[parentField]))
	if err != nil {
		return "", 0, "", false
	}
	return string(stat[open+1 : end]), parent, string(fields[startField]), true
}
