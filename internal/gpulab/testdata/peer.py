"""The same small all-reduces as the Go peer's, from Python: one process a GPU.

Arguments: seconds, cupy or torch, rank, ranks, the file in which rank 0 leaves
the id (cupy) or the port (torch). Commands come as lines, "wait N", "batch N",
"enqueue N" and "alone N"; each is answered by a line "ns X", nanoseconds per
operation of this rank, or "ns nan".
"""
import gc
import os
import signal
import struct
import sys
import time

signal.alarm(int(sys.argv[1]))
module, rank, size, meeting = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
BATCH, BURST, FLOATS = 20, 100, 2
clock = time.perf_counter_ns


def with_cupy():
    import cupy
    from cupy.cuda import nccl

    cupy.cuda.Device(rank).use()
    if rank == 0:
        with open(meeting + ".new", "wb") as file:
            file.write(bytes(value & 0xFF for value in nccl.get_unique_id()))
        os.rename(meeting + ".new", meeting)
    while not os.path.exists(meeting):
        time.sleep(0.01)
    with open(meeting, "rb") as file:
        unique_id = as_id(nccl, file.read())
    stream = cupy.cuda.Stream(non_blocking=True)
    send, receive = cupy.zeros(FLOATS, cupy.float32), cupy.zeros(FLOATS, cupy.float32)
    cupy.cuda.Device(rank).synchronize()
    comm = nccl.NcclCommunicator(size, unique_id, rank)
    lone = nccl.NcclCommunicator(1, nccl.get_unique_id(), 0)
    arguments = (send.data.ptr, receive.data.ptr, FLOATS, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream.ptr)
    in_place = (send.data.ptr, send.data.ptr) + arguments[2:]
    all_reduce, alone = comm.allReduce, lone.allReduce
    keep = (comm, lone, stream, send, receive)
    return (lambda: all_reduce(*arguments)), stream.synchronize, (lambda: alone(*in_place)), nccl.get_version(), keep


def as_id(nccl, data):
    """An id is bytes in newer releases of CuPy, and a tuple in older ones."""
    return data if isinstance(nccl.get_unique_id(), bytes) else struct.unpack("128b", data)


def with_torch():
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", f"tcp://127.0.0.1:{meeting}", rank=rank, world_size=size,
                            device_id=torch.device("cuda", rank))
    data = torch.zeros(FLOATS, device=f"cuda:{rank}")
    stream = torch.cuda.current_stream()
    major, minor, patch = torch.cuda.nccl.version()[:3]
    return (lambda: dist.all_reduce(data)), stream.synchronize, None, major * 10000 + minor * 100 + patch, dist


enqueue, wait, alone, version, keep = with_cupy() if module == "cupy" else with_torch()
gc.disable()


def measure(what, count):
    if what == "wait":
        start = clock()
        for _ in range(count):
            enqueue()
            wait()
        return (clock() - start) / count
    if what == "batch":
        start, done = clock(), 0
        while done < count:
            for _ in range(BATCH):
                enqueue()
            wait()
            done += BATCH
        return (clock() - start) / done
    call = enqueue if what == "enqueue" else alone
    if call is None or what == "alone" and rank != 0:
        return float("nan")
    spent, done = 0, 0
    while done < count:
        start = clock()
        for _ in range(BURST):
            call()
        spent += clock() - start
        wait()
        done += BURST
    return spent / done


print(f"ready NCCL {version}")
for line in sys.stdin:
    what, count = line.split()
    print(f"ns {measure(what, int(count)):.1f}")
# The end of the process is the end of the communicators: nothing waits for them.
sys.stdout.flush()
os._exit(0)
