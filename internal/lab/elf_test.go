package lab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// makeELF returns the smallest x86-64 file that names an interpreter, libraries
// and a run path, and has an optional further section.
func makeELF(interp string, needed []string, runpath string, extra map[string][]byte) []byte {
	strtab := []byte{0}
	add := func(s string) uint64 {
		at := uint64(len(strtab))
		strtab = append(append(strtab, s...), 0)
		return at
	}
	var dyn bytes.Buffer
	tag := func(t elf.DynTag, v uint64) {
		_ = binary.Write(&dyn, binary.LittleEndian, elf.Dyn64{Tag: int64(t), Val: v})
	}
	for _, n := range needed {
		tag(elf.DT_NEEDED, add(n))
	}
	if runpath != "" {
		tag(elf.DT_RUNPATH, add(runpath))
	}
	tag(elf.DT_NULL, 0)

	type section struct {
		name string
		kind elf.SectionType
		link uint32
		data []byte
	}
	sections := []section{{}, {".dynstr", elf.SHT_STRTAB, 0, strtab}, {".dynamic", elf.SHT_DYNAMIC, 1, dyn.Bytes()}}
	for name, data := range extra {
		sections = append(sections, section{name, elf.SHT_PROGBITS, 0, data})
	}
	names := []byte{0}
	var nameAt []uint32
	for i := range append(sections, section{}) {
		name := ".shstrtab"
		if i < len(sections) {
			name = sections[i].name
		}
		nameAt = append(nameAt, uint32(len(names)))
		names = append(append(names, name...), 0)
	}
	sections = append(sections, section{".shstrtab", elf.SHT_STRTAB, 0, names})

	const headSize, progSize = 64, 56
	var body bytes.Buffer
	body.WriteString(interp + "\x00")
	var heads []elf.Section64
	for i, s := range sections {
		h := elf.Section64{Name: nameAt[i], Type: uint32(s.kind), Link: s.link, Off: uint64(headSize + progSize + body.Len()), Size: uint64(len(s.data)), Addralign: 1}
		if s.kind == elf.SHT_DYNAMIC {
			h.Entsize = 16
		}
		heads = append(heads, h)
		body.Write(s.data)
	}
	var out bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: headSize,
		Shoff: uint64(headSize + progSize + body.Len()), Ehsize: headSize, Phentsize: progSize, Phnum: 1,
		Shentsize: 64, Shnum: uint16(len(heads)), Shstrndx: uint16(len(heads) - 1)}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	p := elf.Prog64{Type: uint32(elf.PT_INTERP), Off: headSize + progSize, Filesz: uint64(len(interp) + 1)}
	if interp == "" {
		p.Type = uint32(elf.PT_NULL)
	}
	for _, v := range []any{h, p} {
		_ = binary.Write(&out, binary.LittleEndian, v)
	}
	out.Write(body.Bytes())
	_ = binary.Write(&out, binary.LittleEndian, heads)
	return out.Bytes()
}

func writeRoot(t *testing.T, root string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		p := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, data, 0o755))
	}
}

func elfRoot(t *testing.T) string {
	root := t.TempDir()
	writeRoot(t, root, map[string][]byte{
		"usr/bin/prog":                 makeELF("/lib64/ld.so", []string{"liba.so.1", "libown.so"}, "$ORIGIN/../own", nil),
		"usr/own/libown.so":            makeELF("", nil, "", nil),
		"usr/lib64/ld.so":              makeELF("", nil, "", nil),
		"opt/x/liba.so.1.2":            makeELF("", []string{"libb.so"}, "", nil),
		"lib/x86_64-linux-gnu/libb.so": makeELF("", []string{"liba.so.1"}, "", nil),
		"etc/ld.so.conf":               []byte("# comment\ninclude ld.so.conf.d/*.conf\n"),
		"etc/ld.so.conf.d/x.conf":      []byte("/opt/x\n"),
		"usr/bin/script":               []byte("#!/bin/sh\n"),
	})
	require.NoError(t, os.Symlink("liba.so.1.2", filepath.Join(root, "opt/x/liba.so.1")))
	require.NoError(t, os.Symlink("usr/lib64", filepath.Join(root, "lib64")))
	return root
}

func TestCollectProgram(t *testing.T) {
	r := openLibraryRoot(elfRoot(t))
	tr := tree{}
	c := newCollector(r, tr)
	at := r.findProgram("prog")
	require.Equal(t, "/usr/bin/prog", at)
	c.addFile(at, "")
	c.addFile("/usr/bin/script", "")
	require.NoError(t, c.err("the test"))
	for _, p := range []string{"/usr/bin/prog", "/usr/own/libown.so", "/usr/lib64/ld.so", "/opt/x/liba.so.1.2", "/lib/x86_64-linux-gnu/libb.so", "/usr/bin/script"} {
		assert.Contains(t, tr, p)
	}
	assert.Equal(t, "liba.so.1.2", tr["/opt/x/liba.so.1"].target)
	assert.Equal(t, "usr/lib64", tr["/lib64"].target)
}

func TestCollectNamesAllThatIsMissing(t *testing.T) {
	root := elfRoot(t)
	require.NoError(t, os.Remove(filepath.Join(root, "lib/x86_64-linux-gnu/libb.so")))
	require.NoError(t, os.Remove(filepath.Join(root, "usr/own/libown.so")))
	c := newCollector(openLibraryRoot(root), tree{})
	c.addFile("/usr/bin/prog", "")
	c.addFile("/usr/bin/other", "other-package")
	var missing *MissingError
	require.ErrorAs(t, c.err("the test"), &missing)
	assert.Equal(t, []Missing{
		{"libb.so (needed by /opt/x/liba.so.1.2)", ""},
		{"libown.so (needed by /usr/bin/prog)", ""},
		{"/usr/bin/other", "other-package"},
	}, missing.Items)
	assert.Empty(t, openLibraryRoot(root).findProgram("none"))
}

func TestCollectChecksVersions(t *testing.T) {
	root := elfRoot(t)
	c := newCollector(openLibraryRoot(root), tree{})
	c.addFile("/usr/bin/prog", "")
	c.facts["/opt/x/liba.so.1.2"].provides = map[string]bool{"A_1": true}
	c.checkVersions("/opt/x/liba.so.1", "liba.so.1", "/p", &elfFacts{wants: map[string][]string{"liba.so.1": {"A_1"}}})
	require.NoError(t, c.err("the test"))
	c.checkVersions("/opt/x/liba.so.1", "liba.so.1", "/p", &elfFacts{wants: map[string][]string{"liba.so.1": {"A_2"}}})
	assert.Error(t, c.err("the test"))
}

func TestReadELFOfThisProgram(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	_, err = readELF(self)
	require.NoError(t, err)
	_, err = readELF("/etc/passwd")
	assert.ErrorIs(t, err, errNotELF)
}

func FuzzReadELF(f *testing.F) {
	f.Add(makeELF("/lib64/ld.so", []string{"liba.so"}, "$ORIGIN", nil))
	f.Add([]byte(elf.ELFMAG))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		_, _ = readELF(file)
	})
}
