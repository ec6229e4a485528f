// Package faultlab tests what the verbs package says when the other end of a
// connection fails: two guests of the lab, a cable between them, and a host that
// pulls it, pulls plugs, drops packets and kills processes in the middle of a
// transfer. It holds tests only:
//
//	GOFABRIC_LAB_TEST=1 GOFABRIC_LAB_KERNEL=6.12 go test -v ./internal/faultlab
//
// The test leads. In each guest a keeper (keeper_test.go) starts and stops
// workers, and a worker (worker_test.go) does RDMA; both take commands from their
// standard input and answer on their standard output, a line each (message_test.go).
// The host passes addresses from one to the other, so that nothing but the
// transfer depends on the network that is being broken.
package faultlab
