// Package fakegpu builds a small libcuda.so.1 and libnccl.so.2 for tests, so
// that the real cgo and dlopen paths of packages cuda and nccl run on machines
// without a GPU, under the race detector too.
//
// The fakes are C, under testdata, and never enter a product binary. They carry
// data: device memory is host memory that only the fake can read (an access of
// the host to a device pointer faults, as it does with a GPU), streams are
// threads that run queued work in order, collectives move and reduce bytes
// between threads and between processes. And they are strict: a call that the
// real libraries punish with a crash, a hang or corruption is noted as a report,
// which fails the test.
//
// A test binary uses them so:
//
//	func TestMain(m *testing.M) { os.Exit(fakegpu.Main(fakegpu.Options{}, m.Run)) }
//
//	func TestSomething(t *testing.T) {
//		gpu := fakegpu.Use(t)
//		gpu.Set(fakegpu.StreamHold, 1) // streams start nothing
//		...
//	}
//
// A child process inherits the libraries and the control page with the
// environment.
//
// # Limits
//
// The fakes show no performance. All processes must be on one machine, in one
// PID namespace and of one user. Of the driver: one kernel of the table in
// testdata/cuda/kernels.c runs for each entry that a PTX text names; graphs come
// from capture only and have no child graphs, memory nodes or updates; managed
// memory is plain host memory; a dma-buf is the memfd that holds the
// allocation, so an exported range must begin in the first page of its
// allocation; peer access is recorded and not required; memory that is freed
// while another device uses it is not noticed. Of NCCL: 32 ranks at most; no
// topology, no transports, no tuning, so configuration is checked and kept but
// changes nothing; NCCL_COMM_ID and the other NCCL_ variables are not read,
// save NCCL_MULTI_RANK_GPU_ENABLE; communicators share no resources with their
// parents; windows and registrations are bookkeeping, except for the one-sided
// operations, which work; ncclDevCommCreate and the other device-side functions
// are absent. A process must not fork without exec once it has called a fake.
//
// Where the originals are undefined, the fakes choose what is easiest to see:
// ranks that disagree about a collective get ncclInvalidUsage as asynchronous
// error and a report, a call beside another one in a communicator is carried out
// and reported, finalisation waits for the ranks of other processes but not for
// those of its own, and an abort waits for the ranks of its own process that are
// inside a collective and are not being aborted.
package fakegpu
