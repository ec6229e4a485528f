package main

import (
	"os"

	"github.com/gofabric/gofabric/internal/nccltest"
)

func main() {
	os.Exit(nccltest.Main(nccltest.Scatter, os.Args[1:], os.Stdout, os.Stderr))
}
