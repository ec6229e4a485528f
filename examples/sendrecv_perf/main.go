package main

import (
	"os"

	"github.com/gofabric/gofabric/internal/nccltest"
)

func main() {
	os.Exit(nccltest.Main(nccltest.SendRecv, os.Args[1:], os.Stdout, os.Stderr))
}
