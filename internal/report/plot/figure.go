// Package plot draws line charts as SVG for the tools: bandwidth, time or a
// share over a size, several series in a panel, several panels in a figure, with
// the limit of what was measured as a line.
//
// It lays out values that it is given and measures nothing. A figure names no
// font file and no other resource; the same figure is the same text.
package plot

// Figure is one or more panels below each other, with a title, and a legend for
// all of them.
type Figure struct {
	Title    string
	Subtitle string
	Panels   []Panel
	// Notes stand below the panels in small print: where a limit comes from,
	// what is not shown.
	Notes []string
}

// Panel is a chart. Points that an axis cannot show are left out: zero and less
// on a logarithmic one, and what is not finite.
type Panel struct {
	X, Y   Axis
	Series []Series
	Limits []Limit
}

// Axis is one direction of a panel. The zero value is linear.
type Axis struct {
	// Label is what the axis shows, with its unit unless Format writes it.
	Label string
	Scale Scale
	// Format writes a value beside the axis and in the text that a viewer shows
	// over a point. Nil is a decimal of three digits.
	Format func(value float64) string
}

// Scale is how values lie on an axis.
type Scale int

const (
	// Linear includes zero.
	Linear Scale = iota
	// Log2 is for sizes: it is divided at powers of two.
	Log2
	// Log10 is divided at powers of ten, and within them where there are few.
	Log10
)

// Series is a line through points, which are in the order of their X. A short one
// has a mark at each point.
type Series struct {
	// Name stands in the legend, once for all panels.
	Name string
	// Colour is a number from 0. It chooses the shape of the marks too, so that
	// nothing is told by colour alone.
	Colour int
	// Dashed breaks the line and makes its marks hollow, for the second of two series
	// of one colour.
	Dashed bool
	Points []Point
}

// Point is a value. Both coordinates are in the axes' units.
type Point struct{ X, Y float64 }

// Limit is a value of Y that cannot be exceeded. On a linear axis, one far above
// the points stands as words and does not press them to the ground.
type Limit struct {
	Name string
	At   float64
}
