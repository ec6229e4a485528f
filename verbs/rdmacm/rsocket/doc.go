// Package rsocket is librdmacm's sockets over RDMA (rsocket(7)): net.Conn,
// net.Listener and net.PacketConn whose bytes travel by RDMA write between the
// library's rings. A peer can be any program that uses rsockets, in C, through
// librspreload or in Go.
//
//	l, err := rsocket.Listen("10.0.0.1:7471", rsocket.Options{})
//	c, err := rsocket.Dial(ctx, "10.0.0.1:7471", rsocket.Options{})
//
// # What it is for
//
// It is for programs that have a net.Conn and want it faster, and for peers that
// speak rsockets already. Each byte is copied into and out of a ring, as with TCP.
// MapIO and WriteAt do without the copy on the peer's side. rdmacm.Conn sends messages from
// registered memory, GPU memory included, and waits on the netpoller: a new protocol
// is better off there.
//
// # Waiting, and what it costs
//
// No descriptor tells the kernel's poller when an rsocket is ready; only rpoll knows,
// and it is a blocking call. One thread of the process runs it for all rsockets that
// goroutines wait on, while any rsocket is open, and wakes goroutines one by one. A
// call that need not wait does not meet it. One that waits costs two crossings, a wake-up
// of that thread and a look at every rsocket that is waited on, so the cost of a wait
// grows with the number of those that wait: fine for hundreds, not for ten
// thousands. While a goroutine dials, accepts or receives datagrams, the thread also looks
// every 20 ms: the library moves their news between threads of its own without
// waking rpoll. That a peer is gone can be seen up to 5 s late for the same reason.
//
// # Ending calls
//
// Deadlines and contexts end calls that wait, and a call that is ended tells how many
// bytes went; nothing is read and thrown away. Close wakes whoever waits.
//
// Close and CloseWrite wait until the peer's adapter has what was written, up to
// Options.Linger. The library retries seven times, without an end on soft-RoCE, and cannot be
// told otherwise: a peer that lost power shows only by deadlines, and its Close ends
// with ErrLingering.
//
// # Threads of the library
//
// librdmacm has a thread while there are listeners, one while there are
// connections, one while there are datagram rsockets, and one for keep-alive messages.
// Before rdma-core 53 these threads corrupt their memory when a fourth rsocket comes;
// the package answers ErrTooMany instead: update the library for more than three
// connections. The first thread answers a connection request for all listeners one after
// the other.
package rsocket
