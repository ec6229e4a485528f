package rdmacm_test

import (
	"context"
	"errors"
	"log"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// A client dials, gets the memory that the server has put into its private data,
// and hangs up. Without Output it is compiled only: it needs a fabric.
func ExampleDialEndpoint() {
	ctx := context.Background()
	end, err := rdmacm.DialEndpoint(ctx, "10.0.0.1:7471", rdmacm.DialEndpointOptions{
		EndpointOptions: rdmacm.EndpointOptions{PrivateData: []byte("hello"), Framed: true},
	})
	var reject *rdmacm.RejectError
	if errors.As(err, &reject) {
		log.Fatalf("refused: %v", reject.Reason)
	}
	if err != nil {
		log.Fatal(err)
	}
	defer end.Close()
	greeting, err := end.PeerData().Framed()
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("%v says %q", end.RemoteAddr(), greeting)
	// end.QP() sends, reads and writes; end.CQ() tells of it.
}

// A server takes connections, whose queue pairs share a completion queue, until
// its context ends.
func ExampleListenEndpoint() {
	ctx := context.Background()
	device, err := rdmacm.Share("mlx5_0")
	if err != nil {
		log.Fatal(err)
	}
	defer device.Release()
	cq, err := device.Device.CreateCQ(verbs.CQOptions{Depth: 4096, Events: true})
	if err != nil {
		log.Fatal(err)
	}
	defer cq.Close()
	listener, err := rdmacm.ListenEndpoint("10.0.0.1:7471", rdmacm.ListenEndpointOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()
	for {
		request, err := listener.AcceptRequest(ctx)
		if err != nil {
			return
		}
		if len(request.PeerData()) == 0 {
			_ = request.Reject([]byte("say who you are"))
			continue
		}
		end, err := request.Accept(ctx, rdmacm.EndpointOptions{
			QueuePair: func(context.Context, rdmacm.Location) (*verbs.QP, error) {
				return device.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, Unaddressed: true})
			},
		})
		if err != nil {
			log.Print(err)
			continue
		}
		go func() {
			<-end.Disconnected()
			end.Close()
		}()
	}
}
