package testutil

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKernelLacks(t *testing.T) {
	for _, c := range []struct {
		release string
		feature Feature
		lacks   bool
	}{
		{"6.1.0-57-amd64\n", FeatureFlush, true},
		{"5.10.0-30-amd64", FeatureFlush, true},
		{"6.5.0", FeatureAtomicWrite, true},
		{"6.12.117+deb13-amd64", FeatureFlush, false},
		{"6.12.117+deb13-amd64", FeatureODP, true},
		{"6.12-rc1", FeatureLastWQE, false},
		{"7.3.4+deb13-amd64", FeatureODP, false},
		{"6.1.0-57-amd64", FeatureSRQFlush, false},
		{"7.3.4+deb13-amd64", FeatureSRQFlush, true},
		{"10.0.1", FeatureDisassociate, false},
	} {
		lacks, err := kernelLacks(c.release, c.feature)
		require.NoError(t, err, c.release)
		assert.Equal(t, c.lacks, lacks, "%s: %s", c.release, c.feature)
	}
}

func TestKernelLacksRefusesWhatItDoesNotKnow(t *testing.T) {
	_, err := kernelLacks("6.1.0", "teleportation")
	assert.Error(t, err)
	for _, release := range []string{"", "6", "six.one", "6."} {
		_, err := kernelLacks(release, FeatureODP)
		assert.Error(t, err, "%q", release)
	}
}

func FuzzParseRelease(f *testing.F) {
	for _, seed := range []string{"6.1.0-57-amd64", "6.12-rc1", "", "7.", ".3", "99999999999999999999.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, release string) {
		major, minor, err := parseRelease(release)
		if err != nil {
			assert.Zero(t, major)
			assert.Zero(t, minor)
		}
	})
}
