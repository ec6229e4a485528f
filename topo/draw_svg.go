package topo

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// The measures of a drawing in pixels.
const (
	svgMargin  = 24.0
	svgGap     = 20.0 // between columns
	svgPad     = 8.0  // inside a box
	svgIndent  = 24.0 // of a box below another
	svgLine    = 16.0
	svgBoxGap  = 8.0
	svgTitle   = 20.0  // height of a box's title
	svgColumns = 4     // side by side
	svgLanes   = 8     // side by side, in all columns of a row
	svgTall    = 760.0 // of a lane, before there is a second one
	svgLeast   = 210.0
	svgPage    = 720.0 // the least width of all
)

// colours of the boxes: fill, border.
var svgColours = map[boxKind][2]string{
	boxRoot:     {"#f4f4f4", "#8a8a8a"},
	boxSwitch:   {"#ececf4", "#6a6a8a"},
	boxGPU:      {"#e4f3d3", "#5a8f1e"},
	boxHCA:      {"#dcebfa", "#2b6cb0"},
	boxNetdev:   {"#f3eefa", "#8a6fb0"},
	boxNVSwitch: {"#eef7e4", "#8fb55f"},
	boxOther:    {"#fafafa", "#999999"},
}

const (
	svgBad  = "#c62828"
	svgEdge = "#777777"
)

// SVG writes a drawing of the machine that stands by itself: a column for each
// NUMA node with its host bridges, PCIe switches, GPUs and RDMA devices, links
// with generation, width and rate in GB/s, what NVLinks join, and the warnings.
// Degraded links and ports that are not active are red.
func (s *System) SVG(w io.Writer) error {
	d := &svgDrawing{out: bufio.NewWriter(w), picture: newPicture(s), gpus: len(s.GPUs)}
	d.draw()
	return d.out.Flush()
}

type svgDrawing struct {
	out     *bufio.Writer
	picture *picture
	gpus    int
}

// svgRow is a row of columns that stand side by side.
type svgRow struct {
	columns []*column
	widths  []float64
	lanes   [][][]*box
	height  float64
}

func (d *svgDrawing) draw() {
	rows := d.rows()
	width := textWidth(d.picture.title, 18, true) + 2*svgMargin
	for _, r := range rows {
		w := 2*svgMargin - svgGap
		for _, c := range r.widths {
			w += c + svgGap
		}
		width = max(width, w)
	}
	width = max(width, svgPage)
	empty := wrapAll(d.picture.empty, width-2*svgMargin, 12)
	fabric := wrapAll(d.picture.fabric.words(d.gpus), width-2*svgMargin-2*svgPad, 13)
	warnings := wrapAll(d.picture.warnings, width-2*svgMargin-16, 12)

	height := svgMargin + 28
	if d.picture.subtitle != "" {
		height += 20
	}
	top := height
	for _, r := range rows {
		height += r.height + svgGap
	}
	if len(empty) > 0 {
		height += float64(len(empty))*svgLine + svgGap
	}
	if len(fabric) > 0 {
		height += float64(len(fabric))*svgLine + 2*svgPad + svgGap
	}
	height += 30 // the key
	if len(warnings) > 0 {
		height += float64(len(warnings))*svgLine + 12
	}
	height += svgMargin / 2

	fmt.Fprintf(d.out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\">\n",
		width, height, width, height)
	fmt.Fprintf(d.out, "<title>%s</title>\n", svgText(d.picture.title))
	fmt.Fprintf(d.out, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n", width, height)
	d.text(svgMargin, svgMargin+14, 18, "#222222", true, d.picture.title)
	if d.picture.subtitle != "" {
		d.text(svgMargin, svgMargin+36, 13, "#555555", false, d.picture.subtitle)
	}
	y := top
	for _, r := range rows {
		x := svgMargin
		for i, c := range r.columns {
			d.column(c, r.lanes[i], x, y, r.widths[i], r.height)
			x += r.widths[i] + svgGap
		}
		y += r.height + svgGap
	}
	for _, line := range empty {
		d.text(svgMargin, y+4, 12, "#555555", false, line)
		y += svgLine
	}
	if len(empty) > 0 {
		y += svgGap
	}
	if len(fabric) > 0 {
		h := float64(len(fabric))*svgLine + 2*svgPad
		d.rect(svgMargin, y, width-2*svgMargin, h, 8, "#f3faea", "#5a8f1e", 1.5)
		for i, line := range fabric {
			d.text(svgMargin+svgPad, y+svgPad+12+float64(i)*svgLine, 13, "#3d6412", false, line)
		}
		y += h + svgGap
	}
	d.key(y)
	y += 30
	for i, line := range warnings {
		d.text(svgMargin, y+14+float64(i)*svgLine, 12, svgBad, false, line)
	}
	d.out.WriteString("</svg>\n")
}

// rows breaks the columns into rows of equal count, and measures them. What
// stands in a tall column goes side by side in lanes, where the page has room.
func (d *svgDrawing) rows() []svgRow {
	columns := d.picture.columns
	count := (len(columns) + svgColumns - 1) / svgColumns
	var rows []svgRow
	for len(columns) > 0 {
		n := (len(columns) + count - 1) / count
		r := svgRow{columns: columns[:n]}
		columns, count = columns[n:], count-1
		for _, c := range r.columns {
			w := max(textWidth(c.title, 14, true)+2*svgPad, svgLeast)
			for _, line := range c.lines {
				w = max(w, min(textWidth(line, 12, false)+2*svgPad, 420))
			}
			lanes := lanesOf(c, svgLanes/n)
			total := svgPad
			for _, lane := range lanes {
				total += laneWidth(lane) + svgPad
			}
			w = max(w, total)
			r.widths = append(r.widths, w)
			r.lanes = append(r.lanes, lanes)
			r.height = max(r.height, columnHead(c, w)+tallestLane(lanes)+svgPad)
		}
		r.stretch()
		rows = append(rows, r)
	}
	return rows
}

// stretch makes the columns of a narrow row wider.
func (r *svgRow) stretch() {
	free := svgPage - 2*svgMargin + svgGap
	for _, w := range r.widths {
		free -= w + svgGap
	}
	for i := range r.widths {
		r.widths[i] += max(free, 0) / float64(len(r.widths))
	}
}

// lanesOf deals the boxes of a column to lanes, in order: as few as keep them
// below svgTall, or as many as make them shorter.
func lanesOf(c *column, most int) [][]*box {
	best := dealLanes(c.boxes, 1)
	for n := 2; n <= most && tallestLane(best) > svgTall; n++ {
		if lanes := dealLanes(c.boxes, n); tallestLane(lanes) < tallestLane(best) {
			best = lanes
		}
	}
	return best
}

// dealLanes fills at most n lanes in order, to the least height that takes all.
func dealLanes(boxes []*box, n int) [][]*box {
	total := laneHeight(boxes)
	for limit := total / float64(n); ; limit += total / 50 {
		lanes, height := [][]*box{nil}, 0.0
		for _, b := range boxes {
			h := boxHeight(b) + svgBoxGap
			if last := len(lanes) - 1; height+h > limit && len(lanes[last]) > 0 {
				lanes, height = append(lanes, nil), 0
			}
			lanes[len(lanes)-1] = append(lanes[len(lanes)-1], b)
			height += h
		}
		if len(lanes) <= n {
			return lanes
		}
	}
}

func tallestLane(lanes [][]*box) float64 {
	most := 0.0
	for _, lane := range lanes {
		most = max(most, laneHeight(lane))
	}
	return most
}

func laneWidth(lane []*box) float64 {
	w := svgLeast - 2*svgPad
	for _, b := range lane {
		w = max(w, boxWidth(b))
	}
	return w
}

func laneHeight(lane []*box) float64 {
	h := 0.0
	for _, b := range lane {
		h += boxHeight(b) + svgBoxGap
	}
	return h
}

func columnLines(c *column, width float64) []string {
	return wrapAll(c.lines, width-2*svgPad, 12)
}

func columnHead(c *column, width float64) float64 {
	return svgPad + 22 + float64(len(columnLines(c, width)))*svgLine + 4
}

func boxOwnHeight(b *box) float64 {
	h := svgTitle + 2*svgPad - 6 + float64(len(b.lines))*svgLine
	if b.link != "" {
		h += svgLine
	}
	return h
}

func boxHeight(b *box) float64 {
	h := boxOwnHeight(b)
	for _, c := range b.children {
		h += svgBoxGap + boxHeight(c)
	}
	return h
}

func boxWidth(b *box) float64 {
	w := textWidth(b.title, 13, true)
	for _, line := range b.lines {
		w = max(w, textWidth(line.text, 12, false))
	}
	w = max(w, textWidth(b.link, 12, false)) + 2*svgPad
	for _, c := range b.children {
		w = max(w, svgIndent+boxWidth(c))
	}
	return w
}

func (d *svgDrawing) column(c *column, lanes [][]*box, x, y, w, h float64) {
	d.rect(x, y, w, h, 10, "#fcfcfc", "#bbbbbb", 1)
	d.text(x+svgPad, y+svgPad+14, 14, "#222222", true, c.title)
	lines := columnLines(c, w)
	for i, line := range lines {
		d.text(x+svgPad, y+svgPad+32+float64(i)*svgLine, 12, "#555555", false, line)
	}
	head := columnHead(c, w)
	if len(c.boxes) == 0 {
		d.text(x+svgPad, y+head+14, 12, "#999999", false, "no GPU and no HCA here")
	}
	free := w - svgPad
	for _, lane := range lanes {
		free -= laneWidth(lane) + svgPad
	}
	x += svgPad
	for _, lane := range lanes {
		width := laneWidth(lane) + free/float64(len(lanes))
		at := y + head
		for _, b := range lane {
			at += d.box(b, x, at, width) + svgBoxGap
		}
		x += width + svgPad
	}
}

// box draws a box and those below it, and returns the height of all.
func (d *svgDrawing) box(b *box, x, y, w float64) float64 {
	colours := svgColours[b.kind]
	own := boxOwnHeight(b)
	border, stroke := colours[1], 1.2
	if b.bad {
		border, stroke = svgBad, 2.2
	}
	at, middle := y+own, y+own
	for _, c := range b.children {
		at += svgBoxGap
		edge, thick := svgEdge, 1.4
		if c.bad {
			edge, thick = svgBad, 3.0
		}
		middle = at + min(boxOwnHeight(c)/2, 18)
		fmt.Fprintf(d.out, "<path d=\"M%.1f %.1f H%.1f\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n",
			x+svgIndent/2, middle, x+svgIndent, edge, thick)
		at += d.box(c, x+svgIndent, at, w-svgIndent)
	}
	if len(b.children) > 0 {
		fmt.Fprintf(d.out, "<path d=\"M%.1f %.1f V%.1f\" stroke=\"%s\" stroke-width=\"1.4\"/>\n", x+svgIndent/2, y+own, middle, svgEdge)
	}
	d.rect(x, y, w, own, 5, colours[0], border, stroke)
	line := y + svgPad + 11
	d.text(x+svgPad, line, 13, "#222222", true, b.title)
	line += svgLine + 1
	for _, l := range b.lines {
		colour := "#444444"
		if l.bad {
			colour = svgBad
		}
		d.text(x+svgPad, line, 12, colour, false, l.text)
		line += svgLine
	}
	if b.link != "" {
		colour := "#777777"
		if b.bad {
			colour = svgBad
		}
		d.text(x+svgPad, line, 12, colour, false, b.link)
	}
	return at - y
}

// key explains the colours.
func (d *svgDrawing) key(y float64) {
	x := svgMargin
	for _, entry := range []struct {
		kind boxKind
		word string
	}{{boxGPU, "GPU"}, {boxHCA, "RDMA device"}, {boxSwitch, "PCIe switch"}, {boxRoot, "host bridge"}} {
		colours := svgColours[entry.kind]
		d.rect(x, y+2, 14, 14, 3, colours[0], colours[1], 1.2)
		d.text(x+20, y+14, 12, "#555555", false, entry.word)
		x += 20 + textWidth(entry.word, 12, false) + 16
	}
	fmt.Fprintf(d.out, "<path d=\"M%.1f %.1f H%.1f\" stroke=\"%s\" stroke-width=\"2.6\"/>\n", x, y+9, x+18, svgBad)
	d.text(x+24, y+14, 12, "#555555", false, "degraded link, port not active")
}

func (d *svgDrawing) rect(x, y, w, h, r float64, fill, stroke string, width float64) {
	fmt.Fprintf(d.out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.0f\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n",
		x, y, w, h, r, fill, stroke, width)
}

func (d *svgDrawing) text(x, y, size float64, colour string, bold bool, text string) {
	weight := ""
	if bold {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(d.out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" fill=\"%s\"%s>%s</text>\n", x, y, size, colour, weight, svgText(text))
}

// svgText makes text safe for XML, which has no way to write most control
// characters.
func svgText(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return xmlEscaper.Replace(clean)
}

// textWidth is a generous guess: a viewer may not have the font.
func textWidth(text string, size float64, bold bool) float64 {
	each := 0.615
	if bold {
		each = 0.69
	}
	return float64(len([]rune(text))) * size * each
}

// wrapAll breaks lines at spaces and commas so that each fits the width.
func wrapAll(lines []string, width, size float64) []string {
	most := max(int(width/(size*0.57)), 16)
	var out []string
	for _, line := range lines {
		runes := []rune(line)
		for len(runes) > most {
			cut := most
			for i := most; i > most/3; i-- {
				if runes[i-1] == ' ' || runes[i-1] == ',' {
					cut = i
					break
				}
			}
			out = append(out, strings.TrimSpace(string(runes[:cut])))
			runes = runes[cut:]
		}
		out = append(out, strings.TrimSpace(string(runes)))
	}
	return out
}
