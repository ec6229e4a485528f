package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sampleHeader = `/* int ibv_in_comment(void); */
#include <x.h>
#define ibv_macro(a) \
	ibv_macro2(a)
#ifdef __cplusplus
extern "C" {
#endif
typedef int (*ibv_callback)(int);
struct ibv_thing {
	int (*not_me)(int a);
};
enum { IBV_A = 1 };
extern const struct verbs_device_ops verbs_provider;
int ibv_plain(struct ibv_thing *t); // ibv_after(1);
const char *ibv_text(enum ibv_e e);
int __attribute_const ibv_rate_to_mult(enum ibv_rate rate);
__attribute__((__always_inline__)) static inline struct ibv_mr *
__ibv_reg_mr(struct ibv_pd *pd, void *addr)
{
	return ibv_hidden(pd);
}
static inline
int ibv_inline(struct ibv_dm *dm)
{
	if (dm) { return dm->memcpy(dm); }
	return ibv_other(dm);
}
ssize_t _ibv_query(void);
ssize_t rread(int socket, void *buf, size_t len);
static inline struct verbs_context *verbs_get_ctx(struct ibv_context *ctx)
{
	return 0;
}
int ibv_plain(struct ibv_thing *t);
#ifdef __cplusplus
}
#endif
`

func TestDeclared(t *testing.T) {
	want := []string{"ibv_inline", "ibv_plain", "ibv_rate_to_mult", "ibv_text", "rread"}
	assert.Equal(t, want, declared(sampleHeader))
	assert.Empty(t, declared(""))
	assert.Empty(t, declared("int ("))
}

func FuzzDeclared(f *testing.F) {
	f.Add(sampleHeader)
	f.Add("int a(;{}}}")
	f.Add("/* int f(void);")
	f.Fuzz(func(t *testing.T, source string) {
		names := declared(source)
		assert.True(t, slices.IsSorted(names))
		for _, name := range names {
			assert.False(t, strings.HasPrefix(name, "_"))
			assert.Contains(t, source, name)
		}
	})
}

func TestResultsRoundTrip(t *testing.T) {
	r := newResults()
	for _, line := range []string{
		"on 6.1/44: rxe0, kernel 6.1.0",
		"tested ibv_reg_mr 6.1/44=Send loop0=Send",
		"refused ibv_alloc_dm 6.1/44=DeviceMemory",
	} {
		require.NoError(t, r.parse(line))
	}
	assert.Equal(t, "rxe0, kernel 6.1.0", r.where["6.1/44"])
	assert.Equal(t, map[string]string{"6.1/44": "Send", "loop0": "Send"}, r.claims["tested"]["ibv_reg_mr"])
	for _, bad := range []string{"on x", "tested ibv_x", "seen ibv_x a=b", "tested ibv_x ab", ""} {
		assert.Error(t, r.parse(bad), "%q", bad)
	}
	// A column that ran anew says only what it says now.
	r.take(part{Name: "6.1/44", Where: "rxe0", Claims: map[string]string{"tested ibv_alloc_dm": "New"}}, map[string]bool{})
	assert.Equal(t, map[string]string{"loop0": "Send"}, r.claims["tested"]["ibv_reg_mr"])
	assert.Nil(t, r.claims["refused"]["ibv_alloc_dm"])
	assert.Equal(t, map[string]string{"6.1/44": "New"}, r.claims["tested"]["ibv_alloc_dm"])
}

func TestRunsOfOneDeviceAreOneColumn(t *testing.T) {
	r, fresh := newResults(), map[string]bool{}
	r.take(part{Name: "loop0", Where: "loop0", Claims: map[string]string{"tested ibv_a": "A"}}, fresh)
	r.take(part{Name: "loop0 race", Where: "loop0", Claims: map[string]string{"tested ibv_b": "B"}}, fresh)
	r.take(part{Name: "loop0 rdmacm", Claims: map[string]string{"tested ibv_b": "B2"}}, fresh)
	r.take(part{Name: "unit tests", Claims: map[string]string{"tested ibv_c": "C"}}, fresh)
	assert.Len(t, r.claims["tested"], 2)
	assert.Equal(t, map[string]string{"loop0": "loop0"}, r.where)
}

func FuzzResults(f *testing.F) {
	f.Add("tested ibv_reg_mr loop0=Send")
	f.Add("on loop0: here")
	f.Fuzz(func(t *testing.T, line string) {
		r := newResults()
		if r.parse(line) == nil {
			assert.NotEmpty(t, strings.TrimSpace(line))
		}
	})
}

func TestGroups(t *testing.T) {
	for line, want := range map[string]string{
		"infiniband/verbs.h ibv_reg_mr":                "Memory",
		"infiniband/verbs.h ibv_wr_send":               "Extended work requests",
		"infiniband/verbs.h ibv_wr_opcode_str":         "Devices and ports",
		"infiniband/verbs.h ibv_wc_read_imm_data":      "Completion queues",
		"infiniband/verbs.h ibv_modify_srq":            "Shared receive queues",
		"infiniband/verbs.h ibv_destroy_rwq_ind_table": "Flows, work queues, counters",
		"infiniband/verbs.h ibv_alloc_pd":              "Domains",
		"infiniband/verbs.h mult_to_ibv_rate":          "Addresses and rates",
		"rdma/rdma_cma.h rdma_listen":                  "Connection manager",
		"rdma/rsocket.h rread":                         "rsockets",
	} {
		assert.Equal(t, want, groupOf(line), line)
	}
}
