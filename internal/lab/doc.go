// Package lab runs a program inside a QEMU guest whose kernel is a
// distribution's own and has rdma_rxe, so that RDMA code meets a real kernel
// and a real libibverbs on a machine without RDMA hardware.
//
// Three parts make a run:
//
//   - a kernel and its modules, downloaded once from the Debian archive that
//     the host's apt already trusts, or named by the caller;
//   - a userland, which is the guest's root file system: libibverbs, its rxe
//     provider, perftest, iproute2 and a shell, taken from the host or from a
//     Debian suite;
//   - a [Job]: one program with its arguments, environment and files.
//
// [Ensure] brings the first two together into an [Image]; [Image.Run] boots it
// with a job and returns the job's exit status. The process that calls Run is
// also the guest's init: its main function must call [Guest] first.
//
// [Image.StartPair] and [Image.RunPair] boot two guests with a cable between
// them, which the caller can pull out, as it can the plug of each.
//
// A guest by itself has two devices, rxe0 and rxe1, on the two ends of a veth pair v0
// (10.0.0.1/24) and v1 (10.0.0.2/24). Nothing of the host is reachable from it.
package lab
