#include "../control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(offsetof(struct gf1_control, knobs) == 64, "layout shared with control.go");
_Static_assert(offsetof(struct gf1_control, faults) == 576, "layout shared with control.go");
_Static_assert(sizeof(struct gf1_fault) == 96, "layout shared with control.go");
_Static_assert(offsetof(struct gf1_control, reports) == 2112, "layout shared with control.go");
_Static_assert(offsetof(struct gf1_control, report) == 2176, "layout shared with control.go");
_Static_assert(sizeof(struct gf1_report) == 256, "layout shared with control.go");
_Static_assert(offsetof(struct gf1_control, process) == 12416, "layout shared with control.go");
_Static_assert(sizeof(struct gf1_process) == 1088, "layout shared with control.go");
_Static_assert(sizeof(struct gf1_control) <= 32768, "size of the file that control.go makes");

static struct gf1_control private_page;
static struct gf1_control *page;
static struct gf1_process *mine;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool lives(int64_t pid) { return pid != 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH); }

// The counters that only grow; the others are of what is alive.
static bool cumulative(int counter) {
	return counter == GF1_COLLECTIVES_DONE || counter == GF1_GROUPS_ENDED || counter == GF1_FOREIGN_STREAM_USES ||
		   (counter >= GF1_CONTEXTS_CREATED && counter < GF1_CONTEXTS_LIVE);
}

// claim takes an unused entry, or that of a process that has died.
static void claim(void) {
	for (int i = 0; i < GF1_PROCESSES; i++) {
		struct gf1_process *p = &page->process[i];
		int64_t before = atomic_load(&p->pid);
		if (lives(before) || !atomic_compare_exchange_strong(&p->pid, &before, getpid()))
			continue;
		for (int c = 0; c < GF1_COUNTERS; c++) {
			if (!cumulative(c))
				atomic_store(&p->counters[c], 0);
		}
		mine = p;
		return;
	}
	fprintf(stderr, "fake GPU: more than %d processes share a control page\n", GF1_PROCESSES);
	abort();
}

static void map_file(void) {
	const char *path = getenv("GF1_FAKE_CONTROL");
	page = &private_page;
	if (path == NULL || *path == 0)
		return;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "fake GPU: cannot open GF1_FAKE_CONTROL=%s\n", path);
		abort();
	}
	void *p = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED || ((struct gf1_control *)p)->magic != GF1_CONTROL_MAGIC) {
		fprintf(stderr, "fake GPU: %s is no control page\n", path);
		abort();
	}
	page = p;
}

static void map_page(void) {
	map_file();
	claim();
}

struct gf1_control *gf1_fake_control(void) {
	pthread_once(&once, map_page);
	return page;
}

_Atomic int64_t *gf1_fake_counters(void) {
	pthread_once(&once, map_page);
	return mine->counters;
}

int64_t gf1_fake_count(int counter) {
	int64_t sum = 0;
	gf1_fake_control();
	for (int i = 0; i < GF1_PROCESSES; i++) {
		struct gf1_process *p = &page->process[i];
		if (cumulative(counter) || lives(atomic_load(&p->pid)))
			sum += atomic_load(&p->counters[counter]);
	}
	return sum;
}

void gf1_fake_report(const char *format, ...) {
	struct gf1_control *c = gf1_fake_control();
	char text[GF1_REPORT_TEXT];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	uint64_t i = atomic_fetch_add(&c->reports, 1);
	if (i < GF1_REPORTS) {
		memcpy(c->report[i].text, text, sizeof text);
		atomic_store(&c->report[i].ready, 1);
	}
	if (atomic_load(&c->knobs[GF1_KNOB_ABORT]) != 0) {
		fprintf(stderr, "fake GPU: %s\n", text);
		abort();
	}
}

bool gf1_fake_fault(const char *name, int *code) {
	struct gf1_control *c = gf1_fake_control();
	if (atomic_load(&c->armed) == 0)
		return false;
	for (int i = 0; i < GF1_FAULTS; i++) {
		struct gf1_fault *f = &c->faults[i];
		if (atomic_load(&f->times) <= 0 || strncmp(f->name, name, sizeof f->name) != 0)
			continue;
		if (atomic_load(&f->skip) > 0 && atomic_fetch_sub(&f->skip, 1) > 0)
			continue;
		if (atomic_fetch_sub(&f->times, 1) > 0) {
			*code = (int)atomic_load(&f->code);
			return true;
		}
	}
	return false;
}
