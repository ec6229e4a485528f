package lab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const deb822Host = `Types: deb
# a comment in between
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/archive.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/archive.gpg
`

func TestPrivateSources(t *testing.T) {
	const key = "Signed-By: /usr/share/keyrings/archive.gpg\n"
	for name, tc := range map[string]struct {
		file, text, suite, want string
	}{
		"deb822": {"debian.sources", deb822Host, "trixie-backports",
			"Types: deb\nURIs: http://mirror.example/debian\nSuites: trixie trixie-updates trixie-backports\nComponents: main\nArchitectures: amd64\n" + key +
				"\nTypes: deb\nURIs: http://mirror.example/debian-security\nSuites: trixie-security\nComponents: main\nArchitectures: amd64\n" + key},
		"one line": {"x.list", "# deb http://old.example/debian buster main\ndeb-src http://src.example/debian bookworm main\ndeb [arch=amd64 signed-by=/usr/share/keyrings/archive.gpg] https://mirror.example/debian bookworm main # note\n", "trixie",
			"Types: deb\nURIs: https://mirror.example/debian\nSuites: trixie trixie-updates\nComponents: main\nArchitectures: amd64\n" + key},
		"snapshot, several mirrors, key in place": {"y.sources",
			"Types: deb deb-src\nURIs: http://snapshot.example/archive/debian/20260101T000000Z http://second.example/debian\nSuites: stable\nComponents: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n -----END PGP PUBLIC KEY BLOCK-----\n", "bookworm",
			"Types: deb\nURIs: http://snapshot.example/archive/debian/20260101T000000Z http://second.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\nArchitectures: amd64\nSigned-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n -----END PGP PUBLIC KEY BLOCK-----\n"},
		"no key": {"z.list", "deb\tmirror+file:/etc/apt/mirrors.list trixie main\n", "bookworm",
			"Types: deb\nURIs: mirror+file:/etc/apt/mirrors.list\nSuites: bookworm bookworm-updates\nComponents: main\nArchitectures: amd64\n"},
	} {
		t.Run(name, func(t *testing.T) {
			etc := t.TempDir()
			writeRoot(t, etc, map[string][]byte{
				"apt/sources.list.d/" + tc.file:           []byte(tc.text),
				"apt/sources.list.d/a.sources.disabled":   []byte(deb822Host),
				"apt/sources.list.d/a-other.list":         []byte("deb http://vendor.example/apt cloud main\n"),
				"apt/sources.list.d/a-off.sources":        []byte("Types: deb\nEnabled: no\nURIs: http://off.example\nSuites: bookworm\nComponents: main\n"),
				"apt/sources.list.d/a-contrib.list":       []byte("deb http://contrib.example/ bookworm contrib\n"),
				"apt/sources.list.d/a-updates-only.list":  []byte("deb http://updates.example/ bookworm-updates main\n"),
				"apt/sources.list.d/a-broken-option.list": []byte("deb [arch=amd64 http://broken.example/ bookworm main\n"),
			})
			entries, err := hostSources(etc)
			require.NoError(t, err)
			archive, security, ok := debianArchives(entries)
			require.True(t, ok)
			assert.Equal(t, tc.want, privateSources(archive, security, tc.suite))
		})
	}
}

func TestNoDebianArchive(t *testing.T) {
	etc := t.TempDir()
	writeRoot(t, etc, map[string][]byte{"apt/sources.list": []byte("deb http://mirror.example/ubuntu jammy main universe\n")})
	entries, err := hostSources(etc)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	_, _, ok := debianArchives(entries)
	assert.False(t, ok)
}

func TestAptIsPrivate(t *testing.T) {
	cache := t.TempDir()
	key := filepath.Join(cache, "key.gpg")
	a, err := openApt(Config{Cache: cache, Mirror: "http://mirror.example/debian", Keyring: key}, "trixie")
	require.NoError(t, err)
	sources, err := os.ReadFile(filepath.Join(a.dir, "lab.sources"))
	require.NoError(t, err)
	assert.Contains(t, string(sources), "Signed-By: "+key)
	conf, err := os.ReadFile(a.conf)
	require.NoError(t, err)
	assert.Contains(t, string(conf), `Dir::State "`+a.dir+`";`)
	assert.DirExists(t, filepath.Join(a.dir, "lists", "partial"))
}

func TestNewestKernel(t *testing.T) {
	names := []string{
		"linux-image-amd64", "linux-image-cloud-amd64",
		"linux-image-6.1.0-9-amd64", "linux-image-6.1.0-57-amd64", "linux-image-6.1.0-58-cloud-amd64", "linux-image-6.1.0-58-rt-amd64", "linux-image-6.1.0-58-amd64-dbg",
		"linux-image-6.12.9+deb13-amd64", "linux-image-6.12.117+deb13-amd64", "linux-image-6.12.117+deb13-amd64-unsigned",
		"linux-image-7.3.4+deb13-amd64", "linux-image-7.3.4+deb13-cloud-amd64",
	}
	for series, want := range map[string]string{"6.1": "6.1.0-57", "6.12": "6.12.117+deb13", "7.3": "7.3.4+deb13"} {
		pkg, version, ok := newestKernel(names, series)
		require.True(t, ok)
		assert.Equal(t, want, version)
		assert.Equal(t, "linux-image-"+want+"-amd64", pkg)
	}
	_, _, ok := newestKernel(names, "7")
	assert.True(t, ok)
	_, _, ok = newestKernel(names, "5.10")
	assert.False(t, ok)
}

func TestVersionLess(t *testing.T) {
	order := []string{"6.1.0-9", "6.1.0-57", "6.12.9", "6.12.9+deb13", "6.12.117+deb13", "7.0.0"}
	for i := range order {
		for j := range order {
			assert.Equal(t, i < j, versionLess(order[i], order[j]), "%s < %s", order[i], order[j])
		}
	}
}

func FuzzAptSources(f *testing.F) {
	f.Add(deb822Host)
	f.Add("deb [signed-by=a,b] http://x bookworm main")
	f.Add(" continuation\nTypes: deb\n\tmore")
	f.Fuzz(func(t *testing.T, text string) {
		for _, entries := range [][]aptEntry{parseDeb822(text), parseOneLine(text)} {
			if archive, security, ok := debianArchives(entries); ok {
				privateSources(archive, security, "trixie")
			}
		}
	})
}
