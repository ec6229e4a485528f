// Package perftest is what the benchmark tools share with the C perftest suite
// and need no RDMA device for: the flags, and the protocol of the control
// connection, in both roles, byte for byte as perftest 4.5 speaks it.
//
// # Order of calls
//
// Without RDMA's part, a run is:
//
//	config, err := ParseArgs(WriteBW, os.Args[1:])    // *UsageError: one line
//	                                                  // config.Action: help, version or run
//	server:  l, err := Listen(ctx, config.Port)       // then report.WriteWaiting
//	         conn, err := l.Accept(ctx)
//	client:  conn, err := Dial(ctx, config.Host, config.Port)
//
//	s := NewSession(conn, config.Role(), SessionOptions{})
//	defer s.Close()
//	agreed, err := s.Prologue(ctx, Host{PageSize, CacheLine, MTU})
//	                                                  // now create the queue pairs, register memory,
//	                                                  // draw the PSNs, fill the keys; report.WriteInfo
//	peer, err := s.ExchangeKeys(ctx, keys)            // then move the queue pairs to RTR and RTS
//	peer, err = s.ExchangeKeys(ctx, keys)             // again; the addresses to print are of this pass
//	err = s.Barrier(ctx, keys[0])                     // both sides are ready to receive
//
// In a test where the client alone sends, as in write_bw without -b, there is
// no other exchange until the client has run all sizes:
//
//	client:  run, stop := s.Watch(ctx)                // run ends when the server goes away
//	         … post and poll until done or run.Done(); report.WriteRow after each size
//	         err = stop()
//	both:    err = s.BarrierAfterRun(ctx, keys[0])    // the server waits here all the while
//	         theirs, err := s.ExchangeResult(ctx, ours) // the client sends the last size's
//	                                                  // NewResult, the server the zero Result
//	server:  bw, err := theirs.Bandwidth(config.Unit) // and prints that as its only row
//	both:    err = s.Finish(ctx, keys[0])             // closes the connection
//
// The memory that a side offers must be writable for max(size, agreed.PageSize)
// bytes for each queue pair, because the peer steps through a page in strides.
//
// # Failures
//
// An exchange that fails is a *ProtocolError, which says what was received and
// what to do, and matches ErrPeerClosed, ErrPeerSilent, ErrForeign,
// ErrIncompatible, a *FieldError, or the cause of the context's end. It closes
// the connection. A run that failed for another reason calls Close, so that the
// peer does not wait.
package perftest
