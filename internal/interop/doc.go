// Package interop runs our benchmark tools against the C tools of perftest, as
// server and as client and with each other, in a guest of the lab. It holds
// tests only:
//
//	make interop                          # every run, with perftest 4.5 and 25.01
//	go test -exec 'rdmalab --strict=false' ./internal/interop    # a few of them
//
// GOFABRIC_INTEROP=all asks for every run. The guest's userland decides which
// perftest is the other side: bookworm's is 4.5, trixie's 25.01.
//
// A run passes when both sides end with status 0, when the tables that they
// print are read by one parser, written for the C tools' columns, when the numbers
// in them fit each other and the flags, and when both sides agree. A side that is
// ours must also leave nothing open on its device.
package interop
