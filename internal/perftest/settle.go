package perftest

import (
	"fmt"
	"time"

	"github.com/gofabric/gofabric/verbs"
)

// settle applies the rules by which perftest derives values from others. given
// tells which flags were on the command line, by their long names.
func (c *Config) settle(given func(string) bool) {
	if c.All {
		c.Size = largestOfAll
	}
	if c.Duration > 0 {
		c.Iterations = 0
		c.Peak = false
	} else {
		c.TxDepth = min(c.TxDepth, c.Iterations)
		c.Peak = c.Peak && c.Iterations <= peakIterations
	}
	c.settleReceives(given("rx-depth"))
	if c.Tool.Latency {
		c.CQModeration = 1
		return
	}
	if !given("cq-mod") {
		switch {
		case c.PostList > 1:
			c.CQModeration = c.PostList
		case !c.All && c.Size > cqModSize && c.Connection != verbs.UD && !c.Events:
			c.CQModeration = 1
		}
	}
	c.CQModeration = min(c.CQModeration, c.TxDepth)
}

func (c *Config) settleReceives(given bool) {
	if c.Tool.Verb != VerbSend {
		return
	}
	if c.Duration == 0 {
		if c.lossy() && !given && !c.Tool.Latency {
			c.RxDepth = lossyRxDepth
		}
		c.RxDepth = min(c.RxDepth, c.Iterations)
	}
	if c.RxDepth%2 == 1 && !c.All {
		c.RxDepth++
	}
}

// limitSize lowers the size to the largest datagram's. It tells whether it did.
func (c *Config) limitSize(most int) bool {
	if c.Connection != verbs.UD || c.Size <= most {
		return false
	}
	c.Size = most
	return true
}

const cmInProcess = " is a device inside this process, which rdma_cm does not know: leave -R and -z out"

// checkTogether refuses flags that cannot go together, in the words of which.
func (p *parser) checkTogether() error {
	c := &p.config
	changed := p.set.Changed
	for _, rule := range []struct {
		flag    string
		bad     bool
		problem string
	}{
		{"connection", c.Connection == verbs.UD && c.Tool.Verb != VerbSend, "UD carries only sends: use send_bw or send_lat"},
		{"connection", c.Connection == verbs.UC && c.Tool.Verb.brings(), "UC carries neither reads nor atomics: use RC"},
		{"rdma_cm", c.CMPairs && inProcess(c.Device), c.Device + cmInProcess},
		{"comm_rdma_cm", c.CMControl && inProcess(c.Device), c.Device + cmInProcess},
		{"rdma_cm", c.CMPairs && c.Connection == verbs.UC, "connects RC and UD: leave -c UC out, or take -z, which leaves the queue pairs alone"},
		{"use-srq", c.SharedReceive && c.CMPairs && c.Connection == verbs.UD && c.answers(), "cannot go with -R and UD where both sides send: take -z"},
		{"reversed", c.Reversed && c.CMPairs && c.Connection == verbs.UD, "cannot go with -R and UD, where a server learns the way to its client only if both send: take -z"},
		{"tos", c.TypeOfService != nil && !c.CMPairs, "needs -R"},
		{"retry_count", changed("retry_count") && !c.CMPairs, "needs -R"},
		{"compare", c.Compare != "" && c.CMControl, "runs both ends over 127.0.0.1, which leads to no adapter: leave -R and -z out"},
		{"reversed", c.Reversed && c.Bidirectional, "cannot go with -b, where both sides send"},
		{"reversed", c.Reversed && c.Infinite && c.Tool.Verb != VerbSend, "cannot go with --run_infinitely"},
		{"report-both", c.ReportBoth && !c.Bidirectional, "needs -b"},
		{"report-both", c.ReportBoth && c.Tool.Verb == VerbSend && c.Duration > 0, "cannot go with -D: the sides of a send count together then"},
		{"cpu_util", c.CPU && c.Duration == 0, "needs -D"},
		{"use_cuda_bus_id", c.Memory.CUDA != nil && c.Memory.CUDABusID != "", "names the GPU, and so does --use_cuda: give one of them"},
		{"use_cuda_dmabuf", c.Memory.CUDADMABuf && !c.Memory.onGPU(), "needs --use_cuda or --use_cuda_bus_id"},
		{"inline_size", c.Memory.onGPU() && c.Inline != nil && *c.Inline > 0, "cannot go with memory of a GPU, which the processor does not reach"},
		{"use_hugepages", c.Memory.onGPU() && c.Memory.HugePages, "is for memory of the host: leave --use_cuda out"},
		{"compare", c.Compare != "" && c.Memory.onGPU(), "is not offered for memory of GPUs: few builds of the C tools have it"},
		{"vector", changed("vector") && !c.Events, "needs -e"},
		{"run_infinitely", c.Infinite && (c.All || changed("iters") && !changed("duration")), "runs for -D seconds at a time: leave -a and -n out"},
		{"post_list", c.PostList > 1 && c.Iterations%c.PostList != 0, fmt.Sprintf("-n must be a multiple of %d", c.PostList)},
		{"post_list", c.PostList > c.TxDepth, fmt.Sprintf("the send queue holds %d (-t)", c.TxDepth)},
		{"post_list", c.PostList > 1 && c.PostList%c.CQModeration != 0, fmt.Sprintf("must be a multiple of -Q, which is %d", c.CQModeration)},
		{"recv_post_list", c.RecvPostList > 1 && c.Iterations%c.RecvPostList != 0, fmt.Sprintf("-n must be a multiple of %d", c.RecvPostList)},
		{"recv_post_list", c.RecvPostList > 1 && c.RxDepth%c.RecvPostList != 0, fmt.Sprintf("the depth of the receive queue, %d (-r), must be a multiple", c.RxDepth)},
		{"recv_post_list", c.RecvPostList > 1 && c.SharedReceive, "cannot go with --use-srq"},
		{"use-srq", c.SharedReceive && c.Connection == verbs.UC, "shared receive queues go with RC and UD"},
		{"use-srq", c.SharedReceive && c.Threads > 0, "cannot go with --threads: a goroutine has receives of its own"},
		{"threads", c.Threads > c.QueuePairs, fmt.Sprintf("each has a queue pair at least: there are %d (-q)", c.QueuePairs)},
		{"threads", c.Threads > 0 && c.Infinite, "cannot go with --run_infinitely"},
		{"gid-index", c.IPv6 && c.GIDIndex != nil, "cannot go with --ipv6"},
		{"compare", c.Compare != "" && c.Host != "", "runs both ends on this machine: leave the host out"},
		{"compare", c.Compare != "" && (c.JSON || c.Plot != "" || c.CFile != "" || c.Only != "" || c.Histogram || c.Infinite || c.ReportBoth),
			"prints a table of its own: leave out --json, --plot, --out_json, --output, -H, -U, --report-both and --run_infinitely"},
		{"pairs", changed("pairs") && c.Compare == "", "needs --compare"},
		{"server-dev", changed("server-dev") && c.Compare == "", "needs --compare"},
		{"json", c.JSON && c.Only != "", "cannot go with --output"},
		{"output", c.Only == "latency" && !c.Tool.Latency, "this tool has bandwidth and message_rate"},
		{"output", c.Only != "" && c.Only != "latency" && c.Tool.Latency, "this tool has latency"},
		{"json", c.JSON && c.Infinite, "cannot go with --run_infinitely, which has no end"},
		{"plot", c.Plot != "" && c.Infinite, "cannot go with --run_infinitely, which has no end"},
	} {
		if rule.bad {
			return p.bad(rule.flag, rule.problem)
		}
	}
	return nil
}

func (p *parser) finishDuration() error {
	seconds := p.duration
	timed := p.set.Changed("duration") || p.config.Infinite
	if !p.set.Changed("duration") {
		seconds = defaultDuration
	}
	if !p.set.Changed("margin") {
		p.margin = seconds / 4
		if p.config.Infinite {
			p.margin = 0 // the C tools count everything then
		}
	}
	if seconds <= 2*p.margin {
		return p.bad("margin", fmt.Sprintf("two margins of %d s leave nothing of %d s; lower -f or raise -D", p.margin, seconds))
	}
	if !timed {
		return nil
	}
	if p.config.All && !p.config.Infinite {
		return p.bad("duration", "cannot go with -a; give one size with -s")
	}
	p.config.Duration = time.Duration(seconds) * time.Second
	p.config.Margin = time.Duration(p.margin) * time.Second
	return nil
}
