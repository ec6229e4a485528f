// Package command is what the command-line programs of the examples have in common:
// how they explain a wrong flag, put an error on one line, and end by a signal.
package command
