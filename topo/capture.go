package topo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// FormatCapture is what Capture writes.
const FormatCapture Format = "gofabric capture"

// captureHead is the first line of a capture. The number grows when an older
// reader would misread a newer capture.
const captureHead = "gofabric topology capture 1"

// captureWhole stands behind captureHead in what Capture writes: the text ends with
// an empty part captureEnd, and without it is a piece. What a piece lacks would look
// as if the machine lacked it. Captures written by hand need neither.
const (
	captureWhole = ", whole with its last line -- " + captureEnd + " --"
	captureEnd   = "end"
)

const (
	captureTree   = "files.tree" // what was read, in the form of sysfs.ParseTree
	captureNVML   = "nvml.json"  // GPUFacts
	captureSystem = "machine.json"
	captureTopo   = "topology.xml" // stands for the file that was named
)

// CaptureOptions say what a capture holds. The zero value writes what Read with
// zero options reads, redacted.
type CaptureOptions struct {
	ReadOptions
	// Comment is written at the head, to say what is wrong with the machine.
	Comment string
	// Unredacted keeps GUIDs, MAC and IP addresses, UUIDs and serial numbers. By
	// default each is replaced by a made-up one, always the same for the same
	// value within one capture.
	Unredacted bool
	// Also reads more of the machine, after Read, and the capture holds what it
	// read; nil reads no more. Names in a directory have to be looked at one by
	// one to be kept.
	Also func(fsys fs.FS)
	// Parts are further texts by name, such as "notes.json". They are redacted as
	// the others are. CaptureContents gives them back.
	Parts map[string][]byte
}

// Capture reads the machine below a root as Read does, and writes exactly what
// that reading depends on as a plain text (a txtar archive) for a bug report or a
// test. Parse reads it back into the same System, apart from what was redacted.
func Capture(w io.Writer, fsys fs.FS, opts CaptureOptions) error {
	if fsys == nil {
		_, err := Read(nil, opts.ReadOptions)
		return err
	}
	red := newRedactor()
	rec := newRecorder(fsys)
	var facts *GPUFacts
	if opts.GPUs != nil {
		f, err := opts.GPUs.GPUFacts()
		if err != nil {
			opts.Comment += fmt.Sprintf("\nNVML could not be asked for everything: %v", err)
		}
		if err == nil || len(f.GPUs) > 0 {
			facts = &f
		}
		opts.GPUs = nil
		if facts != nil {
			opts.GPUs = *facts
		}
	}
	if opts.TopologyFile != "" {
		rec.alias[captureTopo] = opts.TopologyFile
		opts.TopologyFile = captureTopo
	}
	// A machine that is refused is captured all the same: that is the bug report.
	var invalid *InvalidError
	if _, err := Read(rec, opts.ReadOptions); err != nil && !errors.As(err, &invalid) {
		return err
	}
	if opts.Also != nil {
		opts.Also(rec)
	}
	file, text := red.file, red.text
	if opts.Unredacted {
		file = func(_ string, content []byte) []byte { return content }
		text = func(s string) string { return s }
	}
	a := archive{comment: []byte(captureHead + captureWhole + "\n")}
	if opts.Comment != "" {
		a.comment = append(a.comment, text(opts.Comment)+"\n"...)
	}
	if facts != nil {
		data, err := json.MarshalIndent(facts, "", "\t")
		if err != nil {
			return err
		}
		a.files = append(a.files, archiveFile{captureNVML, []byte(text(string(data)) + "\n")})
	}
	a.files = append(a.files, archiveFile{captureTree, rec.tree(file)})
	for _, name := range slices.Sorted(maps.Keys(opts.Parts)) {
		a.files = append(a.files, archiveFile{name, []byte(text(string(opts.Parts[name])))})
	}
	a.files = append(a.files, archiveFile{name: captureEnd})
	_, err := w.Write(a.format())
	return err
}

// CaptureContents returns what a capture holds beside the System that Parse makes of
// it: the machine's files, nil where it was written down without them, and all
// parts by name.
func CaptureContents(data []byte) (files fs.FS, parts map[string][]byte, err error) {
	if why := notCapture(data); why != "" {
		return nil, nil, fmt.Errorf("topo: no capture: it %s", why)
	}
	parts = map[string][]byte{}
	for _, f := range parseArchive(data).files {
		parts[f.name] = f.data
	}
	delete(parts, captureEnd)
	if text, ok := parts[captureTree]; ok {
		tree, err := sysfs.ParseTree(string(text))
		if err != nil {
			return nil, nil, fmt.Errorf("topo: %s: %w", captureTree, err)
		}
		files = tree
	}
	return files, parts, nil
}

// notCapture says why data is no capture.
func notCapture(data []byte) string {
	if bytes.HasPrefix(data, []byte(captureHead)) {
		return ""
	}
	return fmt.Sprintf("does not begin with %q", captureHead)
}

// parseCapture reads a capture: files, or a System as it marshals to JSON.
func parseCapture(data []byte) (*System, error) {
	a := parseArchive(data)
	head, _, _ := bytes.Cut(a.comment, []byte("\n"))
	if _, whole := a.file(captureEnd); !whole && strings.TrimSpace(string(head)) == captureHead+captureWhole {
		return nil, &InvalidError{"the capture", "its end is missing: it was cut when it was copied"}
	}
	seen := map[string]bool{}
	for _, f := range a.files {
		if seen[f.name] {
			return nil, &InvalidError{f.name, "it stands twice: the file holds two captures, and one is wanted"}
		}
		seen[f.name] = true
	}
	if text, ok := a.file(captureSystem); ok {
		return parseSystem(text)
	}
	text, ok := a.file(captureTree)
	if !ok {
		return nil, fmt.Errorf("it has neither %q nor %q in it", captureTree, captureSystem)
	}
	tree, err := sysfs.ParseTree(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", captureTree, err)
	}
	var opts ReadOptions
	if text, ok := a.file(captureNVML); ok {
		var facts GPUFacts
		if err := strictJSON(text, &facts); err != nil {
			return nil, fmt.Errorf("%s: %w", captureNVML, err)
		}
		opts.GPUs = facts
	}
	if _, err := tree.Lstat(captureTopo); err == nil {
		opts.TopologyFile = captureTopo
	}
	return readUnfinished(tree, opts)
}

func parseSystem(text []byte) (*System, error) {
	s := &System{}
	if err := strictJSON(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", captureSystem, err)
	}
	s.Warnings = nil // Finish finds them again
	return s, nil
}

// strictJSON refuses fields that do not exist, and a second value: a misspelt fact
// would be lost.
func strictJSON(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the end of the JSON value")
	}
	return nil
}

// recordedErrors are the answers of a driver that a tree's text can repeat.
var recordedErrors = map[string]syscall.Errno{
	"EACCES": syscall.EACCES, "EINVAL": syscall.EINVAL, "EIO": syscall.EIO, "ENODATA": syscall.ENODATA,
	"ENODEV": syscall.ENODEV, "ENXIO": syscall.ENXIO, "EOPNOTSUPP": syscall.EOPNOTSUPP, "EPERM": syscall.EPERM,
}

func isErrno(err error, errno syscall.Errno) bool { return errors.Is(err, errno) }
