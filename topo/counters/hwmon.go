package counters

import (
	"io/fs"
	"path"
	"strings"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// Temperature is what a sensor of a PCI function tells.
type Temperature struct {
	Function string  `json:"function"` // 0000:3b:00.0
	Chip     string  `json:"chip,omitempty"`
	Sensor   string  `json:"sensor,omitempty"` // of the chip: temp1
	Label    string  `json:"label,omitempty"`
	Celsius  float64 `json:"celsius"`
	// Critical is where the card protects itself, nil where the driver does not
	// tell.
	Critical *float64 `json:"critical,omitempty"`
}

// Temperatures reads the sensors of PCI functions, given by address. A function
// without sensors has none.
func Temperatures(root fs.FS, addresses ...string) []Temperature {
	r := sysfs.NewReader(root)
	var list []Temperature
	for _, address := range addresses {
		if !plain(address) {
			continue
		}
		chips, _, _ := r.Names(path.Join(busPCI, address, "hwmon"))
		for _, chip := range chips {
			dir := path.Join(busPCI, address, "hwmon", chip)
			name, _, _ := r.String(path.Join(dir, "name"))
			files, _, _ := r.Names(dir)
			for _, file := range files {
				sensor, ok := strings.CutSuffix(file, "_input")
				if !ok || !strings.HasPrefix(sensor, "temp") {
					continue
				}
				milli, ok, _ := r.Int(path.Join(dir, file))
				if !ok || milli < -100_000 || milli > 300_000 {
					continue
				}
				t := Temperature{Function: address, Chip: name, Sensor: sensor, Celsius: float64(milli) / 1000}
				t.Label, _, _ = r.String(path.Join(dir, sensor+"_label"))
				if limit, ok, _ := r.Int(path.Join(dir, sensor+"_crit")); ok && limit > 0 {
					celsius := float64(limit) / 1000
					t.Critical = &celsius
				}
				list = append(list, t)
			}
		}
	}
	return list
}
