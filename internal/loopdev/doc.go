// Package loopdev is an RDMA device inside the process, written in C: loop0,
// and more devices if asked for. It really moves bytes between queue pairs of
// one process, and keeps the rules of a real device: keys, bounds and rights,
// the state machine of queue pairs, retries, flushes and events. It needs no
// library, no rights and no kernel module.
//
// Importing the package makes names that begin with "loop" open here. loop0 is
// there without being asked for: one port, RoCE. AddDevice makes others; all
// devices of the process are on one network for each link layer, and find each
// other by GID or LID and queue pair number. Numbers belong to a device: two
// devices give out the same ones.
//
// # What differs from hardware
//
//   - A message is checked at both ends and then copied whole; faults count
//     messages, not packets.
//   - A request is carried out in the thread that posts it where it can be done
//     at once, so that most complete before Post returns.
//   - Protocol times (the RNR timer, the local ACK timeout) are shortened: what
//     goes beyond 100 us is divided by 16. Their order stays. A retry count of 7
//     is seven retries; an RNR retry count of 7 is for ever.
//   - Memory is not pinned: it must stay mapped while it is registered.
//   - Memory of a GPU that package cuda has open is reached by the driver's copies,
//     whether it was registered by its address or as a dma-buf: between two GPUs by
//     way of the host. Any other dma-buf is mapped, if its exporter lets one. Atomics
//     on a GPU's memory are atomic towards each other only, and a watcher there sees
//     a message's bytes in no order.
//   - A slot of a queue is free again when its completion, or for unsignalled
//     requests a later one, has been polled, as the specification has it.
//   - A queue pair that loses a completion to a full CQ goes to the error state.
//
// It imitates no performance and claims none. What it cannot be honest about it
// refuses: see Refusals.
package loopdev
