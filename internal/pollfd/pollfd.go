// Package pollfd gives descriptors of C libraries to Go's netpoller.
package pollfd
