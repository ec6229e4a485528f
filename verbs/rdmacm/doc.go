// Package rdmacm makes RDMA connections by address, through the connection
// manager of the kernel and of librdmacm: what rdma_cm(7) calls ids, event
// channels, resolution, connection, multicast.
//
// # Layers
//
// ID is an rdma_cm_id, with every call of the library as a method; those that
// the kernel answers later take a context and wait on the netpoller. An
// Endpoint is a connected queue pair made by DialEndpoint, or by
// EndpointListener and Request.Accept; a Datagram is the same for UD.
//
// # Who owns what
//
// Queue pairs, completion queues, protection domains and memory are those of
// package verbs, on a device that the program opened. librdmacm would make them
// on a context of its own, which shares no memory region with the program's;
// here it only carries out the exchange, and the queue pair is the caller's
// (EndpointOptions.QueuePair) or made on a device that all such connections of
// the process share (Share). Endpoint.Close releases in the order that the
// library needs: the queue pair, its own completion queue, the id, the event
// channel, the shared device.
//
// # Events
//
// One goroutine reads an event channel. It copies each event and acknowledges
// it at once, so that destroying an id never waits for a program that does not
// look at its events. Ids that name no channel share one, which exists while
// they do; a listener has its own, which the ids of accepted requests leave.
//
// The library opens a device when it first reads an event that concerns it, and
// keeps it open as long as the process lives. Opening takes milliseconds, but a
// device whose node is missing (/dev/infiniband/uverbs1 in a container) holds up
// the events of its channel for some seconds, at each attempt. On kernels before
// 7.3 a device cannot be removed while any process has it open.
//
// # Private data
//
// What a peer gets is padded with zeros to the message's length: its own length
// is not sent. With Framed, both ends put the length in front (FramePrivateData)
// and PrivateData.Framed returns what was sent, or ErrPrivateData from a peer
// that does not frame.
//
// # Death of a peer
//
// The connection manager has no keep-alive. A peer that closes, or whose process
// dies, is told by Disconnected within moments, as its kernel says so. A peer
// that loses power or its cable says nothing: only requests in flight find out,
// after Timeout and Retries. Retries defaults to 6, because 7 never ends on
// soft-RoCE.
package rdmacm
