package verbs_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHugePages fills and empties the guest's pool; elsewhere the pool is the
// machine's own.
func TestHugePages(t *testing.T) {
	if !testutil.InLab() {
		testutil.Skip(t, "changes the system's pool of huge pages")
	}
	const pool = "/proc/sys/vm/nr_hugepages"
	dev, err := verbs.Open(testutil.Device(t))
	require.NoError(t, err)
	defer dev.CloseAll()
	pd, err := dev.AllocPD()
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(pool, []byte("0"), 0))
	_, err = pd.AllocMR(5<<20, verbs.MROptions{HugePages: true})
	require.ErrorIs(t, err, syscall.ENOMEM)
	assert.ErrorContains(t, err, "takes 3 huge pages of 2097152 bytes: raise "+pool)

	require.NoError(t, os.WriteFile(pool, []byte("4"), 0))
	defer os.WriteFile(pool, []byte("0"), 0)
	mr, err := pd.AllocMR(5<<20, verbs.MROptions{HugePages: true})
	require.NoError(t, err)
	assert.Len(t, mr.Bytes(), 5<<20)
	assert.Zero(t, mr.Addr()%(2<<20))
	mr.Bytes()[5<<20-1] = 1
	info, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	assert.Contains(t, strings.Join(strings.Fields(string(info)), " "), "HugePages_Free: 1 ")
	require.NoError(t, mr.Close())
}
