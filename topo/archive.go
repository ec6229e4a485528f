package topo

import (
	"bytes"
	"strings"
)

// archive is a txtar archive: a comment, then files, each behind a line
// "-- name --". It is the form of captures.
type archive struct {
	comment []byte
	files   []archiveFile
}

type archiveFile struct {
	name string
	data []byte
}

// parseArchive never fails: text without a file is all comment.
func parseArchive(data []byte) archive {
	var a archive
	into := &a.comment
	for len(data) > 0 {
		line := data
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			line = data[:i+1]
		}
		data = data[len(line):]
		if name, ok := fileMark(string(line)); ok {
			a.files = append(a.files, archiveFile{name: name})
			into = &a.files[len(a.files)-1].data
			continue
		}
		*into = append(*into, line...)
		if line[len(line)-1] != '\n' {
			*into = append(*into, '\n')
		}
	}
	return a
}

func fileMark(line string) (string, bool) {
	line = strings.TrimRight(line, "\r\n")
	name, ok := strings.CutPrefix(line, "-- ")
	name, ok2 := strings.CutSuffix(name, " --")
	name = strings.TrimSpace(name)
	return name, ok && ok2 && name != ""
}

// format writes the archive. A file's line that looks like a mark would end the
// file, so it is indented by a space; no file of a capture is hurt by one.
func (a archive) format() []byte {
	var b bytes.Buffer
	writeSafe(&b, a.comment)
	for _, f := range a.files {
		b.WriteString("-- " + f.name + " --\n")
		writeSafe(&b, f.data)
	}
	return b.Bytes()
}

func writeSafe(b *bytes.Buffer, data []byte) {
	for line := range strings.Lines(string(data)) {
		if _, mark := fileMark(line); mark {
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimSuffix(line, "\n"))
		b.WriteByte('\n')
	}
}

func (a archive) file(name string) ([]byte, bool) {
	for _, f := range a.files {
		if f.name == name {
			return f.data, true
		}
	}
	return nil, false
}
