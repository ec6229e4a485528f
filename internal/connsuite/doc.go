// Package connsuite is one list of cases that rdmacm.Conn must pass on every
// device and over every way to connect: by hand on the in-process device and on
// the kernel's soft-RoCE, and through the connection manager.
package connsuite
