// Package verbs is RDMA for Go: the verbs interface of InfiniBand and RoCE
// adapters, as libibverbs has it.
//
// # Concepts
//
// A queue pair (QP) is an endpoint: a send queue and a receive queue that the
// adapter works on by itself. A program posts requests to them: send a message,
// write to the peer's memory, read from it. When the adapter has carried one
// out, it puts a completion on a completion queue (CQ), from where the program
// polls it. On hardware no data passes through the kernel, and none is copied.
//
// The adapter reaches only registered memory (MR). A registration has a local
// key, which the program's own requests name (MR.SGE), and a remote key, which a
// peer must know to write or read directly (MR.Remote). A protection domain (PD)
// says which queue pairs reach which memory.
//
// Two programs that want to talk exchange their queue pairs' addresses
// (Endpoint, which marshals to text and bytes) and remote keys over any channel
// that they have, such as a TCP connection, and each calls QP.Connect. A message
// (SendBatch.Send) needs a receive that the peer posted before (RecvBatch.Recv).
// A write (SendBatch.Write) or read (SendBatch.Read) needs nothing of the peer,
// which does not notice it.
//
// A connected queue pair has one peer (RC, and UC without acknowledgements). One
// of type UD sends datagrams to any (QP.Activate, QP.CreateAH, SendBatch.SendTo).
// Queue pairs can take their receives from one shared queue (SRQ).
//
// # Who holds whom
//
//	Device ── PD ──┬── MR
//	  │            ├── AddressHandle
//	  │            ├── SRQ
//	  │            └── QP ── uses a send CQ and a receive CQ, and an SRQ or not
//	  └── CQ
//
// What holds others cannot close before them: Close fails with ErrBusy and names
// who is still open. CloseAll closes everything below first, in the right order;
// on a device that is all that the program made on it.
//
// # A first program
//
// The example of this package, below, connects two queue pairs and writes from
// one to the other. Without an adapter it runs on a device inside the process,
// which importing verbs/verbstest brings, or in a virtual machine with the
// kernel's soft-RoCE, which the command verbs/verbstest/rdmalab starts.
//
// # Posting and polling
//
// A batch (QP.SendBatch, QP.RecvBatch) collects requests in memory that the
// adapter's driver reads; Post hands all of them over with one call of C. CQ.Poll
// takes completions without waiting, CQ.Spin waits busily, and CQ.Wait puts the
// goroutine to sleep until an event of the adapter wakes it: no thread waits, and
// all CQs of a device share one completion channel. Posting and polling allocate
// nothing.
//
// Memory that a request names belongs to the adapter until the request's
// completion has been polled; for an unsignalled one, that of a later request of
// the send queue. Ending a Wait by its context does not change that: the
// requests go on.
//
// Both queues are accounted for. Only completions that were polled free their
// places; what does not fit stays out, and Post answers ErrSendQueueFull or
// ErrRecvQueueFull. At least one send in as many as the queue holds must
// therefore be signalled, as all are unless Unsignaled is called. A completion
// queue must have room for all requests in flight on its queue pairs: one that
// overflows is lost.
//
// # Events
//
// What happens to a device, a port or an object outside its calls is told by
// Device.Events. SetLogger has the control path logged, and the Stats methods of
// QP, CQ, SRQ and Device count what this process did.
//
// # Concurrency
//
// Objects are safe for concurrent use, with two exceptions that keep the data
// path free of locks: each side of a queue pair (SendBatch, RecvBatch), the batch
// of an SRQ, and the polling of a completion queue (Poll, Spin, Wait) belong to one goroutine at a
// time. A second one gets ErrConcurrentUse and does no harm. Close waits for
// calls that are inside, and wakes a Wait or Spin with ErrClosed.
//
// # Errors
//
// A call that failed answers an *OpError, which unwraps to the errno of the verb
// or to one of this package's errors: use errors.Is. Its Hint says what to do,
// and stands there only if the cause was looked at. A request that failed later,
// in the adapter, says so in its completion: Completion.Err answers a
// *CompletionError, in which errors.Is finds the Status. After a failed request a
// reliable queue pair is in the error state and flushes all others
// (StatusFlushed); Reset and Connect make it good again.
//
// # Lifetime
//
// What is open stays open until it is closed: the garbage collector destroys
// nothing. Close may be called twice. Closing a queue pair first flushes what is
// in flight; those completions can still be polled. Memory given to
// PD.RegisterMR is pinned until MR.Close.
//
// # Without the library
//
// libibverbs is opened at run time. A program starts without it, and Open says
// ErrLibraryNotFound. Built without cgo, or for another system than Linux, the
// package compiles; Devices and ChooseGID read what the kernel shows, and what
// needs the library answers ErrNotSupported.
//
// Memory of GPUs cannot be registered yet.
package verbs
