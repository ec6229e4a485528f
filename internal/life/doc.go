// Package life keeps track of objects that own something outside the Go heap:
// who holds whom, what is still open, and where it was made.
//
// An owner embeds an Object and enters it when it is complete. A child holds
// its parents, and a parent refuses to close while children are open. Nothing
// is ever closed by the garbage collector: the registry keeps what is open, so
// that CloseAll can close it and Open can list it with the stack that made it.
package life
