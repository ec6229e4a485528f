package sysfs

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// ParseTree reads a tree from its description: one plain text that stands for a
// machine's /sys, or the part of it that matters. Each line is one of
//
//	# a comment
//	path = text             a file with that text and a newline, as sysfs gives it
//	path =                  an empty file, or one whose lines follow:
//	| text                  one more line of that file, newline included
//	path -> target          a symbolic link
//	path !EINVAL            a file that is there and answers a read with that errno
//	path/                   a directory, needed only when it is empty
//	[path]                  the lines below are relative to path; [] or [/] is the root
//
// A path has no white space and no "=". A leading slash is ignored, so that a
// listing of "path=value" lines parses as it is. Directories above a path come
// by themselves. A path stands once, and never below a link: write it below the
// link's target.
func ParseTree(text string) (*Tree, error) {
	p := parser{tree: &Tree{nodes: map[string]*node{".": {mode: fs.ModeDir | 0o555}}}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if err := p.line(strings.TrimSpace(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w: %q", number, err, clip(strings.TrimSpace(line)))
		}
	}
	return p.tree, nil
}

type parser struct {
	tree   *Tree
	prefix string
	block  *node // the empty file that continuation lines belong to
}

func (p *parser) line(line string) error {
	if rest, ok := strings.CutPrefix(line, "|"); ok {
		if p.block == nil {
			return fmt.Errorf("a line of content without a file above it")
		}
		p.block.content = append(p.block.content, strings.TrimPrefix(rest, " ")+"\n"...)
		return nil
	}
	p.block = nil
	if line == "" || line[0] == '#' {
		return nil
	}
	if line[0] == '[' {
		return p.section(line)
	}

	name, rest := line, ""
	if i := strings.IndexAny(line, " \t="); i >= 0 {
		name, rest = line[:i], strings.TrimSpace(line[i:])
	}
	n, err := describe(name, rest)
	if err != nil {
		return err
	}
	full, err := p.path(name)
	if err != nil {
		return err
	}
	if !p.tree.add(full, n) {
		return fmt.Errorf("%s stands twice, or below a file or a link", full)
	}
	if n.mode.IsRegular() && n.content == nil && n.readErr == nil {
		p.block = n
	}
	return nil
}

// describe builds the node that the text behind a path stands for.
func describe(name, rest string) (*node, error) {
	if strings.HasSuffix(name, "/") {
		if rest != "" {
			return nil, fmt.Errorf("a path that ends in a slash is a directory and takes no value")
		}
		return &node{mode: fs.ModeDir | 0o555}, nil
	}
	if value, ok := strings.CutPrefix(rest, "="); ok {
		n := &node{mode: 0o444}
		if value = strings.TrimSpace(value); value != "" {
			n.content = []byte(value + "\n")
		}
		return n, nil
	}
	if target, ok := strings.CutPrefix(rest, "->"); ok {
		if target = strings.TrimSpace(target); target != "" {
			return &node{mode: fs.ModeSymlink | 0o777, target: target}, nil
		}
		return nil, fmt.Errorf("a link needs a target")
	}
	if name, ok := strings.CutPrefix(rest, "!"); ok {
		errno, ok := errnos[strings.TrimSpace(name)]
		if !ok {
			return nil, fmt.Errorf("unknown errno (known: EACCES EINVAL EIO ENODATA ENODEV ENXIO EOPNOTSUPP EPERM)")
		}
		return &node{mode: 0o444, readErr: errno}, nil
	}
	return nil, fmt.Errorf("want one of: path = text, path -> target, path !ERRNO, path/")
}

// errnos are the answers that drivers give to a read of an attribute.
var errnos = map[string]syscall.Errno{
	"EACCES":     syscall.EACCES,
	"EINVAL":     syscall.EINVAL,
	"EIO":        syscall.EIO,
	"ENODATA":    syscall.ENODATA,
	"ENODEV":     syscall.ENODEV,
	"ENXIO":      syscall.ENXIO,
	"EOPNOTSUPP": syscall.EOPNOTSUPP,
	"EPERM":      syscall.EPERM,
}

func (p *parser) section(line string) error {
	inner, ok := strings.CutSuffix(line[1:], "]")
	if !ok {
		return fmt.Errorf("a section lacks its closing bracket")
	}
	inner = strings.Trim(strings.TrimSpace(inner), "/")
	if inner != "" && !fs.ValidPath(inner) {
		return fmt.Errorf("a section must be a plain path, without .. or empty elements")
	}
	p.prefix = inner
	return nil
}

// path returns the full path that name stands for in the current section.
func (p *parser) path(name string) (string, error) {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "/"), "/")
	if name == "." || !fs.ValidPath(name) {
		return "", fmt.Errorf("a path must be plain, without .. or empty elements")
	}
	return path.Join(p.prefix, name), nil
}
