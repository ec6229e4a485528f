package testutil

import "os"

// ThoroughEnv is set, to anything, where tests may take as long as they like:
// ".ci/test all" does so.
const ThoroughEnv = "GOFABRIC_THOROUGH"

// Thorough reports whether a test shall also repeat what others show already, on
// the same device, by another way.
func Thorough() bool { return os.Getenv(ThoroughEnv) != "" }
