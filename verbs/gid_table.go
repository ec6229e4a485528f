package verbs

import (
	"fmt"
	"path"
	"strconv"
)

// GIDEntry is one entry of a port's GID table.
type GIDEntry struct {
	Index  int
	GID    GID
	Type   GIDType
	Netdev string // the interface that the GID belongs to, "" on InfiniBand or when not seen
}

// gidTable reads the table of a port. Entries that are empty are left out: the
// kernel gives zeros for them, or EINVAL, and EINVAL for their type and
// interface. An entry that cannot be read is noted and takes no other with it.
func gidTable(a attrDir, link LinkLayer) (entries []GIDEntry, length int) {
	names, _, err := a.Names(path.Join(a.dir, "gids"))
	a.note(err)
	for _, name := range names {
		index, err := strconv.Atoi(name)
		if err != nil || index < 0 || strconv.Itoa(index) != name {
			continue
		}
		length = max(length, index+1)
		gid := attrValue(a, "gids/"+name, ParseGID)
		if gid.IsZero() {
			continue
		}
		entries = append(entries, GIDEntry{
			Index:  index,
			GID:    gid,
			Type:   gidType(a, name, link),
			Netdev: a.text("gid_attrs/ndevs/" + name),
		})
	}
	return entries, length
}

// gidType reads the type of an entry in use. The kernel has one text for what is
// IB or RoCE v1, so the link layer decides; it is also what an entry without a
// type is, on InfiniBand (EINVAL) and under kernels older than 4.5, which know
// nothing else.
func gidType(a attrDir, name string, link LinkLayer) GIDType {
	text, ok, err := a.String(path.Join(a.dir, "gid_attrs/types", name))
	if err == nil {
		switch {
		case text == "RoCE v2":
			return GIDTypeRoCEv2
		case !ok, text == "IB/RoCE v1":
			if link == LinkLayerEthernet {
				return GIDTypeRoCEv1
			}
			return GIDTypeIB
		}
		err = fmt.Errorf("%s: GID %s has the unknown type %q", a.dir, name, clip(text))
	}
	a.note(err)
	return GIDTypeUnknown
}
