package command

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// Display is a flag as users know it: "-s/--size".
func Display(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + "/--" + f.Name
}

// Explain says which flag an error of pflag is about, if it is about one, and what
// is wrong with it.
func Explain(err error) (flag, problem string) {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		flag = "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			flag = "-" + unknown.GetSpecifiedName()
		}
		return flag, "there is no such flag; -h lists them"
	case errors.As(err, &missing):
		return Display(missing.GetFlag()), "a value must follow"
	case errors.As(err, &invalid):
		problem = fmt.Sprintf("%q is not a value of this flag", invalid.GetValue())
		switch invalid.GetFlag().Value.Type() {
		case "duration":
			problem = fmt.Sprintf("%q is not a time: want a number with a unit, as in 500ms, 60s or 5m", invalid.GetValue())
		case "int":
			problem = fmt.Sprintf("%q is not a whole number, or too large", invalid.GetValue())
		}
		var own ValueError
		if errors.As(err, &own) {
			problem = string(own)
		}
		return Display(invalid.GetFlag()), problem
	}
	return "", err.Error()
}

// ValueError is what flag values return; the text is meant for users.
type ValueError string

func (e ValueError) Error() string { return string(e) }

// Number is a flag's value in Low..High.
type Number struct {
	Dst       *int
	Low, High int
}

// Set implements pflag.Value.
func (n *Number) Set(text string) error {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return ValueError(fmt.Sprintf("%q is not a whole number", text))
	}
	if err != nil || v < int64(n.Low) || v > int64(n.High) {
		if n.High == math.MaxInt32 {
			return ValueError(fmt.Sprintf("%s is less than %d, or too large", text, n.Low))
		}
		return ValueError(fmt.Sprintf("%s is not in %d..%d", text, n.Low, n.High))
	}
	*n.Dst = int(v)
	return nil
}

// Type implements pflag.Value.
func (n *Number) Type() string { return "int" }

// String implements pflag.Value.
func (n *Number) String() string {
	if n.Dst == nil {
		return "0"
	}
	return strconv.Itoa(*n.Dst)
}
