// Package arch holds tests of the tree itself: where cgo stands, what a package
// may pull in, what a built program exports, how long a file may be. They read
// the source with every build tag, so a rule holds on systems that this machine
// is not.
package arch
