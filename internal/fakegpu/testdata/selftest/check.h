#ifndef GF1_FAKE_CHECK_H
#define GF1_FAKE_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                      \
	do {                                                                      \
		if (!(condition)) {                                                   \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);   \
			exit(1);                                                          \
		}                                                                     \
	} while (0)

#define IS(expected, call)                                                                          \
	do {                                                                                            \
		int got_ = (int)(call);                                                                     \
		if (got_ != (expected)) {                                                                   \
			fprintf(stderr, "%s:%d: %s: %d, not %d\n", __FILE__, __LINE__, #call, got_, (expected)); \
			exit(1);                                                                                \
		}                                                                                           \
	} while (0)

#define OK(call) IS(0, call)

#endif
