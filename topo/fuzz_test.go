package topo

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gofabric/gofabric/internal/sysfs"
)

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"0000:3b:00.0", "3b:00.0", "00000000:3B:00.0", "10000:00:04.0", "ffff:ff:1f.7", "::.", "0:0:0.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		if err != nil {
			return
		}
		again, err := ParseAddress(string(a))
		if err != nil || again != a {
			t.Fatalf("%q gives %q, which gives %q (%v)", s, a, again, err)
		}
		if !strings.HasPrefix(string(a), a.Slot()) || !strings.HasPrefix(a.Slot(), a.Bus()) || a.Compare(a) != 0 {
			t.Fatalf("%q: slot %q, bus %q", a, a.Slot(), a.Bus())
		}
	})
}

func FuzzParseCPUList(f *testing.F) {
	for _, s := range []string{"", "0-3", "0,4,8,12", "0-31,64-95", "0-6:2/4", "8191", "5-2", "1,,2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, err := ParseCPUList(s)
		if err != nil {
			return
		}
		again, err := ParseCPUList(set.String())
		if err != nil || again.String() != set.String() || len(again) != len(set) {
			t.Fatalf("%q gives %q, which gives %q (%v)", s, set, again, err)
		}
		mask, _, err := ParseCPUMask(set.Mask())
		if err != nil || mask.String() != set.String() {
			t.Fatalf("%q gives mask %q, which gives %q (%v)", set, set.Mask(), mask, err)
		}
	})
}

func FuzzParseCPUMask(f *testing.F) {
	for _, s := range []string{"0000ffff", "00000000,ffff0000", "0xf", "0x1ffffffff", "fff0000,00000000", ",", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, _, err := ParseCPUMask(s)
		if err != nil {
			return
		}
		for i, c := range set {
			if c < 0 || c > maxCPU || i > 0 && c <= set[i-1] {
				t.Fatalf("%q gives the set %v", s, []int(set))
			}
		}
		again, short, err := ParseCPUMask(set.Mask())
		if err != nil || short || again.String() != set.String() {
			t.Fatalf("%q gives %q, which gives %q (%v)", s, set, again, err)
		}
	})
}

func FuzzParseSpeedAndWidth(f *testing.F) {
	for _, s := range []string{"16.0 GT/s PCIe", "32 GT/s PCIe/s", "2.5GT/s", "Unknown", "x16", "255", "63", "1e3", ".", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, ok, err := ParseSpeed(s); ok && (err != nil || !(v > 0 && v <= 1024)) || !ok && v != 0 {
			t.Fatalf("speed %q: %v %v %v", s, v, ok, err)
		}
		if v, ok, err := ParseWidth(s); ok && (err != nil || v < 1 || v > 32) || !ok && v != 0 {
			t.Fatalf("width %q: %v %v %v", s, v, ok, err)
		}
		if v, err := parseRate(s); err == nil && !(v >= 0) {
			t.Fatalf("rate %q: %v", s, v)
		}
		if p, err := ParsePath(s); err == nil && p.String() != s && s != "SOC" {
			if n, ok := p.NVLinks(); !ok || n == 0 {
				t.Fatalf("path %q gives %q", s, p)
			}
		}
	})
}

func FuzzParseCapture(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(machines, "*.txtar"))
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && len(data) < 8<<10 {
			f.Add(data)
		}
	}
	f.Add([]byte(captureHead + "\n-- machine.json --\n{\"gpus\":[null]}\n"))
	f.Add([]byte(captureHead + "\n-- files.tree --\nsys/bus/pci/devices/0000:00:01.0 -> ../0000:00:01.0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !bytes.HasPrefix(data, []byte(captureHead)) {
			data = append([]byte(captureHead+"\n"), data...)
		}
		s, _, err := Parse(data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("an error of several lines: %v", err)
			}
			return
		}
		askEverything(t, s)
	})
}

// askEverything asks a machine everything: nothing may panic or go on for ever.
func askEverything(t *testing.T, s *System) {
	for _, a := range s.endpoints() {
		for _, b := range s.endpoints() {
			p, _ := s.Path(a, b)
			q, _ := s.Path(b, a)
			if p != q {
				t.Fatalf("%s to %s is %s, back it is %s", a.Label(), b.Label(), p, q)
			}
			s.NCCLPath(a, b)
		}
		s.CPUsFor(a)
	}
	for _, g := range s.GPUs {
		for _, c := range s.HCAsFor(g) {
			_ = c.Explain()
		}
	}
	for _, h := range s.HCAs {
		s.GPUsFor(h)
	}
	if plan, err := s.Plan(max(1, len(s.GPUs))); err == nil {
		for _, r := range plan.Ranks {
			_ = r.Explain()
		}
	}
	if _, err := json.Marshal(s); err != nil {
		t.Fatalf("the machine does not marshal: %v", err)
	}
}

func FuzzReadAndCapture(f *testing.F) {
	f.Add(secrets)
	f.Add("sys/devices/system/node/node3/")
	f.Add(strings.Join(flatFiles(), "\n[]\n"))
	f.Add(strings.Join(twoPorts, "\n[]\n") + bondFiles)
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := sysfs.ParseTree(text)
		if err != nil {
			return
		}
		want, err := Read(tree, ReadOptions{})
		if err != nil {
			if invalid := (*InvalidError)(nil); !errors.As(err, &invalid) {
				t.Fatalf("not an InvalidError: %v", err)
			}
			return
		}
		askEverything(t, want)
		var b bytes.Buffer
		if err := Capture(&b, tree, CaptureOptions{Unredacted: true}); err != nil {
			t.Fatal(err)
		}
		got, _, err := Parse(b.Bytes())
		if err != nil {
			t.Fatalf("the capture does not read back: %v\n%s", err, b.Bytes())
		}
		if utf8.ValidString(text) && !strings.ContainsAny(text, "\x00\r") { // the form of a capture is text
			same(t, want, got)
		}
		b.Reset()
		if err := Capture(&b, tree, CaptureOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Parse(b.Bytes()); err != nil {
			t.Fatalf("the redacted capture does not read back: %v\n%s", err, b.Bytes())
		}
	})
}

func FuzzArchive(f *testing.F) {
	f.Add([]byte("comment\n-- a --\n1\n2\n-- b --\n"))
	f.Add([]byte("-- a --\n-- --\n--  --\n-- a -- \r\nx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := parseArchive(data)
		b := parseArchive(a.format())
		if !bytes.Equal(a.format(), b.format()) || len(a.files) != len(b.files) {
			t.Fatalf("%q reads back as %q", a.format(), b.format())
		}
	})
}

func FuzzRedact(f *testing.F) {
	f.Add(secrets)
	f.Add(`guid="0x1" host_hash="0xffffffffffffffff" 999.1.2.3 1.2.3.4.5 GPU-1a2b3c4d-1111-2222-3333-123456abcdef`)
	f.Fuzz(func(t *testing.T, text string) {
		r := newRedactor()
		once := r.text(text)
		if again := newRedactor().text(text); again != once {
			t.Fatalf("not always the same: %q and %q", once, again)
		}
	})
}
