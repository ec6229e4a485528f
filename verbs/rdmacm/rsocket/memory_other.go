//go:build !unix

package rsocket

func allocate(int) ([]byte, error) { return nil, ErrNotSupported }

func release([]byte) error { return ErrNotSupported }
