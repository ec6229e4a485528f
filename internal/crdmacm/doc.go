// Package crdmacm is the binding of librdmacm: the library, opened at run time,
// and one Go method a function. What it hands out are plain handles; package
// verbs/rdmacm gives them lifetimes, contexts and a reader of events.
package crdmacm
