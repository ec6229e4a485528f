package command

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// Toggle adds a flag without a value. pflag's own says "[=true|false]" in the help
// text.
func Toggle(set *pflag.FlagSet, dst *bool, long, short, usage string) {
	set.VarPF((*toggle)(dst), long, short, usage).NoOptDefVal = "true"
}

type toggle bool

func (b *toggle) Set(text string) error {
	v, err := strconv.ParseBool(text)
	if err != nil {
		return ValueError(fmt.Sprintf("%q is neither true nor false", text))
	}
	*b = toggle(v)
	return nil
}

func (b *toggle) Type() string { return "boolfunc" }

func (b *toggle) String() string { return strconv.FormatBool(bool(*b)) }
