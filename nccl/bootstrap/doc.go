// Package bootstrap brings the processes of a job together before they have a
// communicator: it finds out which rank this process is, whoever launched it, and
// carries the few bytes that all must have, such as NCCL's unique id. It knows
// nothing of NCCL and needs nothing but the standard library.
package bootstrap
