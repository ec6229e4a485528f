package arch

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVerbsKnowsNoCUDA: memory of GPUs reaches verbs and the device in this process
// by an interface and by addresses, so that a program without GPUs has nothing of
// CUDA in it.
func TestVerbsKnowsNoCUDA(t *testing.T) {
	for _, name := range []string{"verbs", "verbs/verbstest", "internal/loopdev"} {
		cmd := exec.Command("go", "list", "-deps", "./"+name)
		cmd.Dir = root(t)
		output, err := cmd.Output()
		require.NoError(t, err)
		packages := strings.Fields(string(output))
		assert.Contains(t, packages, modulePath+"/"+name)
		for _, cuda := range []string{"cuda", "internal/ccuda", "internal/cudahook", "nccl", "internal/cnccl"} {
			assert.NotContains(t, packages, modulePath+"/"+cuda, "%s pulls it in", name)
		}
	}
}
