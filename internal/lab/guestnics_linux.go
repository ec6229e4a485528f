package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// stagedScript names the NICs of a Machine, which the kernel numbers in the order
// in which it meets them, and gives each its address. All are on one segment and
// of one host: each may answer for its own address only, and what one sends to
// another has to be routed past lo.
func stagedScript(mtu int, nics []stagedNIC) (string, error) {
	for file, value := range map[string]string{"arp_ignore": "1", "arp_announce": "2"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/conf/all/"+file, []byte(value), 0); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	b.WriteString("link set lo up\n")
	for _, n := range nics {
		name := ""
		err := waitFor("the NIC "+n.Name, func() bool {
			name = interfaceOf(n.MAC)
			return name != ""
		})
		if err != nil {
			return "", fmt.Errorf("%w; its driver must be among the modules", err)
		}
		fmt.Fprintf(&b, "link set %s name %s mtu %d\naddr add %s/24 dev %s\nlink set %s up\n", name, n.Name, mtu, n.Address, n.Name, n.Name)
	}
	if len(nics) > 1 {
		b.WriteString("rule add pref 100 lookup local\nrule del pref 0\n")
	}
	for i, from := range nics {
		for j, to := range nics {
			if i != j {
				fmt.Fprintf(&b, "rule add pref 10 iif lo from %s to %s lookup %d\n", from.Address, to.Address, firstTable+i)
				fmt.Fprintf(&b, "route add %s dev %s src %s table %d\n", to.Address, from.Name, from.Address, firstTable+i)
			}
		}
	}
	return b.String(), nil
}

// firstTable is the number of the first NIC's routing table, away from the
// kernel's own.
const firstTable = 10

func interfaceOf(mac string) string {
	files, _ := filepath.Glob("/sys/class/net/*/address")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(text)) == mac {
			return filepath.Base(filepath.Dir(file))
		}
	}
	return ""
}
