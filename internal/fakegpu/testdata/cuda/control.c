#include "../control.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(offsetof(struct gf1_control, knobs) == 64, "layout shared with control.go");
_Static_assert(offsetof(struct gf1_control, counters) == 576, "layout shared with control.go");
_Static_assert(offsetof(struct gf1_control, faults) == 1600, "layout shared with control.go");
_Static_assert(sizeof(struct gf1_fault) == 96, "layout shared with control.go");
_Static_assert(offsetof(struct gf1_control, reports) == 3136, "layout shared with control.go");
_Static_assert(offsetof(struct gf1_control, report) == 3200, "layout shared with control.go");
_Static_assert(sizeof(struct gf1_report) == 256, "layout shared with control.go");
_Static_assert(sizeof(struct gf1_control) <= 16384, "size of the file that control.go makes");

static struct gf1_control private_page;
static struct gf1_control *page;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void map_page(void) {
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

struct gf1_control *gf1_fake_control(void) {
	pthread_once(&once, map_page);
	return page;
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
