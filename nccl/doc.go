// Package nccl is NVIDIA's collective communication library from Go: every call
// that a host program can make, safe under goroutines and contexts.
//
// libnccl is opened at run time (see Load). A function that the loaded release
// lacks answers an error that names it and the release that brings it
// (ErrNotSupported); the program starts without any NCCL.
//
// # Concepts
//
// A Comm is one rank of a communicator, on one cuda.Device. The ranks may be
// goroutines of one process or processes on many hosts. One rank makes a
// UniqueID, the others get it by any means, and each calls InitRank; InitAll does
// that for all devices of one process.
//
// An operation puts work into a cuda.Stream and returns. Comm.Wait waits for it
// and watches the communicator meanwhile. Operations that depend on each other,
// and those of several communicators in one goroutine, go through a Group.
//
// Communicators are non-blocking by default: a context ends every wait. What was
// cancelled inside NCCL leaves the communicator broken, and Abort is what is left;
// so does the death of a peer. A new communicator can be made afterwards.
//
// # Ownership
//
//	cuda.Device
//	├── Memory                      from MemAlloc
//	└── Comm
//	    ├── cuda.Graph, GraphExec   that captured its work
//	    ├── Registration, Window
//	    └── CustomOp
//
// A Comm closes when what hangs on it is closed: graphs first, for they use the
// rest. Close says who is left (ErrBusy), CloseAll closes all, Abort closes all at
// once. Nothing is closed by the garbage collector.
//
// # First program
//
//	dev, err := cuda.Open(0)
//	...
//	comm, err := nccl.InitRank(ctx, dev, id, rank, size, nccl.Config{})
//	...
//	err = comm.AllReduce(ctx, send.Span(), recv.Span(), n, nccl.Float32, nccl.Sum, stream)
//	...
//	err = comm.Wait(ctx, stream)
//	...
//	err = comm.Close(ctx)
//
// docs/nccl.md has more: versions, cancelling, the death of a peer, exit,
// threads, the environment, and what blocking costs.
package nccl
