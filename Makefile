# Every target works on a bare Debian 12 with make and git: .ci/setup names and
# installs what a target needs, Go included. NO_INSTALL=1 refuses with the list.

SETUP := .ci/setup

# rdmalab's kernel, for "make lab" and "make interop", and the command for the first.
KERNEL ?= 6.1
CMD ?=

# all or quick, for "make conformance".
CONFORMANCE ?= all

# all or quick, for "make faults".
FAULTS ?= all

.PHONY: help demo test test-all conformance interop faults topo-fixtures check coverage lab gpu gpu-build bench generate clean

help:
	@echo 'make demo      a Go bandwidth test against the C one, both ways, through kernel RDMA'
	@echo '               in a virtual machine; DEMO_DEVICE=name uses a real device instead'
	@echo 'make test      unit tests, race detector, the lab on kernels 6.1 and 6.12, interoperation'
	@echo 'make test-all  the same on every kernel, and the longer suites: faults between'
	@echo '               two guests, arm64, fuzzing, cgo checks'
	@echo 'make conformance  the cases that every device must pass, on the in-process device and on three'
	@echo '               kernels with two versions of rdma-core: a table, CONFORMANCE=quick for two and one'
	@echo 'make interop   our benchmark tools with perftest 4.5 and 25.01, each way, with every set of flags:'
	@echo '               a table; KERNEL=6.12 picks the lab'"'"'s kernel'
	@echo 'make faults    what happens when a cable, a peer or its kernel fails: between two guests and in'
	@echo '               one, on three kernels, and ten thousand connections; FAULTS=quick for one kernel'
	@echo 'make topo-fixtures  what the topology code says about real machines, beside the right answers:'
	@echo '               a table; GOFABRIC_TOPOLOGY_FIXTURES=folder asks the originals too'
	@echo 'make coverage  which functions of libibverbs and librdmacm are bound, tested and refused: a table'
	@echo 'make check     gofmt, vet, staticcheck, other systems, architecture, the ABI'
	@echo 'make lab       CMD="ib_write_bw --help" runs a command in a lab guest, KERNEL=6.12 picks its kernel;'
	@echo '               without CMD it shows the guest'"'"'s RDMA devices'
	@echo 'make gpu       the tests that need NVIDIA GPUs, on this machine; docs/gpu.md has it for two machines'
	@echo 'make bench     what the binding costs per work request, beside C'
	@echo 'make generate  go generate'
	@echo 'make clean     removes build/; downloads stay in the cache folder (XDG_CACHE_HOME/gofabric)'
	@echo
	@echo 'What a target needs is named, then installed by apt. NO_INSTALL=1 refuses instead.'

demo:
	@$(SETUP) cc lab -- env CGO_ENABLED=0 go run ./internal/demo

test:
	@$(SETUP) cc headers lab launchers -- .ci/test quick

test-all:
	@$(SETUP) cc headers lab launchers arm64 -- .ci/test all

conformance:
	@$(SETUP) cc lab -- .ci/conformance "$(CONFORMANCE)"

interop:
	@$(SETUP) cc lab -- .ci/interop "$(KERNEL)"

faults:
	@$(SETUP) cc lab -- .ci/faults "$(FAULTS)"

topo-fixtures:
	@$(SETUP) -- .ci/topo-fixtures

coverage:
	@$(SETUP) -- go run ./internal/coverage

check:
	@$(SETUP) cc headers -- .ci/check

lab:
	@$(SETUP) lab -- .ci/lab "$(KERNEL)" $(CMD)

gpu:
	@$(SETUP) cc -- .ci/gpu all

gpu-build:
	@$(SETUP) cc -- .ci/gpu build

bench:
	@$(SETUP) cc -- go run ./internal/bench

generate:
	@$(SETUP) cc -- go generate ./...

clean:
	rm -rf build
