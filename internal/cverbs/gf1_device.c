//go:build linux && cgo

#include "gf1_device.h"

#include "gf1_call.h"

int gf1_query_device_ex(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_device_attr_ex *attr)
{
	CALLS("ibv_query_device_ex");
	struct gf1_verbs_context *ext = extended(context, REACH(query_device_ex));
	int rc = EOPNOTSUPP;

	errno = 0;
	memset(attr, 0, sizeof(*attr));
	if (ext != NULL && ext->query_device_ex != NULL)
		rc = ext->query_device_ex(context, NULL, attr, sizeof(*attr));
	/* As the library's own: a device without the verb has the older one. */
	if ((rc == EOPNOTSUPP || rc == ENOSYS) && v->query_device != NULL) {
		memset(attr, 0, sizeof(*attr));
		rc = v->query_device(context, &attr->orig_attr);
	}
	return done(rc);
}

int gf1_query_rt_values(struct gf1_context *context, struct gf1_values_ex *values)
{
	NEED_OPERATION(context, query_rt_values, "ibv_query_rt_values_ex");
	return done(ext->query_rt_values(context, values));
}

int gf1_get_device_name(const struct gf1_verbs *v, struct gf1_context *context, const char **name)
{
	NEED(v, get_device_name);
	return made((void *)v->get_device_name(context->device), name);
}

int gf1_get_device_guid(const struct gf1_verbs *v, struct gf1_context *context, uint64_t *guid)
{
	NEED(v, get_device_guid);
	*guid = v->get_device_guid(context->device);
	return done(0);
}

int gf1_get_device_index(const struct gf1_verbs *v, struct gf1_context *context, int *index)
{
	NEED(v, get_device_index);
	*index = v->get_device_index(context->device);
	return done(*index < 0 ? ENODATA : 0);
}

int gf1_query_pkey(const struct gf1_verbs *v, struct gf1_context *context, uint8_t port, int index, uint16_t *pkey)
{
	NEED(v, query_pkey);
	return done(v->query_pkey(context, port, index, pkey));
}

int gf1_get_pkey_index(const struct gf1_verbs *v, struct gf1_context *context, uint8_t port, uint16_t pkey, int *index)
{
	NEED(v, get_pkey_index);
	*index = v->get_pkey_index(context, port, pkey);
	return done(*index < 0 ? ENOENT : 0);
}

int gf1_query_gid(const struct gf1_verbs *v, struct gf1_context *context, uint8_t port, int index, union gf1_gid *gid)
{
	NEED(v, query_gid);
	return done(v->query_gid(context, port, index, gid));
}

int gf1_query_gid_ex(const struct gf1_verbs *v, struct gf1_context *context, uint32_t port, uint32_t index,
		     struct gf1_gid_entry *entry)
{
	NEED_AS(v, _query_gid_ex, "ibv_query_gid_ex");
	return done(v->_query_gid_ex(context, port, index, entry, 0, sizeof(*entry)));
}

int gf1_query_port_speed(const struct gf1_verbs *v, struct gf1_context *context, uint32_t port, uint64_t *speed)
{
	NEED(v, query_port_speed);
	return done(v->query_port_speed(context, port, speed));
}

int gf1_resolve_eth_l2(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_ah_attr *attr, uint8_t mac[6],
		       uint16_t *vid)
{
	NEED(v, resolve_eth_l2_from_gid);
	return done(v->resolve_eth_l2_from_gid(context, attr, mac, vid));
}

int gf1_alloc_td(struct gf1_context *context, struct gf1_td **out)
{
	struct gf1_td_init_attr attr = { 0 };
	NEED_OPERATION(context, alloc_td, "ibv_alloc_td");

	return made(ext->alloc_td(context, &attr), out);
}

int gf1_dealloc_td(struct gf1_td *td)
{
	NEED_OPERATION(td->context, dealloc_td, "ibv_dealloc_td");
	return done(ext->dealloc_td(td));
}

int gf1_alloc_parent_domain(struct gf1_pd *pd, struct gf1_td *td, struct gf1_pd **out)
{
	struct gf1_parent_domain_init_attr attr = { .pd = pd, .td = td };
	NEED_OPERATION(pd->context, alloc_parent_domain, "ibv_alloc_parent_domain");

	return made(ext->alloc_parent_domain(pd->context, &attr), out);
}

int gf1_create_counters(struct gf1_context *context, struct gf1_counters **out)
{
	struct gf1_counters_init_attr attr = { 0 };
	NEED_OPERATION(context, create_counters, "ibv_create_counters");

	return made(ext->create_counters(context, &attr), out);
}

int gf1_destroy_counters(struct gf1_counters *counters)
{
	NEED_OPERATION(counters->context, destroy_counters, "ibv_destroy_counters");
	return done(ext->destroy_counters(counters));
}

int gf1_attach_counters(struct gf1_counters *counters, int what, uint32_t index, struct gf1_flow *flow)
{
	struct gf1_counter_attach_attr attr = { .counter_desc = what, .index = index };
	NEED_OPERATION(counters->context, attach_counters_point_flow, "ibv_attach_counters_point_flow");

	return done(ext->attach_counters_point_flow(counters, &attr, flow));
}

int gf1_read_counters(struct gf1_counters *counters, uint64_t *values, uint32_t n, uint32_t flags)
{
	NEED_OPERATION(counters->context, read_counters, "ibv_read_counters");
	return done(ext->read_counters(counters, values, n, flags));
}

int gf1_fork_init(const struct gf1_library *lib)
{
	CALLS("ibv_fork_init");

	errno = 0;
	return done(lib->ibv_fork_init());
}

int gf1_is_fork_initialized(const struct gf1_library *lib, int *status)
{
	NEED_AS(lib, ibv_is_fork_initialized, "ibv_is_fork_initialized");
	*status = lib->ibv_is_fork_initialized();
	return done(0);
}

int gf1_import_device(const struct gf1_library *lib, int fd, struct gf1_context **out)
{
	NEED_AS(lib, ibv_import_device, "ibv_import_device");
	return made(lib->ibv_import_device(fd), out);
}

int gf1_node_type_str(const struct gf1_library *lib, int value, const char **text)
{
	NEED_AS(lib, ibv_node_type_str, "ibv_node_type_str");
	return made((void *)lib->ibv_node_type_str(value), text);
}

int gf1_port_state_str(const struct gf1_library *lib, int value, const char **text)
{
	NEED_AS(lib, ibv_port_state_str, "ibv_port_state_str");
	return made((void *)lib->ibv_port_state_str(value), text);
}

int gf1_event_type_str(const struct gf1_library *lib, int value, const char **text)
{
	NEED_AS(lib, ibv_event_type_str, "ibv_event_type_str");
	return made((void *)lib->ibv_event_type_str(value), text);
}

int gf1_wc_status_str(const struct gf1_library *lib, int value, const char **text)
{
	NEED_AS(lib, ibv_wc_status_str, "ibv_wc_status_str");
	return made((void *)lib->ibv_wc_status_str(value), text);
}

int gf1_wr_opcode_str(const struct gf1_library *lib, int value, const char **text)
{
	NEED_AS(lib, ibv_wr_opcode_str, "ibv_wr_opcode_str");
	return made((void *)lib->ibv_wr_opcode_str(value), text);
}

int gf1_rate_to_mult(const struct gf1_library *lib, int value, int *result)
{
	NEED_AS(lib, ibv_rate_to_mult, "ibv_rate_to_mult");
	*result = lib->ibv_rate_to_mult(value);
	return done(0);
}

int gf1_mult_to_rate(const struct gf1_library *lib, int value, int *result)
{
	NEED_AS(lib, mult_to_ibv_rate, "mult_to_ibv_rate");
	*result = lib->mult_to_ibv_rate(value);
	return done(0);
}

int gf1_rate_to_mbps(const struct gf1_library *lib, int value, int *result)
{
	NEED_AS(lib, ibv_rate_to_mbps, "ibv_rate_to_mbps");
	*result = lib->ibv_rate_to_mbps(value);
	return done(0);
}

int gf1_mbps_to_rate(const struct gf1_library *lib, int value, int *result)
{
	NEED_AS(lib, mbps_to_ibv_rate, "mbps_to_ibv_rate");
	*result = lib->mbps_to_ibv_rate(value);
	return done(0);
}
