package nccltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// recording is what a file of -J says of its results, ours or the C tool's.
type recording struct {
	name string
	rows []chartRow
	// cpu: the times are those of -C.
	cpu bool
}

// recorded is the part of the document that a chart shows.
type recorded struct {
	Results []struct {
		Size       *uint64       `json:"size"`
		Type       string        `json:"type"`
		RedOp      string        `json:"redop"`
		Root       string        `json:"root"`
		OutOfPlace *recordedHalf `json:"out_of_place"`
		InPlace    *recordedHalf `json:"in_place"`
	} `json:"results"`
}

type recordedHalf struct {
	Time    *quantity `json:"time"`
	CPUTime *quantity `json:"cpu_time"`
	BusBW   *quantity `json:"bus_bw"`
}

// quantity is a number, or the word that the C tool writes for none.
type quantity float64

func (q *quantity) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte(`"nan"`)) {
		*q = quantity(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(q))
}

// parseRecording reads the bytes of a file.
func parseRecording(data []byte) (recording, error) {
	var (
		doc recorded
		r   recording
	)
	if err := json.Unmarshal(data, &doc); err != nil {
		return r, fmt.Errorf("not a results file of -J: %w", err)
	}
	for i, result := range doc.Results {
		if result.Size == nil {
			return r, fmt.Errorf("not a results file of -J: result %d has no size", i)
		}
		row := chartRow{size: *result.Size, label: rowLabel(result.Type, result.RedOp, strings.TrimSpace(result.Root))}
		for place, half := range []*recordedHalf{result.OutOfPlace, result.InPlace} {
			row.halves[place] = chartHalf{math.NaN(), math.NaN()}
			if half == nil {
				continue
			}
			time := half.Time
			if half.CPUTime != nil {
				time, r.cpu = half.CPUTime, true
			}
			if time == nil || half.BusBW == nil {
				return r, fmt.Errorf("not a results file of -J: result %d has no time or no bus_bw", i)
			}
			row.halves[place] = chartHalf{float64(*time) / 1e6, float64(*half.BusBW)}
		}
		r.rows = append(r.rows, row)
	}
	if len(r.rows) == 0 {
		return r, errors.New("it has no results")
	}
	return r, nil
}

// readRecordings reads the files of --plot-with. A recording is called by its
// file's name, and by the whole path where two are called the same.
func readRecordings(names []string) (list []recording, err error) {
	short := func(name string) string { return strings.TrimSuffix(filepath.Base(name), ".json") }
	times := map[string]int{}
	for _, name := range names {
		times[short(name)]++
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("--plot-with: %w", err)
		}
		r, err := parseRecording(data)
		if err != nil {
			return nil, fmt.Errorf("--plot-with: %s: %w", name, err)
		}
		if r.name = short(name); times[r.name] > 1 {
			r.name = name
		}
		list = append(list, r)
	}
	return list, nil
}
