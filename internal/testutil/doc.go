// Package testutil holds what tests all over the tree share: the only way to
// skip a test, the table of what each lab kernel can do, and the leak check that
// test mains run.
//
// The rule it exists for: inside the lab a skipped test is a failed test, unless
// the table says that the kernel cannot. A suite that skips everything because a
// module was not loaded would otherwise pass. A test of the architecture refuses
// calls of testing's own Skip elsewhere in the tree.
package testutil
