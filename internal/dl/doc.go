// Package dl opens C libraries at run time, so that a program starts on hosts
// that lack them and can say what is missing.
//
// A library that is not there is a *NotFoundError, a symbol that is not there a
// *SymbolError. Both name the package that brings it.
package dl
