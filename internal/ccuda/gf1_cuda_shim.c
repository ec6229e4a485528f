//go:build linux && cgo

#include "gf1_cuda_shim.h"

int gf1_cuda_context_sync(gf1_cuda_handle context)
{
	GF1_CUDA_IN(context, gf1_cuda.cuCtxSynchronize());
}

int gf1_cuda_priorities(gf1_cuda_handle context, int *least, int *greatest)
{
	GF1_CUDA_IN(context, gf1_cuda.cuCtxGetStreamPriorityRange(least, greatest));
}

int gf1_cuda_peer_enable(gf1_cuda_handle context, gf1_cuda_handle peer)
{
	GF1_CUDA_IN(context, gf1_cuda.cuCtxEnablePeerAccess(peer, 0));
}

int gf1_cuda_peer_disable(gf1_cuda_handle context, gf1_cuda_handle peer)
{
	GF1_CUDA_IN(context, gf1_cuda.cuCtxDisablePeerAccess(peer));
}

int gf1_cuda_mem_info(gf1_cuda_handle context, size_t *free, size_t *total)
{
	GF1_CUDA_IN(context, gf1_cuda.cuMemGetInfo_v2(free, total));
}

int gf1_cuda_stream_create(gf1_cuda_handle context, unsigned int flags, int priority, gf1_cuda_handle *out)
{
	GF1_CUDA_IN(context, gf1_cuda.cuStreamCreateWithPriority(out, flags, priority));
}

int gf1_cuda_stream_destroy(gf1_cuda_handle context, gf1_cuda_handle stream)
{
	GF1_CUDA_IN(context, gf1_cuda.cuStreamDestroy_v2(stream));
}

int gf1_cuda_stream_query(gf1_cuda_handle context, gf1_cuda_handle stream)
{
	GF1_CUDA_IN(context, gf1_cuda.cuStreamQuery(stream));
}

int gf1_cuda_stream_belongs(gf1_cuda_handle context, gf1_cuda_handle stream, int *same)
{
	gf1_cuda_handle own = 0;
	void *previous;
	int rc = gf1_cuda_enter((void *)context, &previous);

	if (rc != 0)
		return rc;
	rc = gf1_cuda.cuStreamGetCtx(stream, &own);
	*same = own == context;
	return gf1_cuda_left(previous, rc);
}

int gf1_cuda_stream_wait(gf1_cuda_handle context, gf1_cuda_handle stream, gf1_cuda_handle event)
{
	GF1_CUDA_IN(context, gf1_cuda.cuStreamWaitEvent(stream, event, 0));
}

int gf1_cuda_capture_begin(gf1_cuda_handle context, gf1_cuda_handle stream, int mode)
{
	GF1_CUDA_IN(context, gf1_cuda.cuStreamBeginCapture_v2(stream, mode));
}

int gf1_cuda_capture_end(gf1_cuda_handle context, gf1_cuda_handle stream, gf1_cuda_handle *graph)
{
	GF1_CUDA_IN(context, gf1_cuda.cuStreamEndCapture(stream, graph));
}

int gf1_cuda_capture_status(gf1_cuda_handle context, gf1_cuda_handle stream, int *status)
{
	GF1_CUDA_IN(context, gf1_cuda.cuStreamIsCapturing(stream, status));
}

int gf1_cuda_event_create(gf1_cuda_handle context, unsigned int flags, gf1_cuda_handle *out)
{
	GF1_CUDA_IN(context, gf1_cuda.cuEventCreate(out, flags));
}

int gf1_cuda_event_destroy(gf1_cuda_handle context, gf1_cuda_handle event)
{
	GF1_CUDA_IN(context, gf1_cuda.cuEventDestroy_v2(event));
}

int gf1_cuda_event_record(gf1_cuda_handle context, gf1_cuda_handle event, gf1_cuda_handle stream)
{
	GF1_CUDA_IN(context, gf1_cuda.cuEventRecord(event, stream));
}

int gf1_cuda_event_query(gf1_cuda_handle context, gf1_cuda_handle event)
{
	GF1_CUDA_IN(context, gf1_cuda.cuEventQuery(event));
}

int gf1_cuda_event_elapsed(gf1_cuda_handle context, gf1_cuda_handle start, gf1_cuda_handle end, float *milliseconds)
{
	GF1_CUDA_IN(context, gf1_cuda.cuEventElapsedTime(milliseconds, start, end));
}

int gf1_cuda_ipc_memory(gf1_cuda_handle context, uint64_t address, struct gf1_cuda_ipc *out)
{
	GF1_CUDA_IN(context, gf1_cuda.cuIpcGetMemHandle(out, address));
}

int gf1_cuda_ipc_open_memory(gf1_cuda_handle context, const struct gf1_cuda_ipc *handle, uint64_t *address)
{
	const unsigned int lazy_peer_access = 1;

	GF1_CUDA_IN(context, gf1_cuda.cuIpcOpenMemHandle_v2(address, *handle, lazy_peer_access));
}

int gf1_cuda_ipc_close_memory(gf1_cuda_handle context, uint64_t address)
{
	GF1_CUDA_IN(context, gf1_cuda.cuIpcCloseMemHandle(address));
}

int gf1_cuda_ipc_event(gf1_cuda_handle context, gf1_cuda_handle event, struct gf1_cuda_ipc *out)
{
	GF1_CUDA_IN(context, gf1_cuda.cuIpcGetEventHandle(out, event));
}

int gf1_cuda_ipc_open_event(gf1_cuda_handle context, const struct gf1_cuda_ipc *handle, gf1_cuda_handle *event)
{
	GF1_CUDA_IN(context, gf1_cuda.cuIpcOpenEventHandle(event, *handle));
}

int gf1_cuda_graph_nodes(gf1_cuda_handle context, gf1_cuda_handle graph, size_t *count)
{
	GF1_CUDA_IN(context, gf1_cuda.cuGraphGetNodes(graph, NULL, count));
}

int gf1_cuda_graph_destroy(gf1_cuda_handle context, gf1_cuda_handle graph)
{
	GF1_CUDA_IN(context, gf1_cuda.cuGraphDestroy(graph));
}

int gf1_cuda_graph_instantiate(gf1_cuda_handle context, gf1_cuda_handle graph, gf1_cuda_handle *exec)
{
	GF1_CUDA_NEED(cuGraphInstantiateWithFlags);
	GF1_CUDA_IN(context, gf1_cuda.cuGraphInstantiateWithFlags(exec, graph, 0));
}

int gf1_cuda_graph_launch(gf1_cuda_handle context, gf1_cuda_handle exec, gf1_cuda_handle stream)
{
	GF1_CUDA_IN(context, gf1_cuda.cuGraphLaunch(exec, stream));
}

int gf1_cuda_exec_destroy(gf1_cuda_handle context, gf1_cuda_handle exec)
{
	GF1_CUDA_IN(context, gf1_cuda.cuGraphExecDestroy(exec));
}
