/* Notes how a function of the data path answered, 0 or a positive errno, and is
 * that answer. For this package's C files only. */
#ifndef GF1_SAW_H
#define GF1_SAW_H

#include "../dl/gf1_seen.h"

#define SAW(function, rc) \
	({ \
		static struct gf1_seen seen_ = { .name = function }; \
		gf1_saw(&seen_, rc); \
	})
/* The same of a function that answers nothing. */
#define SAW_CALL(function, call) \
	do { \
		call; \
		(void)SAW(function, 0); \
	} while (0)

#endif
