// Package doctor says what is wrong with a machine that should move data fast: a
// port that is down, a slot that runs narrow, a limit that a job hits, a setting
// that NCCL reads otherwise than it was meant.
//
// A Machine is what is looked at: a topo.System, the files it was read from, the
// environment, what NVML said, and the few facts that no file tells. Live reads
// this one; Open reads a capture, and any description that topo.Parse takes.
// Diagnose asks every Check about it. Each answers with an Outcome for each device:
//
//	Pass           looked at, and right
//	Fail           wrong, with evidence, cause and fix
//	Unknown        it would matter, and from here it cannot be told; the text says how it can
//	NotApplicable  the machine has nothing that the check is about
//
// Nothing is guessed: what cannot be read is Unknown and never Pass, and a machine
// without a GPU or an RDMA device is not faulted for it. A Critical failure is
// claimed on evidence alone: a port that nobody uses may be down.
//
// Checks of counters need two readings, before and after a load (Machine.Before
// and After). With one reading they pass if nothing was ever counted.
//
// Everything here is plain data and safe for concurrent use; Diagnose changes
// nothing on the machine.
package doctor
