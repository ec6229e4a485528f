// Package conformance is one list of cases that every RDMA device must pass:
// the kernel's soft-RoCE in the lab, the in-process device, real adapters. A
// case says what the InfiniBand specification and the verbs' manual pages
// promise; it moves real bytes and looks at them.
package conformance
