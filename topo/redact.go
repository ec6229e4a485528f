package topo

import (
	"bytes"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"strings"
)

// redactor replaces what identifies a machine or its owner: GUIDs, MAC and IP
// addresses, UUIDs, serial numbers. The same value always gets the same
// replacement within a capture, and what belongs together still does: the GID
// made of a MAC address, the IPoIB address made of a port's GUID.
type redactor struct {
	guids, macs, ips, subnets, uuids map[string]string
}

func newRedactor() *redactor {
	return &redactor{guids: map[string]string{}, macs: map[string]string{}, ips: map[string]string{},
		subnets: map[string]string{}, uuids: map[string]string{}}
}

func stand(m map[string]string, key string, make func(n int) string) string {
	if m[key] == "" {
		m[key] = make(len(m) + 1)
	}
	return m[key]
}

// guid replaces 16 hexadecimal digits. Zero stays: it says that there is none.
func (r *redactor) guid(digits string) string {
	digits = strings.ToLower(digits)
	if strings.Trim(digits, "0") == "" {
		return digits
	}
	if digits[6:10] == "fffe" {
		// Made of a MAC address, with one bit turned.
		if mac, ok := turnBit(digits[:6] + digits[10:]); ok {
			fake, _ := turnBit(r.mac(mac))
			return fake[:6] + "fffe" + fake[6:]
		}
	}
	return stand(r.guids, digits, func(n int) string { return fmt.Sprintf("0f00000000%06x", n) })
}

// mac replaces 12 digits.
func (r *redactor) mac(digits string) string {
	if strings.Trim(digits, "0") == "" {
		return digits
	}
	return stand(r.macs, strings.ToLower(digits), func(n int) string { return fmt.Sprintf("020000%06x", n) })
}

func turnBit(digits string) (string, bool) {
	var first byte
	if _, err := fmt.Sscanf(digits[:2], "%02x", &first); err != nil {
		return "", false
	}
	return fmt.Sprintf("%02x", first^2) + digits[2:], true
}

// gid replaces 32 digits.
func (r *redactor) gid(digits string) string {
	digits = strings.ToLower(digits)
	prefix, low := digits[:16], digits[16:]
	switch {
	case strings.Trim(digits, "0") == "":
		return digits
	case prefix == "0000000000000000" && low[:8] == "0000ffff":
		return prefix + low[:8] + r.ipv4(low[8:])
	case prefix == "fe80000000000000":
		return prefix + r.guid(low)
	}
	return stand(r.subnets, prefix, func(n int) string { return fmt.Sprintf("fd000000%08x", n) }) + r.guid(low)
}

func (r *redactor) ipv4(digits string) string {
	return stand(r.ips, digits, func(n int) string { return fmt.Sprintf("0a%06x", n) })
}

func colons(digits string, every int) string {
	var parts []string
	for len(digits) > every {
		parts, digits = append(parts, digits[:every]), digits[every:]
	}
	return strings.Join(append(parts, digits), ":")
}

// The forms that are looked for. All are in one pattern, the longest first, so
// that no part of a replacement is replaced again.
const (
	gidForm   = `\b[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){7}\b`
	guidForm  = `\b[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}\b`
	ipoibForm = `\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){19}\b`
	macForm   = `\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}\b`
	uuidForm  = `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`
	xmlForm   = `\b(?:guid|host_hash)="0x[0-9a-fA-F]{1,16}"`
	ipForm    = `\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b`
)

var (
	identifier  = regexp.MustCompile(ipoibForm + "|" + gidForm + "|" + guidForm + "|" + macForm + "|" + uuidForm + "|" + xmlForm + "|" + ipForm)
	serialValue = regexp.MustCompile(`(?im)^(.*serial[^:=\n]*[:=][ \t]*).*$`)
)

// text replaces whatever in a text has the form of an identifier.
func (r *redactor) text(s string) string {
	s = identifier.ReplaceAllStringFunc(s, r.one)
	return serialValue.ReplaceAllString(s, "${1}redacted")
}

func (r *redactor) one(v string) string {
	if name, digits, ok := strings.Cut(v, `="0x`); ok {
		digits = strings.TrimSuffix(digits, `"`)
		return name + `="0x` + r.guid(strings.Repeat("0", 16-len(digits))+digits) + `"`
	}
	if strings.Contains(v, "-") {
		return r.uuid(v)
	}
	if strings.Contains(v, ".") {
		return r.dotted(v)
	}
	digits := strings.ToLower(strings.ReplaceAll(v, ":", ""))
	switch len(digits) {
	case 40:
		return colons("00000000"+r.gid(digits[8:]), 2)
	case 32:
		return colons(r.gid(digits), 4)
	case 16:
		return colons(r.guid(digits), 4)
	}
	return colons(r.mac(digits), 2)
}

func (r *redactor) uuid(v string) string {
	return stand(r.uuids, strings.ToLower(v), func(n int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012x", n) })
}

func (r *redactor) dotted(v string) string {
	a, err := netip.ParseAddr(v)
	if err != nil {
		return v
	}
	b := a.As4()
	fake := r.ipv4(fmt.Sprintf("%02x%02x%02x%02x", b[0], b[1], b[2], b[3]))
	var f [4]byte
	for i := range f {
		fmt.Sscanf(fake[2*i:2*i+2], "%02x", &f[i])
	}
	return netip.AddrFrom4(f).String()
}

// xmlComment is where a cloud's file tells whose it is.
var xmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)

// plainFiles hold numbers and words that cannot identify anybody but can look as
// if they did: a firmware's version has the form of an IP address.
var plainFiles = map[string]bool{"fw_ver": true, "board_id": true, "hca_type": true}

// file replaces what identifies in the content of a file.
func (r *redactor) file(name string, content []byte) []byte {
	switch base := path.Base(name); {
	case base == "vpd":
		// Serial numbers; only one word of it is ever looked for.
		if strings.Contains(string(content), serviceMark) {
			return []byte("SMDL=" + serviceMark + "\n")
		}
		return nil
	case name == "proc/1/cgroup":
		return r.cgroup(content)
	case base == "mounts" && path.Dir(path.Dir(name)) == "proc":
		// What else is mounted tells much of a site, and nothing here.
		var kept []byte
		for line := range bytes.Lines(content) {
			if bytes.Contains(line, []byte(" /dev/shm ")) || bytes.Contains(line, []byte(" /proc/driver/nvidia")) {
				kept = append(kept, line...)
			}
		}
		return kept
	case plainFiles[base]:
		return content
	case path.Ext(base) == ".xml":
		content = xmlComment.ReplaceAll(content, nil)
	}
	return []byte(r.text(string(content)))
}

// cgroup keeps the words that tell the kind of container, and nothing else of its
// names and ids.
func (r *redactor) cgroup(content []byte) []byte {
	kept := "0::/"
	for _, known := range containerGroups {
		if strings.Contains(string(content), known[0]) {
			kept += known[0] + "/"
		}
	}
	return []byte(kept + "\n")
}
