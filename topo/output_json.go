package topo

import (
	"encoding/json"
	"io"
)

// DocumentSchema names the form of Document. It changes when a reader of the old
// form would misread the new one; fields may be added without that.
const DocumentSchema = "gofabric.topo/1"

// Document is the machine for other programs: what was read and what follows from
// it. What is not known is absent, or null where its place is fixed; a NUMA node
// of 0 is a node and always written.
type Document struct {
	Schema string `json:"schema"`
	*System
	// Paths are those between all GPUs and RDMA devices, each pair once.
	Paths []DocumentPath `json:"paths"`
	// NCCL are the variables of NCCLEnv.
	NCCL []Setting `json:"nccl"`
}

// DocumentPath is how two devices reach each other.
type DocumentPath struct {
	A    string   `json:"a"`    // GPU0, mlx5_0
	B    string   `json:"b"`    // the same
	Path Path     `json:"path"` // NV18, PIX, ...; ? where it is not known
	PCI  Path     `json:"pci"`  // without NVLinks
	NCCL NCCLPath `json:"nccl"` // in NCCL's words
}

// Document returns the machine as a document for json.Marshal.
func (s *System) Document() Document {
	d := Document{Schema: DocumentSchema, System: s.withLists(), Paths: []DocumentPath{}, NCCL: s.NCCLEnv()}
	list := s.endpoints()
	for i, a := range list {
		for _, b := range list[i+1:] {
			p := DocumentPath{A: a.Label(), B: b.Label()}
			p.Path, _ = s.Path(a, b)
			p.PCI, _ = s.PCIPath(a, b)
			p.NCCL, _ = s.NCCLPath(a, b)
			d.Paths = append(d.Paths, p)
		}
	}
	return d
}

// withLists returns the machine with empty lists in place of nil ones, which
// would be null in the document.
func (s *System) withLists() *System {
	c := *s
	c.Nodes, c.PCI, c.GPUs, c.Netdevs = orEmpty(s.Nodes), orEmpty(s.PCI), orEmpty(s.GPUs), orEmpty(s.Netdevs)
	c.HCAs = make([]*HCA, len(s.HCAs))
	for i, h := range s.HCAs {
		copied := *h
		copied.Ports = orEmpty(h.Ports)
		c.HCAs[i] = &copied
	}
	return &c
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// JSON writes the document, indented.
func (s *System) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(s.Document())
}
