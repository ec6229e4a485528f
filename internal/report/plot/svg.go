package plot

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Measures in pixels.
const (
	pageWidth  = 860.0
	margin     = 22.0
	axisWidth  = 62.0 // left of a panel, for labels
	panelHigh  = 250.0
	headHigh   = 30.0 // above a panel, for the name of Y
	footHigh   = 26.0 // below a panel, for X
	labelHigh  = 20.0
	legendHigh = 20.0
	sample     = 34.0 // a line in the legend
	noteHigh   = 16.0

	titleSize = 18.0
	textSize  = 13.0
	tickSize  = 12.0
	noteSize  = 11.5
	// A hollow mark is a ring about the full one that may lie below it.
	markRadius = 2.8
	ringRadius = 4.8
	// marked is the most points that have marks.
	marked = 48
	// pressed is how many times the greatest point a limit may be before a
	// linear axis leaves it out.
	pressed = 4
)

// palette has Okabe and Ito's colours, which people with any common form of
// colour blindness tell apart, less their yellow, which is faint on white.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

const (
	ink       = "#222222"
	soft      = "#555555"
	grid      = "#dddddd"
	faint     = "#f0f0f0"
	limitInk  = "#8b0000"
	limitDash = "9 4 2 4"
)

func (s Series) colour() string { return palette[max(s.Colour, 0)%len(palette)] }

// SVG writes the figure as a document that stands by itself.
func (f Figure) SVG(w io.Writer) error {
	d := drawing{f: f}
	d.draw()
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" font-family="DejaVu Sans, Verdana, Arial, sans-serif">`+"\n",
		pageWidth, d.y, pageWidth, d.y)
	fmt.Fprintf(out, "<title>%s</title>\n", clean(f.Title))
	fmt.Fprintf(out, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", pageWidth, d.y)
	out.Write(d.body.Bytes())
	out.WriteString("</svg>\n")
	return out.Flush()
}

// drawing goes down the page: y is where the next thing begins.
type drawing struct {
	f    Figure
	body bytes.Buffer
	y    float64
}

func (d *drawing) print(format string, args ...any) { fmt.Fprintf(&d.body, format+"\n", args...) }

// text writes one line; more are further attributes.
func (d *drawing) text(x, y, size float64, fill, more, text string) {
	if more != "" {
		more = " " + more
	}
	d.print(`<text x="%.1f" y="%.1f" font-size="%g" fill="%s"%s>%s</text>`, x, y, size, fill, more, clean(text))
}

func (d *drawing) draw() {
	d.y = margin
	if d.f.Title != "" {
		d.text(margin, d.y+titleSize-4, titleSize, ink, `font-weight="bold"`, d.f.Title)
		d.y += titleSize + 8
	}
	for _, line := range wrap(d.f.Subtitle, pageWidth-2*margin, textSize) {
		d.text(margin, d.y+textSize-3, textSize, soft, "", line)
		d.y += textSize + 5
	}
	d.legend()
	for i := range d.f.Panels {
		d.panel(i)
	}
	for _, note := range d.f.Notes {
		for _, line := range wrap(note, pageWidth-2*margin, noteSize) {
			d.text(margin, d.y+noteSize, noteSize, soft, "", line)
			d.y += noteHigh
		}
	}
	d.y += margin / 2
}

// legend lists the series of all panels, each name once, where there are several.
func (d *drawing) legend() {
	seen := map[string]bool{}
	var list []Series
	for _, p := range d.f.Panels {
		for _, s := range p.Series {
			if s.Name != "" && !seen[s.Name] {
				seen[s.Name] = true
				list = append(list, s)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	widest := 0.0
	for _, s := range list {
		widest = max(widest, sample+8+textWidth(s.Name, textSize)+18)
	}
	columns := max(int((pageWidth-2*margin)/widest), 1)
	if columns > 1 && columns < len(list) {
		columns -= columns % 2 // two series of one colour stay side by side
	}
	d.y += 4
	d.print(`<g class="legend">`)
	for i, s := range list {
		if i > 0 && i%columns == 0 {
			d.y += legendHigh
		}
		x := margin + float64(i%columns)*widest
		middle := d.y + legendHigh/2
		d.print(`<path d="M%.1f %.1fH%.1f" %s/>`, x, middle, x+sample, s.stroke())
		d.mark(s, x+sample/2, middle, "")
		d.text(x+sample+8, middle+4.5, textSize, ink, "", s.Name)
	}
	d.print("</g>")
	d.y += legendHigh
}

// stroke is the style of a series' line.
func (s Series) stroke() string {
	style := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="1.8" stroke-linejoin="round"`, s.colour())
	if s.Dashed {
		style += ` stroke-dasharray="6 4"`
	}
	return style
}

// marks are shapes about 0 of radius 1. Their number and that of the colours have
// no common factor, so that many series differ.
var marks = []string{
	"", // a circle
	"M-0.9 -0.9H0.9V0.9H-0.9Z",
	"M0 -1.25L1.15 0.85H-1.15Z",
	"M0 -1.3L1.3 0L0 1.3L-1.3 0Z",
	"M0 1.25L1.15 -0.85H-1.15Z",
	"M-0.5 -1.1H0.5V-0.5H1.1V0.5H0.5V1.1H-0.5V0.5H-1.1V-0.5H-0.5Z",
}

// mark draws a series' mark; a viewer shows words over it.
func (d *drawing) mark(s Series, x, y float64, words string) {
	fill, radius := s.colour(), markRadius
	if s.Dashed {
		fill, radius = "none", ringRadius
	}
	inside := "/>"
	if words != "" {
		inside = "><title>" + clean(words) + "</title></"
	}
	shape := marks[max(s.Colour, 0)%len(marks)]
	if shape == "" {
		if words != "" {
			inside += "circle>"
		}
		d.print(`<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s" stroke="%s" stroke-width="1.3"%s`, x, y, radius, fill, s.colour(), inside)
		return
	}
	if words != "" {
		inside += "path>"
	}
	d.print(`<path d="%s" transform="translate(%.1f %.1f) scale(%.1f)" fill="%s" stroke="%s" stroke-width="%.2f"%s`,
		shape, x, y, radius, fill, s.colour(), 1.3/radius, inside)
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// clean makes any text one that XML may hold.
func clean(text string) string {
	return escaper.Replace(strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?")))
}

// textWidth is a generous guess: a viewer may not have the font.
func textWidth(text string, size float64) float64 {
	return float64(utf8.RuneCountInString(text)) * size * 0.6
}

// wrap breaks a text at blanks so that each line fits.
func wrap(text string, width, size float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && textWidth(line+" "+word, size) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
