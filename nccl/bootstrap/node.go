package bootstrap

import (
	"os"
	"strings"
)

// identity is what a process tells the others about itself.
func identity(w World) hello {
	h := hello{rank: w.Rank, size: w.Size, job: jobToken(w.Job), localRank: -1, pid: os.Getpid()}
	if w.LocalRank != nil {
		h.localRank = *w.LocalRank
	}
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	h.host = printable(name, hostLimit)
	// The boot tells apart machines of one name.
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	h.node = printable(h.host+"/"+strings.TrimSpace(string(boot)), nodeLimit)
	return h
}

// printable makes a name fit for messages and frames.
func printable(name string, most int) string {
	clean := []byte(name)
	for i, c := range clean {
		if c < ' ' || c > '~' {
			clean[i] = '?'
		}
	}
	return string(clean[:min(len(clean), most)])
}

// seat numbers the machines and the ranks on each, from all ranks' hellos.
func seat(hellos []hello) []Peer {
	nodes := map[string]int{}
	count := map[string]int{}
	peers := make([]Peer, len(hellos))
	for i, h := range hellos {
		if _, known := nodes[h.node]; !known {
			nodes[h.node] = len(nodes)
		}
		peers[i] = Peer{Host: h.host, PID: h.pid, Node: nodes[h.node], LocalRank: h.localRank}
		if h.localRank < 0 {
			peers[i].LocalRank = count[h.node]
		}
		count[h.node]++
	}
	return peers
}
