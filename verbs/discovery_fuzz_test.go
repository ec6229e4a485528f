package verbs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// FuzzDiscovery lists the devices of any tree and chooses a GID on every port.
func FuzzDiscovery(f *testing.F) {
	trees, err := filepath.Glob("testdata/*.tree")
	if err != nil || len(trees) == 0 {
		f.Fatal("no trees to start from", err)
	}
	for _, name := range trees {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := sysfs.ParseTree(text)
		if err != nil {
			return
		}
		devices, err := DevicesIn(tree)
		if err != nil {
			return
		}
		for i, d := range devices {
			if i > 0 && sysfs.Compare(devices[i-1].Name, d.Name) >= 0 {
				t.Fatalf("%q comes before %q", devices[i-1].Name, d.Name)
			}
			for _, p := range d.Ports {
				checkChoice(t, p)
			}
		}
	})
}

// checkChoice holds a choice and its errors against the table.
func checkChoice(t *testing.T, p PortInfo) {
	for _, e := range p.GIDs {
		if e.GID.IsZero() || e.Index < 0 || e.Index >= p.GIDTableLen {
			t.Fatalf("the table of %d entries holds %+v", p.GIDTableLen, e)
		}
	}
	choice, err := ChooseGID(p)
	if err != nil {
		if err.Error() == "" {
			t.Fatal("an error without a text")
		}
		return
	}
	if e, ok := p.GID(choice.Index); !ok || e != choice.GIDEntry {
		t.Fatalf("the choice %+v is not in the table", choice.GIDEntry)
	}
	asked, err := ChooseGIDIndex(p, choice.Index)
	if err != nil || asked.GIDEntry != choice.GIDEntry {
		t.Fatalf("the choice is refused when asked for: %v", err)
	}
	if choice.Explain() == "" || asked.Explain() == "" {
		t.Fatal("a choice without an explanation")
	}
}
