// Package cbench is what the binding's own cost is measured against: a device
// that does nothing but take requests and give completions, loops in C that do
// the same stores without Go, and an empty call.
package cbench
