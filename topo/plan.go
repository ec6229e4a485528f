package topo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Plan says what each rank of a job on this machine should use.
type Plan struct {
	Ranks []RankPlan
}

// RankPlan is what one rank should use.
type RankPlan struct {
	Rank int
	GPU  *GPU   // nil on a machine without GPUs
	HCAs []*HCA // none on a machine without RDMA
	Affinity
}

// Explain says in a few sentences what the rank gets and why.
func (r RankPlan) Explain() string {
	var parts []string
	head := fmt.Sprintf("Rank %d", r.Rank)
	if r.GPU != nil {
		head += " runs on " + r.GPU.Label()
	}
	if len(r.HCAs) > 0 {
		names := make([]string, len(r.HCAs))
		for i, h := range r.HCAs {
			names[i] = h.Name
		}
		head += " with " + joinWords(names)
	}
	parts = append(parts, head+".")
	if w := r.Affinity.Explain(); w != "" {
		parts = append(parts, w)
	}
	return strings.Join(parts, " ")
}

// MaxRanks is the greatest number of ranks that Plan takes, on a machine without
// GPUs.
const MaxRanks = mostDevices

// Plan gives n ranks their GPUs (rank i has the i-th), RDMA devices, CPUs and
// memory. Where several devices are equally near to a GPU, the GPUs that they
// are near to share them out: two GPUs with two devices get one each, one GPU
// with two gets both. Without GPUs the ranks are spread over the RDMA devices,
// and without those over the NUMA nodes. Ranks on one NUMA node get all of its
// CPUs, to share as the scheduler sees fit. More ranks than GPUs are refused, as
// NCCL does, and
// more than MaxRanks everywhere.
func (s *System) Plan(n int) (Plan, error) {
	if n < 1 {
		return Plan{}, fmt.Errorf("plan for %d ranks: want at least 1", n)
	}
	if len(s.GPUs) == 0 && n > MaxRanks {
		return Plan{}, fmt.Errorf("plan for %d ranks: want at most %d", n, MaxRanks)
	}
	if len(s.GPUs) == 0 {
		return s.planWithoutGPUs(n)
	}
	if n > len(s.GPUs) {
		return Plan{}, fmt.Errorf("plan for %d ranks: this machine has %d GPUs, and a GPU serves one rank", n, len(s.GPUs))
	}
	p := Plan{Ranks: make([]RankPlan, n)}
	for i, g := range s.GPUs[:n] {
		p.Ranks[i] = RankPlan{Rank: i, GPU: g, Affinity: s.CPUsFor(g)}
	}
	s.share(p.Ranks)
	return p, nil
}

// share gives each rank HCAs out of the best for its GPU. Ranks with the fewest
// and nearest choices come first; each takes the one with the fewest takers; what
// is left over then goes to the rank that can use it and has the fewest.
func (s *System) share(ranks []RankPlan) {
	best := make([][]Choice, len(ranks))
	for i, r := range ranks {
		for _, c := range s.HCAsFor(r.GPU) {
			if c.Best {
				best[i] = append(best[i], c)
			}
		}
	}
	order := make([]int, len(ranks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if len(best[a]) == 0 || len(best[b]) == 0 {
			return cmp.Compare(len(best[b]), len(best[a]))
		}
		return cmp.Or(cmp.Compare(best[a][0].key.tier, best[b][0].key.tier), cmp.Compare(len(best[a]), len(best[b])))
	})
	takers := map[*HCA]int{}
	give := func(rank int, h *HCA) {
		takers[h]++
		ranks[rank].HCAs = append(ranks[rank].HCAs, h)
	}
	for _, i := range order {
		var pick *HCA
		for _, c := range best[i] {
			if h := c.Device.(*HCA); pick == nil || takers[h] < takers[pick] {
				pick = h
			}
		}
		if pick != nil {
			give(i, pick)
		}
	}
	s.giveLeft(ranks, best, takers, give)
	for _, r := range ranks {
		slices.SortFunc(r.HCAs, func(a, b *HCA) int { return slices.Index(s.HCAs, a) - slices.Index(s.HCAs, b) })
	}
}

func (s *System) giveLeft(ranks []RankPlan, best [][]Choice, takers map[*HCA]int, give func(int, *HCA)) {
	for _, h := range s.HCAs {
		if takers[h] > 0 {
			continue
		}
		to := -1
		for i := range ranks {
			mine := slices.ContainsFunc(best[i], func(c Choice) bool { return c.Device == Endpoint(h) })
			if mine && (to < 0 || len(ranks[i].HCAs) < len(ranks[to].HCAs)) {
				to = i
			}
		}
		if to >= 0 {
			give(to, h)
		}
	}
}

func (s *System) planWithoutGPUs(n int) (Plan, error) {
	p := Plan{Ranks: make([]RankPlan, n)}
	var hcas []*HCA
	for _, h := range s.HCAs {
		if usable, _ := s.capacity(h); usable && !h.Management {
			hcas = append(hcas, h)
		}
	}
	var nodes []*NUMANode
	for _, node := range s.Nodes {
		if !node.MemoryOnly() {
			nodes = append(nodes, node)
		}
	}
	for i := range p.Ranks {
		r := RankPlan{Rank: i}
		switch {
		case len(hcas) > 0:
			h := hcas[i%len(hcas)]
			r.HCAs, r.Affinity = []*HCA{h}, s.CPUsFor(h)
		case len(nodes) > 0:
			node := nodes[i%len(nodes)]
			r.Affinity = Affinity{&node.ID, s.online(node.CPUs), fmt.Sprintf("The machine has no device to be near to; NUMA node %d is the rank's share.", node.ID)}
		default:
			r.Affinity = Affinity{why: "Neither devices nor NUMA nodes are known."}
		}
		p.Ranks[i] = r
	}
	return p, nil
}
