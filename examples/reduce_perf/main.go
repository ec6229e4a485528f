package main

import (
	"os"

	"github.com/gofabric/gofabric/internal/nccltest"
)

func main() {
	os.Exit(nccltest.Main(nccltest.Reduce, os.Args[1:], os.Stdout, os.Stderr))
}
