package rdmacm

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gofabric/gofabric/verbs"
)

// nodeHint says if a device's node keeps the user from opening it.
func nodeHint(d verbs.DeviceInfo) string {
	node := "/dev/infiniband/" + d.Uverbs
	f, err := os.OpenFile(node, os.O_RDWR, 0)
	switch {
	case err == nil:
		// Nothing was written.
		_ = f.Close()
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return node + ", the node of " + d.Name + ", is missing: in a container, pass it in"
	case errors.Is(err, fs.ErrPermission):
		return "no permission on " + node + ", the node of " + d.Name + ": the user needs read and write access to it"
	}
	return err.Error()
}
