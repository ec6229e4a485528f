package rdmacm

import "fmt"

// Most private data that each message carries over InfiniBand and RoCE, in
// bytes. Framed, it is frameLen bytes less.
const (
	// MostRequestData is that of a connection request to an IP address.
	MostRequestData = 56
	// MostReplyData is that of an accepted connection.
	MostReplyData = 196
	// MostRejectData is that of a rejection.
	MostRejectData = 148
	// MostDatagramRequestData is that of a request for a datagram service.
	MostDatagramRequestData = 180
	// MostDatagramReplyData is that of the answer to it.
	MostDatagramReplyData = 136
)

// PrivateData is what a peer sent with a message, as it arrives: padded with
// zeros to the message's length. The padding cannot be told from data.
type PrivateData []byte

// The frame in front of data that says how long it is.
const (
	frameMagic0, frameMagic1 = 'g', 'f'
	frameLen                 = 3
)

// FramePrivateData puts the length in front of data, in three bytes.
func FramePrivateData(data []byte) ([]byte, error) {
	if len(data) > 255-frameLen {
		return nil, fmt.Errorf("rdmacm: %d bytes of private data: at most %d can be framed", len(data), 255-frameLen)
	}
	return append([]byte{frameMagic0, frameMagic1, byte(len(data))}, data...), nil
}

// Framed returns what the peer gave FramePrivateData. It fails with
// ErrPrivateData if the peer did not use it.
func (d PrivateData) Framed() ([]byte, error) {
	if len(d) < frameLen || d[0] != frameMagic0 || d[1] != frameMagic1 || int(d[2]) > len(d)-frameLen {
		return nil, fmt.Errorf("rdmacm: %w: %d bytes", ErrPrivateData, len(d))
	}
	return d[frameLen : frameLen+int(d[2])], nil
}

// outgoing frames data if asked to, and checks that it fits.
func outgoing(data []byte, framed bool, most int) ([]byte, error) {
	room := most
	if framed {
		room -= frameLen
	}
	if len(data) > room {
		return nil, fmt.Errorf("%d bytes of private data: this message has room for %d", len(data), room)
	}
	if !framed {
		return data, nil
	}
	return FramePrivateData(data)
}
