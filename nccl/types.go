package nccl

import (
	"fmt"
	"math"
	"strings"
)

// DataType is the type of the elements that an operation moves.
type DataType int32

// NCCL's data types. A char is Int8, an int Int32, and so on.
const (
	Int8       DataType = 0
	Uint8      DataType = 1
	Int32      DataType = 2
	Uint32     DataType = 3
	Int64      DataType = 4
	Uint64     DataType = 5
	Float16    DataType = 6
	Float32    DataType = 7
	Float64    DataType = 8
	BFloat16   DataType = 9  // NCCL 2.10.3
	Float8E4M3 DataType = 10 // NCCL 2.24.3
	Float8E5M2 DataType = 11 // NCCL 2.24.3
)

// dataTypes describes each type: the name that nccl-tests gives it, another
// common one, its size in bytes and the release that brings it.
var dataTypes = [...]struct {
	name, other string
	size        int
	since       Version
}{
	Int8:       {"int8", "char", 1, 0},
	Uint8:      {"uint8", "uchar", 1, 0},
	Int32:      {"int32", "int", 4, 0},
	Uint32:     {"uint32", "uint", 4, 0},
	Int64:      {"int64", "long", 8, 0},
	Uint64:     {"uint64", "ulong", 8, 0},
	Float16:    {"half", "float16", 2, 0},
	Float32:    {"float", "float32", 4, 0},
	Float64:    {"double", "float64", 8, 0},
	BFloat16:   {"bfloat16", "bf16", 2, 21003},
	Float8E4M3: {"f8e4m3", "float8e4m3", 1, 22403},
	Float8E5M2: {"f8e5m2", "float8e5m2", 1, 22403},
}

// DataTypes lists every type, in NCCL's order.
func DataTypes() []DataType {
	list := make([]DataType, len(dataTypes))
	for i := range list {
		list[i] = DataType(i)
	}
	return list
}

func (t DataType) known() bool { return t >= 0 && int(t) < len(dataTypes) }

// Size returns the bytes of an element, or 0 for a type that is not NCCL's.
func (t DataType) Size() int {
	if !t.known() {
		return 0
	}
	return dataTypes[t].size
}

// Since returns the release of NCCL that brings the type; 0 if all have it.
func (t DataType) Since() Version {
	if !t.known() {
		return 0
	}
	return dataTypes[t].since
}

// String returns the name that nccl-tests uses: "float", "bfloat16", "f8e4m3".
func (t DataType) String() string {
	if !t.known() {
		return fmt.Sprintf("DataType(%d)", int(t))
	}
	return dataTypes[t].name
}

// ParseDataType reads a name as nccl-tests writes it; "float16", "float32",
// "float64" and the names of C are understood too.
func ParseDataType(name string) (DataType, error) {
	lower := strings.ToLower(name)
	for i, t := range dataTypes {
		if lower == t.name || lower == t.other {
			return DataType(i), nil
		}
	}
	var names []string
	for _, t := range dataTypes {
		names = append(names, t.name)
	}
	return 0, badArgument("no data type %q: there are %s", name, strings.Join(names, ", "))
}

// RedOp is how a reduction combines elements: one of the constants, or what
// CustomOp.RedOp answers.
type RedOp int32

// NCCL's own reductions.
const (
	Sum  RedOp = 0
	Prod RedOp = 1
	Max  RedOp = 2
	Min  RedOp = 3
	Avg  RedOp = 4 // NCCL 2.10.3
)

var redOps = [...]string{"sum", "prod", "max", "min", "avg"}

const avgSince Version = 21003

// RedOps lists NCCL's own reductions.
func RedOps() []RedOp { return []RedOp{Sum, Prod, Max, Min, Avg} }

// String returns the name that nccl-tests uses: "sum".
func (op RedOp) String() string {
	switch {
	case op >= 0 && int(op) < len(redOps):
		return redOps[op]
	case op >= firstCustomOp:
		return "custom"
	default:
		return fmt.Sprintf("RedOp(%d)", int(op))
	}
}

// ParseRedOp reads a name as nccl-tests writes it.
func ParseRedOp(name string) (RedOp, error) {
	for i, n := range redOps {
		if strings.EqualFold(n, name) {
			return RedOp(i), nil
		}
	}
	return 0, badArgument("no reduction %q: there are %s", name, strings.Join(redOps[:], ", "))
}

// bytesOf returns count elements of t in bytes, times what each of several
// ranks has; ok is false if that does not fit in 64 bits.
func bytesOf(count int, t DataType, times int) (n uint64, ok bool) {
	if count < 0 || times < 0 {
		return 0, false
	}
	per := uint64(t.Size()) * uint64(times)
	if per != 0 && uint64(count) > math.MaxUint64/per {
		return 0, false
	}
	return uint64(count) * per, true
}

// fits reports whether n is one of NCCL's numbers, which have 32 bits.
func fits(n int) bool { return n >= math.MinInt32 && n <= math.MaxInt32 }
