"""Rank 1 of 2, beside a rank 0 in Go: sums 10 to what it gives.

Arguments: seconds, cupy or torch, where the id is (tcp:HOST:PORT or file:PATH),
the GPU.
"""
import ctypes
import signal
import socket
import struct
import sys

signal.alarm(int(sys.argv[1]))
module, place, device = sys.argv[2], sys.argv[3], int(sys.argv[4])
COUNT, ROUNDS, MINE, TOTAL = 1 << 18, 20, 10, 11


def read_id():
    way, _, where = place.partition(":")
    if way == "file":
        with open(where, "rb") as file:
            data = file.read()
    else:
        host, _, port = where.rpartition(":")
        data = b""
        with socket.create_connection((host, int(port)), 20) as connection:
            while part := connection.recv(128):
                data += part
    if len(data) != 128:
        raise SystemExit(f"the id has {len(data)} bytes")
    return data


def with_cupy(unique_id):
    import cupy
    from cupy.cuda import nccl

    cupy.cuda.Device(device).use()
    # An id is bytes in newer releases of CuPy, and a tuple in older ones.
    if not isinstance(nccl.get_unique_id(), bytes):
        unique_id = struct.unpack("128b", unique_id)
    comm = nccl.NcclCommunicator(2, unique_id, 1)
    stream = cupy.cuda.Stream(non_blocking=True)
    for _ in range(ROUNDS):
        data = cupy.full(COUNT, MINE, dtype=cupy.float32)
        cupy.cuda.Device(device).synchronize()
        comm.allReduce(data.data.ptr, data.data.ptr, COUNT, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream.ptr)
        stream.synchronize()
        if not bool((data == TOTAL).all()):
            raise SystemExit("the sum is wrong")
    comm.destroy()


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def with_torch(unique_id):
    """PyTorch's memory and stream, and its libnccl called by hand."""
    import torch

    torch.cuda.set_device(device)
    torch.cuda.nccl.version()
    with open("/proc/self/maps") as maps:
        path = next(line.split(None, 5)[-1].strip() for line in maps if "libnccl.so" in line)
    lib = ctypes.CDLL(path)

    def check(result):
        if result != 0:
            lib.ncclGetErrorString.restype = ctypes.c_char_p
            raise SystemExit(f"NCCL says {result}: {lib.ncclGetErrorString(result).decode()}")

    nccl_id = UniqueId()
    ctypes.memmove(ctypes.byref(nccl_id), unique_id, 128)
    comm = ctypes.c_void_p()
    torch.zeros(1, device=f"cuda:{device}")
    lib.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
    check(lib.ncclCommInitRank(ctypes.byref(comm), 2, nccl_id, 1))
    stream = torch.cuda.Stream()
    lib.ncclAllReduce.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                                  ctypes.c_void_p, ctypes.c_void_p]
    lib.ncclCommDestroy.argtypes = [ctypes.c_void_p]
    for _ in range(ROUNDS):
        data = torch.full((COUNT,), float(MINE), device=f"cuda:{device}")
        torch.cuda.synchronize()
        check(lib.ncclAllReduce(data.data_ptr(), data.data_ptr(), COUNT, 7, 0, comm, stream.cuda_stream))
        stream.synchronize()
        if not bool((data == TOTAL).all()):
            raise SystemExit("the sum is wrong")
    check(lib.ncclCommDestroy(comm))


(with_cupy if module == "cupy" else with_torch)(read_id())
