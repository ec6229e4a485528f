// The page that a test and the fakes share. It is a file named by
// GF1_FAKE_CONTROL; each process that loads a fake maps it, and so does Go
// (control.go, whose offsets are checked against gf1_fake_layout). Without the
// variable each process has a private page.
#ifndef GF1_FAKE_CONTROL_H
#define GF1_FAKE_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GF1_CONTROL_MAGIC 0x314b4146534b4641ull
#define GF1_KNOBS 64
#define GF1_COUNTERS 128
#define GF1_FAULTS 16
#define GF1_PROCESSES 16
#define GF1_REPORTS 40
#define GF1_REPORT_TEXT 248

// Knobs are written by the test and read by the fakes.
enum gf1_knob {
	GF1_KNOB_STREAM_HOLD = 0,     // streams start nothing while it is not 0
	GF1_KNOB_INIT_HOLD = 1,       // communicator set-up does not end while it is not 0
	GF1_KNOB_COLLECTIVE_HOLD = 2, // collectives do not end while it is not 0
	GF1_KNOB_DEAD_RANKS = 3,      // bit r: rank r has died, others see ncclRemoteError
	GF1_KNOB_ASYNC_ERROR = 4,     // the asynchronous error of the ranks below
	GF1_KNOB_ASYNC_RANKS = 5,     // bit r: rank r has it; 0: all
	GF1_KNOB_EINTR = 6,           // set-up fails as NCCL 2.19 to 2.25 did on a signal
	GF1_KNOB_ABORT = 7,           // a broken rule calls abort()
	GF1_KNOB_ALLOC_SYNC = 8,      // 1: allocation waits for all devices; 2: it reports work under way
	GF1_KNOB_ABORT_HOLD = 9,      // ncclCommAbort and ncclCommDestroy do not end while it is not 0
	GF1_KNOB_JOB_HOLD = 10,       // jobs of non-blocking groups do not end while it is not 0
	GF1_KNOB_CHANGE_CONTEXT = 11, // d+1: calls leave the context of device d current, as some releases did
};

// Counters are written by the fakes.
enum gf1_counter {
	GF1_LIVE_STREAMS = 0,
	GF1_LIVE_EVENTS = 1,
	GF1_LIVE_DEVICE_MEMORY = 2, // allocations, VMM handles included
	GF1_LIVE_HOST_MEMORY = 3,
	GF1_LIVE_MODULES = 4,
	GF1_LIVE_GRAPHS = 5,
	GF1_LIVE_EXECS = 6,
	GF1_LIVE_RESERVATIONS = 7,
	GF1_LIVE_IPC = 8,
	GF1_LIVE_USER_OBJECTS = 9,
	GF1_FOREIGN_STREAM_USES = 10, // work for a stream of another context than the current one
	GF1_LIVE_COMMS = 16,
	GF1_LIVE_REGISTRATIONS = 17,
	GF1_LIVE_WINDOWS = 18,
	GF1_LIVE_NCCL_MEMORY = 19,
	GF1_LIVE_OPERATORS = 20,
	GF1_COLLECTIVES_DONE = 21,
	GF1_GROUPS_ENDED = 22,
	GF1_INITS_WAITING = 23,      // ranks inside communicator set-up
	GF1_COLLECTIVES_WAITING = 24, // collectives that run and have not ended
	GF1_ABORTS_WAITING = 25,
	GF1_CONTEXTS_CREATED = 32,   // +device, 32 of them
	GF1_CONTEXTS_LIVE = 64,      // +device, 32 of them
};

struct gf1_fault {
	char name[64];         // the C function
	_Atomic int64_t code;  // what it returns
	_Atomic int64_t skip;  // calls to let through first
	_Atomic int64_t times; // calls to fail; 0: entry unused
	uint64_t unused;
};

struct gf1_report {
	_Atomic uint64_t ready;
	char text[GF1_REPORT_TEXT];
};

// Each process counts for itself, since what is alive goes with it when it dies.
struct gf1_process {
	_Atomic int64_t pid; // 0: unused
	uint64_t unused[7];
	_Atomic int64_t counters[GF1_COUNTERS];
};

struct gf1_control {
	uint64_t magic;
	_Atomic uint64_t armed; // entries of faults in use
	uint64_t unused[6];
	_Atomic uint64_t knobs[GF1_KNOBS];
	struct gf1_fault faults[GF1_FAULTS];
	_Atomic uint64_t reports;
	uint64_t unused2[7];
	struct gf1_report report[GF1_REPORTS];
	struct gf1_process process[GF1_PROCESSES];
};

struct gf1_control *gf1_fake_control(void);
_Atomic int64_t *gf1_fake_counters(void); // this process's
int64_t gf1_fake_count(int counter);      // of all processes that live

// gf1_fake_report notes a broken rule that the real library punishes.
void gf1_fake_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

// gf1_fake_fault answers whether this call of name is to fail, and with what.
bool gf1_fake_fault(const char *name, int *code);

static inline uint64_t gf1_knob(enum gf1_knob k) {
	return atomic_load(&gf1_fake_control()->knobs[k]);
}

static inline void gf1_count(int counter, int64_t by) {
	atomic_fetch_add(&gf1_fake_counters()[counter], by);
}

#endif
