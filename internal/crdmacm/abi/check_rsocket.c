/* Proves gf1_rsocket.h against rdma-core's own header. Compiled, never linked:
 *   cc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I<rdma-core> -I.. check_rsocket.c */
#include <rdma/rsocket.h>

#include "gf1_rsocket.h"

#define SAME_TYPE(result, name, args) \
	_Static_assert(__builtin_types_compatible_p(result(*) args, __typeof__(&name)), #name);
GF1_RS_FUNCTIONS(SAME_TYPE)

#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME_VALUE(GF1_SOL_RDMA, SOL_RDMA);
SAME_VALUE(GF1_RDMA_SQSIZE, RDMA_SQSIZE);
SAME_VALUE(GF1_RDMA_RQSIZE, RDMA_RQSIZE);
SAME_VALUE(GF1_RDMA_INLINE, RDMA_INLINE);
SAME_VALUE(GF1_RDMA_IOMAPSIZE, RDMA_IOMAPSIZE);
