module github.com/gofabric/gofabric

go 1.24.0
