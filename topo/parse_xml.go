package topo

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxXMLDepth bounds how deep elements nest. The deepest real tree, hwloc's
// caches above a chain of switches, has some 30 levels.
const maxXMLDepth = 200

// maxXMLElements bounds how many elements there are: a short one takes fifty times
// its text in memory. The largest real trees have some ten thousand.
const maxXMLElements = 1 << 20

// element is an XML element with what the topology formats use of it: they have
// no text that matters but that of hwloc's matrices.
type element struct {
	name     string
	attrs    map[string]string
	text     string
	pieces   []byte // of text, until the element ends
	line     int
	children []*element
}

// attr returns an attribute without the space around it, and false where it is
// not there.
func (e *element) attr(key string) (string, bool) {
	v, ok := e.attrs[key]
	return strings.TrimSpace(v), ok
}

// errorf makes an error that says where the element stands.
func (e *element) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d, <%s>: %s", e.line, e.name, fmt.Sprintf(format, args...))
}

// integer reads an attribute that is a whole number, decimal or 0x, and false
// where it is absent or empty.
func (e *element) integer(key string, least, most int64) (int, bool, error) {
	text, ok := e.attr(key)
	if !ok || text == "" {
		return 0, false, nil
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		// NCCL reads "08" as a decimal number.
		n, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil || n < least || n > most {
		return 0, false, e.errorf("%s=%q is not a number from %d to %d", key, clip(text), least, most)
	}
	return int(n), true, nil
}

// hex reads an attribute that is a hexadecimal number with or without 0x.
func (e *element) hex(key string, bits int) (uint64, bool, error) {
	text, ok := e.attr(key)
	if !ok || text == "" {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, bits)
	if err != nil {
		return 0, false, e.errorf("%s=%q is not a hexadecimal number of at most %d bits", key, clip(text), bits)
	}
	return n, true, nil
}

// sub returns the first child of the name, nil where there is none.
func (e *element) sub(name string) *element {
	for _, c := range e.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

func newXMLDecoder(data []byte) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	return d
}

// notXML tells whether the first element of data has the name.
func notXML(name string) func(data []byte) string {
	return func(data []byte) string {
		if text := bytes.TrimSpace(data); len(text) == 0 || text[0] != '<' {
			return "does not begin with <"
		}
		d := newXMLDecoder(data)
		for {
			token, err := d.Token()
			if err != nil {
				return "no element <" + name + ">"
			}
			if start, ok := token.(xml.StartElement); ok {
				if start.Name.Local != name {
					return fmt.Sprintf("begins with <%s>, not <%s>", clip(start.Name.Local), name)
				}
				return ""
			}
		}
	}
}

// readXML reads a document into elements.
func readXML(data []byte) (*element, error) {
	d := newXMLDecoder(data)
	var root *element
	var open []*element
	count := 0
	for {
		line, _ := d.InputPos()
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && root != nil:
			return root, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("no element")
		case err != nil:
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			e := &element{name: t.Name.Local, line: line, attrs: make(map[string]string, len(t.Attr))}
			for _, a := range t.Attr {
				if _, twice := e.attrs[a.Name.Local]; twice {
					return nil, e.errorf("attribute %s stands twice", clip(a.Name.Local))
				}
				e.attrs[a.Name.Local] = a.Value
			}
			count++
			switch {
			case count > maxXMLElements:
				return nil, e.errorf("more than %d elements", maxXMLElements)
			case len(open) == maxXMLDepth:
				return nil, e.errorf("elements nest more than %d levels deep", maxXMLDepth)
			case len(open) > 0:
				parent := open[len(open)-1]
				parent.children = append(parent.children, e)
			case root != nil:
				return nil, e.errorf("a second document: the first ended above")
			default:
				root = e
			}
			open = append(open, e)
		case xml.EndElement:
			e := open[len(open)-1]
			e.text, e.pieces = string(e.pieces), nil
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				e := open[len(open)-1]
				e.pieces = append(e.pieces, t...)
			}
		}
	}
}
