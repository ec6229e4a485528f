package counters

import (
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/internal/ethtool"
)

// ReadEthtool reads what an interface's driver counts, without rights. On RoCE
// the names that end in _phy are the wire's totals. The error has
// errors.ErrUnsupported in its chain where the driver counts nothing.
func ReadEthtool(netdev string) ([]Value, error) {
	stats, err := ethtool.Stats(netdev)
	if err != nil {
		return nil, fmt.Errorf("counters: %w", err)
	}
	var list []Value
	for _, s := range stats {
		// Some drivers indent names, or put white space between words.
		if word := strings.Join(strings.Fields(s.Name), "_"); word != "" {
			list = append(list, value(Ethtool, word, s.Value))
		}
	}
	return list, nil
}
