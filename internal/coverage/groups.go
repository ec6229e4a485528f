package main

import "regexp"

// groups sort functions by what they are about; the first that matches counts.
var groups = []struct {
	name  string
	match *regexp.Regexp
}{
	{"Connection manager", regexp.MustCompile(`^rdma/rdma_cma\.h `)},
	{"Connection manager's verbs", regexp.MustCompile(`^rdma/rdma_verbs\.h `)},
	{"rsockets", regexp.MustCompile(`^rdma/rsocket\.h `)},
	{"Flows, work queues, counters", regexp.MustCompile(`_flow\b|_flow_action|_wq\b|_wq_|rwq|counters`)},
	{"Memory", regexp.MustCompile(`_mr\b|_mr_|_mw\b|_dm\b|inc_rkey`)},
	{"Extended work requests", regexp.MustCompile(` ibv_wr_([^o]|o[^p])|qp_to_qp_ex`)},
	{"Completion queues", regexp.MustCompile(`_cq\b|_cq_|comp_channel|poll|wc_read`)},
	{"Shared receive queues", regexp.MustCompile(`srq`)},
	{"Domains", regexp.MustCompile(`_pd\b|_td\b|parent_domain|xrcd`)},
	{"Queue pairs", regexp.MustCompile(`_qp\b|_qp_|qpt|post_(send|recv)|_ece`)},
	{"Addresses and rates", regexp.MustCompile(`_ah\b|_ah_|mcast|rate|udp_sport|eth_l2`)},
	{"Devices and ports", regexp.MustCompile(` (ibv_|__)`)},
}

// groupOf takes a line of a list: "header function".
func groupOf(line string) string {
	for _, g := range groups {
		if g.match.MatchString(line) {
			return g.name
		}
	}
	return "Others"
}
