package lab

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeQEMU greets and then answers each line with the next of the answers.
func fakeQEMU(t *testing.T, answers ...string) (*monitor, *[]string) {
	ours, theirs := net.Pipe()
	var ended sync.WaitGroup
	asked := &[]string{}
	ended.Add(2)
	go func() {
		// A pipe holds nothing: the greeting waits for whoever reads first.
		defer ended.Done()
		fmt.Fprintln(theirs, `{"QMP": {"version": {}, "capabilities": ["oob"]}}`)
	}()
	go func() {
		defer ended.Done()
		lines := bufio.NewScanner(theirs)
		for lines.Scan() {
			*asked = append(*asked, lines.Text())
			if len(answers) == 0 {
				continue
			}
			fmt.Fprintln(theirs, answers[0])
			answers = answers[1:]
		}
	}()
	t.Cleanup(func() { ours.Close(); ended.Wait() })
	return newMonitor(ours), asked
}

func TestMonitor(t *testing.T) {
	m, asked := fakeQEMU(t, `{"return": {}}`,
		"{\"event\": \"NIC_RX_FILTER_CHANGED\", \"data\": {}}\n{\"return\": {}}",
		`{"error": {"class": "DeviceNotFound", "desc": "Device 'x' not found"}}`,
		`{"return": {}}`)
	ctx := context.Background()
	require.NoError(t, m.do(ctx, "set_link", map[string]any{"name": "net", "up": false}))
	assert.ErrorContains(t, m.do(ctx, "set_link", map[string]any{"name": "x", "up": false}), "DeviceNotFound")
	require.NoError(t, m.do(ctx, "stop", nil), "a refused command leaves the connection well")
	assert.Equal(t, []string{
		`{"execute":"qmp_capabilities"}`,
		`{"execute":"set_link","arguments":{"name":"net","up":false}}`,
		`{"execute":"set_link","arguments":{"name":"x","up":false}}`,
		`{"execute":"stop"}`,
	}, *asked)
}

func TestMonitorEndsWithTheContext(t *testing.T) {
	m, _ := fakeQEMU(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, m.do(ctx, "stop", nil), context.Canceled)
}

func FuzzQMPAnswer(f *testing.F) {
	for _, seed := range []string{`{"return": {}}`, `{"error": {}}`, `{"event": "STOP"}`, `{"return": null}`, `[]`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if done, err := qmpAnswer(line); !done && err == nil {
			assert.NotEmpty(t, line)
		}
	})
}
