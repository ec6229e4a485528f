package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// aptEntry is one archive of an apt configuration.
type aptEntry struct {
	uris       []string
	suites     []string
	components []string
	// signedBy is the Signed-By field as it stands: key files, fingerprints
	// or a whole key, lines separated by "\n". "" trusts apt's own keys.
	signedBy string
}

// parseOneLine reads a sources.list(5) file in the one-line format.
func parseOneLine(text string) []aptEntry {
	var entries []aptEntry
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			if rest, ok = strings.CutPrefix(strings.TrimSpace(line), "deb\t"); !ok {
				continue
			}
		}
		rest = strings.TrimSpace(rest)
		var e aptEntry
		if options, ok := strings.CutPrefix(rest, "["); ok {
			var inside string
			if inside, rest, ok = strings.Cut(options, "]"); !ok {
				continue
			}
			for _, o := range strings.Fields(inside) {
				if key, value, _ := strings.Cut(o, "="); strings.EqualFold(key, "signed-by") {
					e.signedBy = strings.ReplaceAll(value, ",", " ")
				}
			}
		}
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			continue
		}
		e.uris, e.suites, e.components = fields[:1], fields[1:2], fields[2:]
		entries = append(entries, e)
	}
	return entries
}

// parseDeb822 reads a sources.list(5) file in the deb822 format.
func parseDeb822(text string) []aptEntry {
	var entries []aptEntry
	for _, fields := range deb822(text) {
		types := strings.Fields(fields["types"])
		enabled := strings.ToLower(strings.TrimSpace(fields["enabled"]))
		if !contains(types, "deb") || enabled == "no" || enabled == "false" || enabled == "0" {
			continue
		}
		entries = append(entries, aptEntry{
			uris:       strings.Fields(fields["uris"]),
			suites:     strings.Fields(fields["suites"]),
			components: strings.Fields(fields["components"]),
			signedBy:   fields["signed-by"],
		})
	}
	return entries
}

// deb822 splits a text into stanzas of fields, keyed in lower case.
// Continuation lines stay as they are, after a newline.
func deb822(text string) []map[string]string {
	var stanzas []map[string]string
	var stanza map[string]string
	key := ""
	for _, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			stanza, key = nil, ""
		case line[0] == '#':
		case line[0] == ' ' || line[0] == '\t':
			if key != "" {
				stanza[key] += "\n" + line
			}
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				key = ""
				continue
			}
			if stanza == nil {
				stanza = map[string]string{}
				stanzas = append(stanzas, stanza)
			}
			key = strings.ToLower(strings.TrimSpace(name))
			stanza[key] = strings.TrimSpace(value)
		}
	}
	return stanzas
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// debianSuites are the names under which a host's configuration may have the
// Debian archive.
func debianSuites() []string {
	return []string{"bullseye", "bookworm", "trixie", "forky", "duke", "sid", "oldoldstable", "oldstable", "stable", "testing", "unstable"}
}

// debianArchives picks the main and the security archive out of a host's
// entries. Security is optional.
func debianArchives(entries []aptEntry) (archive aptEntry, security *aptEntry, ok bool) {
	for _, e := range entries {
		if len(e.uris) == 0 || !contains(e.components, "main") {
			continue
		}
		for _, suite := range e.suites {
			base, isSecurity := strings.CutSuffix(suite, "-security")
			if !contains(debianSuites(), base) {
				continue
			}
			if isSecurity && security == nil {
				security = &aptEntry{uris: e.uris, signedBy: e.signedBy}
			}
			if !isSecurity && !ok {
				archive, ok = aptEntry{uris: e.uris, signedBy: e.signedBy}, true
			}
		}
	}
	return archive, security, ok
}

// privateSources writes the deb822 text that offers one suite of the archives,
// with its updates.
func privateSources(archive aptEntry, security *aptEntry, suite string) string {
	base := strings.TrimSuffix(suite, "-backports")
	suites := []string{base, base + "-updates"}
	if base != suite {
		suites = append(suites, suite)
	}
	text := stanza(archive, suites)
	if security != nil {
		text += "\n" + stanza(*security, []string{base + "-security"})
	}
	return text
}

func stanza(e aptEntry, suites []string) string {
	s := fmt.Sprintf("Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nArchitectures: amd64\n",
		strings.Join(e.uris, " "), strings.Join(suites, " "))
	if e.signedBy != "" {
		s += "Signed-By: " + e.signedBy + "\n"
	}
	return s
}

// hostSources reads the apt configuration of the root folder etc.
func hostSources(etc string) ([]aptEntry, error) {
	var entries []aptEntry
	files := []string{filepath.Join(etc, "apt", "sources.list")}
	more, err := filepath.Glob(filepath.Join(etc, "apt", "sources.list.d", "*"))
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	sort.Strings(more)
	for _, file := range append(files, more...) {
		parse := parseOneLine
		switch filepath.Ext(file) {
		case ".list":
		case ".sources":
			parse = parseDeb822
		default:
			continue
		}
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("lab: apt configuration: %w", err)
		}
		entries = append(entries, parse(string(text))...)
	}
	return entries, nil
}
