// Package verbstest tests code that uses package verbs, on any machine that
// has Go and a C compiler: no RDMA hardware, no root, no kernel module, no
// libibverbs.
//
//	func TestMain(m *testing.M) { verbstest.Main(m) }
//
//	func TestTransfer(t *testing.T) {
//		dev := verbstest.Open(t)
//		err := transfer(t.Context(), dev.Name()) // your code: verbs.Open(name)
//		...
//	}
//
// # The device
//
// Importing this package makes names that begin with "loop" open in this
// process: verbs.Open("loop0") works, and each Open makes a device of the test's
// own. They really move bytes between queue pairs, on one network for RoCE and
// one for InfiniBand, and keep the rules of an adapter: keys, bounds, rights,
// states, retries, flushes, events. Code that opens a device by name cannot tell
// the difference, and faults can be injected that hardware does not give on
// demand.
//
// What is different: no time or bandwidth means anything; waits of the protocol
// are shortened (beyond 100 µs to a sixteenth); most requests are done before
// Post returns; memory is not pinned. What the device does not imitate it
// refuses with verbs.ErrNotSupported: see Refusals.
//
// # Further
//
// The command rdmalab, below this package, runs the same tests on the
// soft-RoCE driver of a real kernel, with the real libibverbs:
//
//	go test -exec 'rdmalab --kernel 6.12' ./...
//
// The guide docs/testing.md of this module has both in CI.
package verbstest
