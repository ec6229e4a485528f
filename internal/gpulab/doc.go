// Package gpulab holds the tests of packages cuda, nccl and nccl/bootstrap that
// need real GPUs: what a fake library cannot show. It has no code but tests.
//
// On a machine with GPUs they run over its libcuda and libnccl; elsewhere those
// that can do so run over the fakes of internal/fakegpu, with small sizes, so that
// what travels to such a machine is known to work. .ci/gpu builds and runs them.
//
// # How they stay bounded
//
// Each test has a limit. When it is reached, the process prints the stacks of all
// its goroutines and ends with its children. On real GPUs the tests run in a child
// of the test binary: if that dies, the test that was running has failed, and
// another child goes on with the next. What is meant to hang or to die (a rank
// that never comes, a peer that is killed) runs in processes of its own, started
// from this binary in a role, each with a limit too.
//
// # Figures
//
// Lines that begin with "figure: " are measurements and counts, for the record;
// over the fakes they begin with "fake figure: " and mean nothing. Nothing is
// asserted about speed.
//
// # Public reports staged here
//
//	nccl#421 cudarc#578 ucx#9581 warp#499   TestHundredThousandEnqueuesFromMovingGoroutines
//	pytorch#135279 torchcomms#777           TestNoMemoryOnGPUsThatWereNotAskedFor
//	nccl#863 nccl#992 nccl#1013             TestAbortOfWorkThatHangs, TestPeerKilledDuringCollective
//	nccl#795                                TestPeerKilledDuringCollective
//	cudarc#584 vllm#39846                   TestAbortWithGraphsAlive
//	vllm#4508 pytorch#141510                TestCollectorAndAbortAreNoExit
//	nccl#744 nccl#787                       TestAllocationBesideGroups
//	nccl#1757                               TestInitUnderSignals
//	nccl#1976                               TestPerThreadStreamIsRefused
//	nccl#2289                               TestMixedLibraryVersions
//	nccl#2347                               TestEveryConfigSetting
package gpulab
