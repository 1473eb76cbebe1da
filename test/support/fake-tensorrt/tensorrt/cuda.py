# Stands in for the CUDA driver: device memory is host memory, a stream is done at once.
import ctypes
import gc
import time

from . import clock

memory = {}
locked = set()
state = {"lost": 0, "bytes_left": 1 << 40, "taken": 0, "busy_until": 0.0, "streams": 0}
done_at = {}
# What streams that capture were asked for, and what graphs repeat.
captures = {}
graphs = {}
errors = {2: (b"CUDA_ERROR_OUT_OF_MEMORY", b"out of memory"), 700: (b"CUDA_ERROR_ILLEGAL_ADDRESS", b"an illegal memory access was encountered")}


def set_to(value):
    def call(target, *_):
        target._obj.value = value
        return 0

    return call


def get_name(target, size, device):
    target.value = b"Fake GPU"
    return 0


def get_attribute(target, attribute, device):
    target._obj.value = {75: 9, 76: 0}[attribute]
    return 0


def allocate(target, size):
    if size > state["bytes_left"]:
        return 2
    block = ctypes.create_string_buffer(size)
    memory[ctypes.addressof(block)] = block
    state["taken"] += size
    target._obj.value = ctypes.addressof(block)
    return 0


def free(address):
    state["taken"] -= len(memory.pop(address))
    return 0


def get_memory(free, total):
    """The driver gives out 2 MiB at a time."""
    total._obj.value = 1 << 40
    free._obj.value = (1 << 40) - (-state["taken"] // (1 << 21)) * -(1 << 21)
    return 0


def move(target, source, size, stream):
    if stream in captures:
        captures[stream].append(lambda: move(target, source, size, stream))
        return 0
    ctypes.memmove(target, source, size)
    return 0


def lock_pages(address, size, flags):
    """As on a machine that allows it only for whole pages that nothing else uses."""
    if address % 4096 or address in locked:
        return 1
    locked.add(address)
    return 0


def unlock_pages(address):
    locked.remove(address)
    return 0


def fill(target, value, size, stream):
    ctypes.memset(target, value, size)
    return 0


def lose():
    state["lost"] = 700


def work(seconds, stream):
    """The GPU does one thing at a time."""
    state["busy_until"] = max(time.perf_counter(), state["busy_until"]) + seconds
    done_at[stream] = state["busy_until"]


def wait(stream):
    if stream in captures:
        captures[stream].append(None)
        return 900
    clock.wait_until(done_at.get(stream, 0.0))
    return state["lost"]


def query(stream):
    clock.pass_by(2e-5)
    return 600 if time.perf_counter() < done_at.get(stream, 0.0) else state["lost"]


def begin_capture(stream, mode):
    # As Python may at any time.
    gc.collect()
    captures[stream] = []
    return 0


def end_capture(stream, target):
    """Waiting for a stream that captures spoils the graph."""
    asked = captures.pop(stream)
    target._obj.value = len(graphs) + 1
    graphs[len(graphs) + 1] = asked
    return 901 if None in asked else 0


def instantiate(target, graph, flags):
    target._obj.value = graph.value
    return 0


def launch(graph, stream):
    for call in graphs[graph.value]:
        call()
    return 0


def create_stream(target, flags):
    state["streams"] += 1
    target._obj.value = state["streams"]
    return 0


def explain(which):
    def call(number, target):
        target._obj.value = errors[number][which]
        return 0

    return call


class Driver:
    def __init__(self):
        self.cuInit = lambda flags: 0
        self.cuDriverGetVersion = set_to(12080)
        self.cuDeviceGetCount = set_to(1)
        self.cuDeviceGet = set_to(0)
        self.cuDeviceGetName = get_name
        self.cuDeviceGetAttribute = get_attribute
        self.cuDevicePrimaryCtxRetain = set_to(1)
        self.cuCtxSetCurrent = lambda context: 0
        self.cuStreamCreate = create_stream
        self.cuStreamSynchronize = wait
        self.cuStreamQuery = query
        self.cuMemAlloc_v2 = allocate
        self.cuMemFree_v2 = free
        self.cuMemGetInfo_v2 = get_memory
        self.cuMemcpyHtoDAsync_v2 = move
        self.cuMemcpyDtoHAsync_v2 = lambda *arguments: move(*arguments)
        self.cuMemHostRegister_v2 = lock_pages
        self.cuMemHostUnregister = unlock_pages
        self.cuMemsetD8Async = fill
        self.cuStreamBeginCapture_v2 = begin_capture
        self.cuStreamEndCapture = end_capture
        self.cuGraphInstantiateWithFlags = instantiate
        self.cuGraphLaunch = launch
        self.cuGraphDestroy = lambda graph: 0
        self.cuGetErrorName = explain(0)
        self.cuGetErrorString = explain(1)


def install():
    real = ctypes.CDLL
    ctypes.CDLL = lambda name, *rest, **named: Driver() if name == "libcuda.so.1" else real(name, *rest, **named)
