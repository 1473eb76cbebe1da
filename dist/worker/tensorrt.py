#!/usr/bin/env python3
# Runs golden cases through one TensorRT engine: frames in, frames out, every output byte as the GPU left it.
"""The golden worker: one process, one engine, any number of cases.

    python3 tensorrt.py --engine FILE [--beside FILE] [--onnx FILE] [--stripped] [--device N] [--mode cases|warm|cold|soak|load]
                        [--plugin LIBRARY]... [--max-payload-bytes N] [--cases FILE]
    python3 tensorrt.py --calibrate ONNX --method entropy|minmax --cache FILE [options as above]
    python3 tensorrt.py --probe [--device N]

Needs Python 3.8 or newer, its standard library, the `tensorrt` module (8.6 to 11) and the CUDA driver.

Frames come on standard input (or from --cases) and go to standard output; all other output, by
plugins' printf too, goes to standard error. A frame, all numbers little-endian:

    offset  bytes  what
    0       4      "TGWF"
    4       2      protocol version, 1
    6       2      zero
    8       4      length of the header, at most 1 MiB
    12      8      length of the payload, at most --max-payload-bytes (2 GiB)
    20             the header: a JSON object in UTF-8 with a "kind"
                   the payload: the bytes of the header's "tensors", one after the other, no gaps

    "tensors": [{"name", "dtype", "shape", "bytes"}], row-major; types of 4 bits are packed, low half first.

To the worker:
    {"kind": "case", "id": text, "beside": [text, ...], "tensors": [...]}    the inputs of one case; with "beside" it runs
                                                      once for each id, all at the same time
    {"kind": "sequence", "id": text, "plan": {"spans": [[from, to], ...], "each": {input: axis}, "all": {input: axis},
     "outputs": {output: axis}, "state": {input: {"output": name}}}, "tensors": [...]}
                                                      a case in steps: "each" inputs get the positions of a span, "all" inputs
                                                      those before too, and a state what an output of the step before gave
    {"kind": "refit", "id": text, "weights": "model" or "zeros"}    gives the engine the weights of --onnx, or zeros
    {"kind": "start-up", "id": text, "runs": n, "tensors": [...]}    a case, to time its first run and n more
    {"kind": "soak", "id": text, "phase": "same-shape", "shape-changes" or "reloads", "steps", "samples", "budgetMs"}
                                                      repeats the cases before it, in --mode soak
    {"kind": "load", "id": text, "batched": [name, ...], "minBatch", "maxBatch", "maxDelayMs", "graph": bool}
                                                      in --mode load; the payload: arrivals of requests, float64 in ms
    {"kind": "together", "id": text, "budgetMs"}      in --mode load, with --beside; "ofBeside": true in a case is for that engine
    {"kind": "end"}                                   no more cases
From the worker, the first frame is a hello or an error, and each case has one answer, in order:
    {"kind": "hello", "protocol": 1, "tensorrt", "python", "device": {"index", "name", "computeCapability", "driver"},
     "engine": {"profiles": n, "inputs": [{"name", "dtype", "shape", "host"}], "outputs": [...]} or null for a probe}
    {"kind": "result", "id", "profile": n, "tensors": [...]}
    {"kind": "figures", "id", ...}                    of a start-up, a soak or a load
    {"kind": "error", "id": text or null, "tensor": text or null, "code", "message", "fatal": bool}
    {"kind": "end", "cases": n}

A start-up gives {"parts": ms of {"plugins", "read", "deserialize", "context", "first"}, "runs": [ms, ...], "cold"}. In --mode
warm and cold the plan is read through first; "cold" says whether it was not in the page cache.

A soak gives {"phase", "steps", "shapes", "samples": [[reserved, resident, used, blocks], ...]}, "steps" steps apart: GPU
memory taken since there is a CUDA context, host memory, what TensorRT, inputs and outputs hold, in how many blocks; the
last two only if TensorRT takes an allocator. A step of "reloads" frees engine and context, loads and runs them.

A load serves the arrivals with the case before it. A batch starts when the engine is free and either "maxBatch" requests or
"maxDelayMs" of the oldest are there; it holds the first items of the inputs in "batched", at least "minBatch". With "graph"
and nothing "batched", an inference and its copies are one CUDA graph. It gives {"requests": n}; the payload: n latencies from
the arrivals, then by how much each request's batch started late, float64 in ms.

A "together" runs the case before it of either engine for "budgetMs": each alone, then both at once. It gives {"counts": [n, n,
n, n]}; the payload: so many times of the first alone and with the other, and of the other alone and with the first.

With --calibrate (TensorRT up to 10), TensorRT calibrates an INT8 engine on the cases, which have one shape and no
answers. The cache is written to --cache before the end frame. The hello's engine is null.

A fatal error is the last frame; the exit code is then 2 (did not start), 3 (CUDA or TensorRT is lost), 4 (the
frames cannot be read) or 70 (a bug). Else it is 0. Codes of fatal errors: tensorrt-missing, cuda-missing, cuda,
plan, plugin, format, memory, calibration, refit, refit-missing, protocol, internal. Of cases: protocol, input, shape,
memory, execution, size, refit, refit-missing, internal.
"""
import argparse
import array
import collections
import copy
import ctypes
import faulthandler
import gc
import json
import math
import mmap
import os
import platform
import struct
import sys
import time
import traceback

MAGIC = b"TGWF"
PROTOCOL = 1
PREFIX = struct.Struct("<4sHHIQ")
LONGEST_HEADER = 1 << 20
LARGEST_PAYLOAD = 2 << 30
MOST_TENSORS = 4096
LONGEST_NAME = 4096
HIGHEST_RANK = 16
# TensorRT's plans begin with this since 8.6; it aborts the process on some files that do not.
PLAN_MAGIC = b"ftrt"
# What outputs hold before a case, so that bytes the engine never wrote are not the last case's right answer: NaN for floats.
UNWRITTEN = 0xFF
OUT_OF_MEMORY = 2
NOT_READY = 600
# Contexts that run at the same time, and how often each runs, so that they overlap whatever one launch takes.
MOST_TOGETHER = 8
ROUNDS = 3

EXIT_NOT_STARTED, EXIT_LOST, EXIT_PROTOCOL, EXIT_BUG = 2, 3, 4, 70

# Names in frames: (name in tensorrt.DataType, bits of an element).
DTYPES = {
    "float32": ("FLOAT", 32),
    "float16": ("HALF", 16),
    "bfloat16": ("BF16", 16),
    "int64": ("INT64", 64),
    "int32": ("INT32", 32),
    "int8": ("INT8", 8),
    "uint8": ("UINT8", 8),
    "bool": ("BOOL", 8),
    "float8_e4m3": ("FP8", 8),
    "float8_e8m0": ("E8M0", 8),
    "int4": ("INT4", 4),
    "float4_e2m1": ("FP4", 4),
}


class Refusal(Exception):
    """One case cannot be run; the worker goes on."""

    def __init__(self, code, message, tensor=None):
        super().__init__(message)
        self.code = code
        self.tensor = tensor


class Fatal(Exception):
    """The worker cannot go on."""

    def __init__(self, code, message, exit_code=EXIT_NOT_STARTED, tensor=None):
        super().__init__(message)
        self.code = code
        self.exit_code = exit_code
        self.tensor = tensor


class CudaError(Exception):
    def __init__(self, number, call, text):
        super().__init__("%s: CUDA error %d, %s" % (call, number, text))
        self.number = number


def byte_count(dtype, shape):
    elements = 1
    for size in shape:
        elements *= size
    return (elements * DTYPES[dtype][1] + 7) // 8


def describe_shape(shape):
    return "[%s]" % ", ".join(str(size) for size in shape)


# Frames


class Channel:
    """Reads and writes frames; both directions are bounded before anything is allocated."""

    def __init__(self, source, target, largest_payload):
        self.source = source
        self.target = target
        self.largest_payload = largest_payload
        self.buffer = HostBuffer()

    def read(self):
        """The next header and its payload, which holds until the next call; None at the end of the input."""
        prefix = self.source.read(PREFIX.size)
        if not prefix:
            return None
        if len(prefix) < PREFIX.size:
            raise self.broken("it ends inside a frame")
        magic, version, zero, header_bytes, payload_bytes = PREFIX.unpack(prefix)
        if magic != MAGIC or zero != 0:
            raise self.broken("the input is not made of frames")
        if version != PROTOCOL:
            raise self.broken("protocol version %d, expected %d" % (version, PROTOCOL))
        if header_bytes > LONGEST_HEADER:
            raise self.broken("a header of %d bytes; at most %d are allowed" % (header_bytes, LONGEST_HEADER))
        if payload_bytes > self.largest_payload:
            raise self.broken("a payload of %d bytes; at most %d are allowed" % (payload_bytes, self.largest_payload))
        header = self.parse(self.source.read(header_bytes), header_bytes)
        self.buffer.reserve(payload_bytes)
        self.fill(self.buffer.view(payload_bytes))
        return header, payload_bytes

    def parse(self, text, size):
        if len(text) < size:
            raise self.broken("it ends inside a frame")
        try:
            header = json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise self.broken("a header is not JSON (%s)" % error)
        if not isinstance(header, dict):
            raise self.broken("a header is not an object")
        return header

    def fill(self, view):
        at = 0
        while at < len(view):
            count = self.source.readinto(view[at:])
            if not count:
                raise self.broken("it ends inside a frame")
            at += count

    def broken(self, why):
        return Fatal("protocol", "The input cannot be read: %s." % why, EXIT_PROTOCOL)

    def write(self, header, parts=()):
        text = json.dumps(header, separators=(",", ":")).encode("utf-8")
        if len(text) > LONGEST_HEADER:
            raise Refusal("size", "the answer's header has %d bytes; at most %d are allowed" % (len(text), LONGEST_HEADER))
        sizes = sum(len(part) for part in parts)
        pending = [memoryview(PREFIX.pack(MAGIC, PROTOCOL, 0, len(text), sizes) + text)]
        pending.extend(part for part in parts if len(part) > 0)
        while pending:
            written = os.writev(self.target, pending[:512])
            while pending and written >= len(pending[0]):
                written -= len(pending[0])
                pending.pop(0)
            if written > 0:
                pending[0] = pending[0][written:]


class HostBuffer:
    """Host memory with a known address; grows, and is kept from case to case. With `cuda` it is page-locked, as servers have it."""

    def __init__(self, cuda=None):
        self.cuda = cuda
        self.size = 0
        self.reserve(1)

    def reserve(self, size):
        if size <= self.size:
            return
        if self.cuda is not None and self.size > 0:
            self.cuda.unlock_pages(self.address)
        # Locked pages must not be shared with other memory.
        self.data = bytearray(size) if self.cuda is None else mmap.mmap(-1, size)
        self.size = size
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.data))
        if self.cuda is not None:
            self.cuda.lock_pages(self.address, size)

    def view(self, size):
        return memoryview(self.data)[:size]


# CUDA


class Cuda:
    """The part of the CUDA driver that the worker needs."""

    pointer = ctypes.POINTER
    signatures = {
        "cuInit": [ctypes.c_uint],
        "cuDriverGetVersion": [pointer(ctypes.c_int)],
        "cuDeviceGetCount": [pointer(ctypes.c_int)],
        "cuDeviceGet": [pointer(ctypes.c_int), ctypes.c_int],
        "cuDeviceGetName": [ctypes.c_char_p, ctypes.c_int, ctypes.c_int],
        "cuDeviceGetAttribute": [pointer(ctypes.c_int), ctypes.c_int, ctypes.c_int],
        "cuDevicePrimaryCtxRetain": [pointer(ctypes.c_void_p), ctypes.c_int],
        "cuCtxSetCurrent": [ctypes.c_void_p],
        "cuStreamCreate": [pointer(ctypes.c_void_p), ctypes.c_uint],
        "cuStreamSynchronize": [ctypes.c_void_p],
        "cuStreamQuery": [ctypes.c_void_p],
        "cuMemAlloc_v2": [pointer(ctypes.c_uint64), ctypes.c_size_t],
        "cuMemFree_v2": [ctypes.c_uint64],
        "cuMemGetInfo_v2": [pointer(ctypes.c_size_t), pointer(ctypes.c_size_t)],
        "cuMemcpyHtoDAsync_v2": [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p],
        "cuMemcpyDtoHAsync_v2": [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p],
        "cuMemHostRegister_v2": [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint],
        "cuMemHostUnregister": [ctypes.c_void_p],
        "cuMemsetD8Async": [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p],
        "cuStreamBeginCapture_v2": [ctypes.c_void_p, ctypes.c_int],
        "cuStreamEndCapture": [ctypes.c_void_p, pointer(ctypes.c_void_p)],
        "cuGraphInstantiateWithFlags": [pointer(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_ulonglong],
        "cuGraphLaunch": [ctypes.c_void_p, ctypes.c_void_p],
        "cuGraphDestroy": [ctypes.c_void_p],
        "cuGetErrorName": [ctypes.c_int, pointer(ctypes.c_char_p)],
        "cuGetErrorString": [ctypes.c_int, pointer(ctypes.c_char_p)],
    }
    non_blocking = 1
    of_this_thread = 1
    capability_major, capability_minor = 75, 76

    def __init__(self, index):
        library = self.open()
        self.calls = {}
        for name, types in self.signatures.items():
            function = getattr(library, name)
            function.argtypes = types
            function.restype = ctypes.c_int
            self.calls[name] = function
        self.call("cuInit", 0)
        count = self.number("cuDeviceGetCount")
        if not 0 <= index < count:
            raise Fatal("cuda-missing", "There is no CUDA device %d: the driver shows %d." % (index, count))
        self.index = index
        self.device = self.number("cuDeviceGet", index)

    @staticmethod
    def open():
        problems = []
        for name in ("libcuda.so.1", "libcuda.so"):
            try:
                return ctypes.CDLL(name)
            except OSError as error:
                problems.append(str(error))
        raise Fatal("cuda-missing", "The CUDA driver cannot be loaded: %s." % problems[0])

    def call(self, name, *arguments):
        number = self.calls[name](*arguments)
        if number != 0:
            raise CudaError(number, name, self.explain(number))

    def explain(self, number):
        words = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p()
            if self.calls[name](number, ctypes.byref(text)) == 0 and text.value:
                words.append(text.value.decode("utf-8", "replace"))
        return ": ".join(words) or "unknown"

    def number(self, name, *arguments):
        value = ctypes.c_int()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    def describe(self):
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, len(name), self.device)
        major = self.number("cuDeviceGetAttribute", self.capability_major, self.device)
        minor = self.number("cuDeviceGetAttribute", self.capability_minor, self.device)
        version = self.number("cuDriverGetVersion")
        return {
            "index": self.index,
            "name": name.value.decode("utf-8", "replace"),
            "computeCapability": "%d.%d" % (major, minor),
            "driver": "%d.%d" % (version // 1000, version % 1000 // 10),
        }

    def start(self):
        """Makes the device's primary context current: the one that TensorRT's CUDA runtime uses."""
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.enter()
        self.open_stream()

    def enter(self):
        """For the calling thread."""
        self.call("cuCtxSetCurrent", self.context)

    def open_stream(self):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), self.non_blocking)
        self.stream = stream.value

    def fork(self):
        """The same device with a stream of its own."""
        other = copy.copy(self)
        other.open_stream()
        return other

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), size)
        return address.value

    def free(self, address):
        self.call("cuMemFree_v2", address)

    def bytes_free(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def lock_pages(self, address, size):
        """Copies from other pages pass through the driver's own memory: slower and unsteady. Where locking is refused, they still do."""
        self.calls["cuMemHostRegister_v2"](address, size, 0)

    def unlock_pages(self, address):
        self.calls["cuMemHostUnregister"](address)

    def to_device(self, target, source, size):
        self.call("cuMemcpyHtoDAsync_v2", target, source, size, self.stream)

    def to_host(self, target, source, size):
        self.call("cuMemcpyDtoHAsync_v2", target, source, size, self.stream)

    def fill(self, target, size):
        self.call("cuMemsetD8Async", target, UNWRITTEN, size, self.stream)

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def begin_capture(self):
        self.call("cuStreamBeginCapture_v2", self.stream, self.of_this_thread)

    def end_capture(self):
        """A graph to launch; None if something that was called cannot be in one."""
        graph, launched = ctypes.c_void_p(), ctypes.c_void_p()
        if self.calls["cuStreamEndCapture"](self.stream, ctypes.byref(graph)) != 0 or not graph:
            return None
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(launched), graph, 0)
        self.call("cuGraphDestroy", graph)
        return launched

    def launch(self, graph):
        self.call("cuGraphLaunch", graph, self.stream)

    def is_done(self):
        number = self.calls["cuStreamQuery"](self.stream)
        if number not in (0, NOT_READY):
            raise CudaError(number, "cuStreamQuery", self.explain(number))
        return number == 0


class DeviceBuffer:
    """Device memory of one tensor; grows, and is kept from case to case. Never null: TensorRT refuses that for empty tensors too."""

    def __init__(self, cuda, name):
        self.cuda = cuda
        self.name = name
        self.address = 0
        self.size = 0

    def reserve(self, size):
        wanted = max(size, 256)
        if wanted <= self.size:
            return self.address
        self.release()
        try:
            self.address = self.cuda.allocate(wanted)
        except CudaError as error:
            if error.number != OUT_OF_MEMORY:
                raise
            raise Refusal("memory", "%d bytes of GPU memory for %s could not be had" % (wanted, self.name), self.name)
        self.size = wanted
        return self.address

    def release(self):
        if self.address:
            self.cuda.free(self.address)
            self.address = self.size = 0


# TensorRT


def import_tensorrt():
    """The installed module, which has the name of this file."""
    # Python follows a link to this file, and names its folder by whichever way led there.
    here = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or ".") != here]
    try:
        import tensorrt
    except Exception as error:
        raise Fatal("tensorrt-missing", "Python %s has no TensorRT: %s." % (platform.python_version(), error))
    if not hasattr(tensorrt, "ICudaEngine") or not hasattr(tensorrt.ICudaEngine, "num_io_tensors"):
        version = getattr(tensorrt, "__version__", "of unknown version")
        raise Fatal("tensorrt-missing", "TensorRT %s is too old: 8.6 or newer is needed." % version)
    return tensorrt


def make_logger(trt):
    class Logger(trt.ILogger):
        """Says on standard error what TensorRT says, and keeps the last errors for the frame that reports them."""

        def __init__(self):
            trt.ILogger.__init__(self)
            self.errors = collections.deque(maxlen=8)

        def log(self, severity, message):
            if severity == trt.ILogger.VERBOSE:
                return
            letter = str(severity).rsplit(".", 1)[-1][:1]
            if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
                self.errors.append(message)
            sys.stderr.write("[%s] %s\n" % (letter, message))
            sys.stderr.flush()

        def take(self):
            text = " | ".join(self.errors)
            self.errors.clear()
            return text or "TensorRT gave no reason"

    return Logger()


def make_allocator(trt, buffer):
    class Allocator(trt.IOutputAllocator):
        """Memory for an output whose shape only the data decides."""

        def __init__(self):
            trt.IOutputAllocator.__init__(self)
            self.shape = None
            self.problem = None

        def reallocate_output(self, tensor_name, memory, size, alignment):
            try:
                return buffer.reserve(size)
            except Exception as error:
                self.problem = error
                return 0

        def reallocate_output_async(self, tensor_name, memory, size, alignment, stream):
            return self.reallocate_output(tensor_name, memory, size, alignment)

        def notify_shape(self, tensor_name, shape):
            self.shape = tuple(shape)

    return Allocator()


def make_counter(trt, cuda):
    class Counter(trt.IGpuAllocator):
        """GPU memory for TensorRT, counted; TensorRT calls it from any thread."""

        def __init__(self):
            trt.IGpuAllocator.__init__(self)
            self.blocks = {}

        def allocate(self, size, alignment, flags):
            if size == 0:
                return 0
            try:
                cuda.enter()
                address = cuda.allocate(size)
            except CudaError as error:
                sys.stderr.write("[E] %s\n" % error)
                return 0
            self.blocks[address] = size
            return address

        def reallocate(self, address, alignment, new_size):
            return 0

        def deallocate(self, memory):
            if memory:
                del self.blocks[memory]
                cuda.enter()
                cuda.free(memory)
            return True

    return Counter()


def dtype_name(trt, tensor, dtype):
    for name, (member, _) in DTYPES.items():
        if getattr(trt.DataType, member, None) == dtype:
            return name
    raise Fatal("format", "%s has the type %s, which this worker does not know." % (tensor, dtype), tensor=tensor)


def load_plugins(trt, logger, owner, libraries):
    """Into the registry of a runtime or a builder."""
    try:
        trt.init_libnvinfer_plugins(logger, "")
    except Exception as error:
        sys.stderr.write("[W] TensorRT's own plugins were not loaded: %s\n" % error)
    for path in libraries:
        try:
            library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            # Without these symbols a library registers its plugins by being loaded.
            if hasattr(library, "getCreators") or hasattr(library, "getPluginCreators"):
                owner.get_plugin_registry().load_library(path)
        except Exception as error:
            raise Fatal("plugin", "The plugin library %s cannot be loaded: %s." % (path, error))


class Port:
    """One input or output of the engine."""

    def __init__(self, trt, engine, name):
        self.name = name
        self.is_input = engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT
        self.dtype = dtype_name(trt, name, engine.get_tensor_dtype(name))
        self.shape = tuple(engine.get_tensor_shape(name))
        self.host = engine.get_tensor_location(name) == trt.TensorLocation.HOST
        for profile in range(engine.num_optimization_profiles):
            form = engine.get_tensor_format(name, profile)
            if form != trt.TensorFormat.LINEAR:
                word = str(form).rsplit(".", 1)[-1]
                raise Fatal("format", "%s has the memory format %s; only LINEAR can be fed and read." % (name, word), tensor=name)
        self.ranges = []
        self.device_buffer = None
        self.host_buffer = None
        self.allocator = None
        # The input in whose memory this output comes to lie, as caches do since 10.16.
        self.alias = None
        if not self.is_input and hasattr(engine, "get_aliased_input_tensor"):
            self.alias = engine.get_aliased_input_tensor(name)
        # An output's shape in the case at hand; None while only the data decides it.
        self.now = None

    def read_ranges(self, engine):
        """For each optimization profile, the least and greatest shape, and of a shape tensor the least and greatest values."""
        for profile in range(engine.num_optimization_profiles):
            shapes = [tuple(shape) for shape in engine.get_tensor_profile_shape(self.name, profile)]
            values = profile_values(engine, self.name, profile) if self.host else []
            self.ranges.append((shapes, [tuple(value) for value in values]))

    def holds(self, profile, shape, values):
        shapes, limits = self.ranges[profile]
        fits = len(shapes) < 3 or within(shapes[0], shape, shapes[2])
        return fits and (len(limits) < 3 or values is None or within(limits[0], values, limits[2]))

    def describe(self):
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.shape), "host": self.host}


def profile_values(engine, name, profile):
    """Takes these two in the order that TensorRT does not document, and raises where there are no values; 8.6 does not have it."""
    if not hasattr(engine, "get_tensor_profile_values"):
        return []
    try:
        return engine.get_tensor_profile_values(profile, name)
    except TypeError:
        return engine.get_tensor_profile_values(name, profile)
    except RuntimeError:
        return []


def within(low, value, high):
    return len(low) == len(value) and all(a <= b <= c for a, b, c in zip(low, value, high))


class Feed:
    """One input of a case: its shape and where its bytes lie in the frame's payload."""

    __slots__ = ("shape", "at", "size")

    def __init__(self, shape, at, size):
        self.shape = shape
        self.at = at
        self.size = size


class Laps:
    """Milliseconds of parts that follow on each other."""

    def __init__(self):
        self.parts = {}
        self.at = time.perf_counter()

    def end(self, part):
        now = time.perf_counter()
        self.parts[part] = (now - self.at) * 1e3
        self.at = now


def drop_cached(file):
    """Whether the file is no longer in the page cache: some file systems keep it."""
    try:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return True
    except (OSError, AttributeError):
        pass
    return False


class Engine:
    """A loaded plan with one execution context."""

    def __init__(self, trt, cuda, options):
        self.trt = trt
        self.cuda = cuda
        self.logger = make_logger(trt)
        self.largest_payload = options.max_payload_bytes
        self.options = options
        self.kept = []
        self.cold = False
        self.counter = None
        self.bytes_before = cuda.bytes_free() if options.mode == "soak" else 0
        self.runtime = trt.Runtime(self.logger)
        if options.mode == "soak" and hasattr(trt, "IGpuAllocator"):
            self.runtime.gpu_allocator = self.counter = make_counter(trt, cuda)
        self.laps = Laps()
        load_plugins(trt, self.logger, self.runtime, options.plugin)
        self.laps.end("plugins")
        self.load()

    def load(self):
        self.engine = self.load_plan(self.options.engine)
        if self.options.stripped:
            self.refit("model")
        self.laps.end("deserialize")
        self.lanes = [self]
        self.graphs = {}
        self.open_lane()
        self.laps.end("context")

    def reload(self):
        """Frees what the plan took before it is loaded again."""
        for port in list(self.inputs.values()) + self.outputs:
            port.device_buffer.release()
        self.inputs, self.outputs = {}, []
        self.context = None
        self.engine = None
        self.load()

    def step(self, feeds, payload):
        """One inference, whose outputs nobody reads."""
        self.prepare(feeds, payload)
        self.fill(feeds, payload)
        self.execute()
        self.cuda.wait()
        self.raise_allocation()

    def memory(self):
        """A sample of soaking."""
        with open("/proc/self/statm", "rb") as file:
            resident = int(file.read().split()[1]) * mmap.PAGESIZE
        sample = [self.bytes_before - self.cuda.bytes_free(), resident]
        if self.counter is None:
            return sample
        buffers = {port.device_buffer for port in list(self.inputs.values()) + self.outputs}
        own = sum(buffer.size for buffer in buffers)
        return sample + [sum(self.counter.blocks.values()) + own, len(self.counter.blocks)]

    def open_lane(self):
        """What one inference at a time needs of its own: a context, and memory for inputs and outputs."""
        trt, cuda = self.trt, self.cuda
        names = [self.engine.get_tensor_name(index) for index in range(self.engine.num_io_tensors)]
        ports = [Port(trt, self.engine, name) for name in names]
        self.inputs = {port.name: port for port in ports if port.is_input}
        self.outputs = [port for port in ports if not port.is_input]
        for port in ports:
            port.device_buffer = DeviceBuffer(cuda, port.name)
            port.host_buffer = HostBuffer(self.pinning())
        for port in self.outputs:
            if port.alias in self.inputs:
                port.device_buffer = self.inputs[port.alias].device_buffer
        for port in self.inputs.values():
            port.read_ranges(self.engine)
        self.context = self.engine.create_execution_context()
        if self.context is None:
            raise Fatal("memory", "TensorRT made no execution context: %s." % self.logger.take())
        self.profile = 0
        self.prepared = None

    def pinning(self):
        return self.cuda if self.options.mode == "load" else None

    def open_lanes(self, count):
        while len(self.lanes) < count:
            self.lanes.append(self.add_lane(self.cuda.fork()))
        return self.lanes[:count]

    def add_lane(self, cuda):
        lane = copy.copy(self)
        lane.cuda, lane.lanes = cuda, [lane]
        lane.open_lane()
        return lane

    def refit(self, weights):
        trt = self.trt
        if not hasattr(trt, "OnnxParserRefitter"):
            raise Refusal("refit-missing", "TensorRT %s has no refitter for ONNX files" % trt.__version__)
        self.logger.errors.clear()
        try:
            refitter = trt.Refitter(self.engine, self.logger)
            if weights == "zeros":
                done = self.refit_zeros(refitter)
            else:
                done = trt.OnnxParserRefitter(refitter, self.logger).refit_from_file(self.options.onnx or "")
            done = done and refitter.refit_cuda_engine()
        except (RuntimeError, TypeError) as error:
            raise Refusal("refit", "%s: %s" % (error, self.logger.take()))
        if not done:
            raise Refusal("refit", self.logger.take())

    def refit_zeros(self, refitter):
        kept = []
        for name in refitter.get_all_weights():
            prototype = refitter.get_weights_prototype(name)
            memory = HostBuffer()
            memory.reserve(max(1, prototype.nbytes))
            kept.append(memory)
            if not refitter.set_named_weights(name, self.trt.Weights(prototype.dtype, memory.address, prototype.size)):
                return False
        self.zeros = kept
        return True

    def load_plan(self, path):
        if hasattr(self.runtime, "engine_host_code_allowed"):
            # Version-compatible plans and plans with plugins inside carry host code; the plan is our own build.
            self.runtime.engine_host_code_allowed = True
        try:
            with open(path, "rb") as file:
                if os.fstat(file.fileno()).st_size < len(PLAN_MAGIC):
                    raise Fatal("plan", "The engine file %s is empty." % path)
                if self.options.mode in ("warm", "cold"):
                    self.cold = self.options.mode == "cold" and drop_cached(file)
                    self.laps.at = time.perf_counter()
                    while file.read(1 << 20):
                        pass
                    self.laps.end("read")
                plan = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise Fatal("plan", "The engine file %s cannot be read: %s." % (path, error.strerror))
        if plan[: len(PLAN_MAGIC)] != PLAN_MAGIC:
            raise Fatal("plan", "The file %s is not a TensorRT plan." % path)
        self.logger.errors.clear()
        engine = self.runtime.deserialize_cuda_engine(plan)
        if engine is None:
            version = ".".join(str(part) for part in plan[24:28])
            raise Fatal(
                "plan",
                "TensorRT %s does not load %s, a plan of version %s: %s." % (self.trt.__version__, path, version, self.logger.take()),
            )
        return engine

    def describe(self):
        return {
            "profiles": self.engine.num_optimization_profiles,
            "inputs": [port.describe() for port in self.inputs.values()],
            "outputs": [port.describe() for port in self.outputs],
        }

    def run(self, feeds, payload, count, carried=()):
        """Answers one case: the profile, the header's tensors and their bytes, which hold until the next call; without
        the outputs that a sequence carries to its next step."""
        lanes = self.open_lanes(count)
        self.logger.errors.clear()
        try:
            for lane in lanes:
                lane.prepare(feeds, payload)
            for lane in lanes:
                lane.fill(feeds, payload)
            for _ in range(1 if len(lanes) == 1 else ROUNDS):
                for lane in lanes:
                    lane.execute()
            return [lane.collect(carried) for lane in lanes]
        except RuntimeError as error:
            # What TensorRT's Python raises where C++ returns false.
            self.forget(lanes)
            raise Refusal("execution", "TensorRT raised an error (%s): %s" % (error, self.logger.take()))
        except BaseException:
            self.forget(lanes)
            raise

    @staticmethod
    def forget(lanes):
        for lane in lanes:
            lane.prepared = None

    def prepare(self, feeds, payload):
        """Tells TensorRT shapes and addresses; the same shapes twice need that only once."""
        values = {name: self.read_values(name, feeds[name], payload) for name, port in self.inputs.items() if port.host}
        key = (tuple(feeds[name].shape for name in self.inputs), tuple(values.items()))
        if key == self.prepared:
            return
        self.choose_profile(feeds, values)
        for name, port in self.inputs.items():
            self.bind_input(port, feeds[name], payload)
        self.check_shapes()
        unknown = list(self.context.infer_shapes())
        if unknown:
            raise Refusal("shape", "the inputs leave shapes open (%s): %s" % (", ".join(unknown), self.logger.take()), unknown[0])
        for port in self.outputs:
            self.bind_output(port)
        self.prepared = key

    def check_shapes(self):
        """infer_shapes() of TensorRT 10.6 crashes where the shapes contradict the network; this logs an error first."""
        for port in self.outputs:
            try:
                tuple(self.context.get_tensor_shape(port.name))
                is_known = not self.logger.errors
            except ValueError:
                # Its rank is -1.
                is_known = False
            if not is_known:
                raise Refusal("shape", "the network takes no inputs of these shapes together: %s" % self.logger.take())

    def read_values(self, name, feed, payload):
        letter = {"int32": "i", "int64": "q"}.get(self.inputs[name].dtype)
        view = payload.view(feed.at + feed.size)[feed.at :]
        return tuple(view.cast(letter)) if letter else bytes(view)

    def choose_profile(self, feeds, values):
        profiles = range(self.engine.num_optimization_profiles)
        for profile in profiles:
            if all(port.holds(profile, feeds[name].shape, values.get(name)) for name, port in self.inputs.items()):
                break
        else:
            raise self.outside(feeds, values, profiles)
        if profile != self.profile:
            if not self.context.set_optimization_profile_async(profile, self.cuda.stream):
                raise Refusal("shape", "optimization profile %d could not be chosen: %s" % (profile, self.logger.take()))
            self.cuda.wait()
            self.profile = profile

    def outside(self, feeds, values, profiles):
        for name, port in self.inputs.items():
            shape, value = feeds[name].shape, values.get(name)
            if not any(port.holds(profile, shape, None) for profile in profiles):
                return self.refuse_range(port, "the shape " + describe_shape(shape), [shapes for shapes, _ in port.ranges])
            if not any(port.holds(profile, shape, value) for profile in profiles):
                return self.refuse_range(port, "the values " + describe_shape(value), [limits for _, limits in port.ranges])
        return Refusal("shape", "no optimization profile holds the shapes of all inputs together")

    def refuse_range(self, port, what, ranges):
        held = ["%s to %s" % (describe_shape(each[0]), describe_shape(each[2])) for each in ranges if len(each) == 3]
        return Refusal("shape", "input %s has %s, the engine's profiles hold %s" % (port.name, what, " or ".join(held)), port.name)

    def bind_input(self, port, feed, payload):
        if not self.context.set_input_shape(port.name, feed.shape):
            raise Refusal("shape", "input %s takes no shape %s: %s" % (port.name, describe_shape(feed.shape), self.logger.take()), port.name)
        if port.host:
            # Read whenever TensorRT likes, so not from the frame's buffer.
            port.host_buffer.reserve(feed.size)
            port.host_buffer.view(feed.size)[:] = payload.view(feed.at + feed.size)[feed.at :]
            address = port.host_buffer.address
        else:
            address = port.device_buffer.reserve(feed.size)
        self.set_address(port, address)

    def bind_output(self, port):
        shape = tuple(self.context.get_tensor_shape(port.name))
        open_shape = any(size < 0 for size in shape)
        port.now = None if open_shape else shape
        if port.host:
            size = self.context.get_max_output_size(port.name) if open_shape else byte_count(port.dtype, shape)
            port.host_buffer.reserve(size)
            self.set_address(port, port.host_buffer.address)
        elif open_shape:
            if port.allocator is None:
                port.allocator = make_allocator(self.trt, port.device_buffer)
            if not self.context.set_output_allocator(port.name, port.allocator):
                raise Refusal("execution", "output %s took no allocator: %s" % (port.name, self.logger.take()), port.name)
        else:
            size = byte_count(port.dtype, shape)
            self.check_size(size, port.name)
            if port.alias is not None and size > port.device_buffer.size:
                raise Refusal("execution", "output %s is larger than input %s, in whose memory it lies" % (port.name, port.alias), port.name)
            self.set_address(port, port.device_buffer.reserve(size))

    def set_address(self, port, address):
        if self.context.set_tensor_address(port.name, address) is False:
            raise Refusal("execution", "%s took no address: %s" % (port.name, self.logger.take()), port.name)

    def check_size(self, size, name):
        if size > self.largest_payload:
            raise Refusal("size", "output %s has %d bytes, an answer may have %d" % (name, size, self.largest_payload), name)

    def copy_in(self, feeds, payload):
        for name, port in self.inputs.items():
            feed = feeds[name]
            if feed.size > 0 and not port.host:
                self.cuda.to_device(port.device_buffer.address, payload.address + feed.at, feed.size)

    def fill(self, feeds, payload):
        self.copy_in(feeds, payload)
        for port in self.outputs:
            self.clear(port)

    def execute(self):
        if not self.context.execute_async_v3(self.cuda.stream):
            reason = self.logger.take()
            self.cuda.wait()
            self.raise_allocation()
            raise Refusal("execution", "TensorRT did not run the case: %s" % reason)

    def clear(self, port):
        if port.alias is not None:
            return
        if port.allocator is not None and port.now is None:
            port.allocator.shape = port.allocator.problem = None
            if port.device_buffer.size > 0:
                self.cuda.fill(port.device_buffer.address, port.device_buffer.size)
        elif port.host:
            ctypes.memset(port.host_buffer.address, UNWRITTEN, port.host_buffer.size)
        else:
            size = byte_count(port.dtype, port.now)
            if size > 0:
                self.cuda.fill(port.device_buffer.address, size)

    def raise_allocation(self):
        for port in self.outputs:
            if port.allocator is not None and port.allocator.problem is not None:
                raise port.allocator.problem

    def hand_over(self, name, output):
        """An output's memory becomes that of the input that it feeds in the next step, and the other way round."""
        target = self.inputs.get(name)
        source = next((port for port in self.outputs if port.name == output), None)
        if target is None or source is None:
            raise Refusal("input", "the engine has no input %s that output %s could feed" % (name, output), name)
        if target.dtype != source.dtype or target.host or source.host or source.now is None:
            raise Refusal("input", "output %s cannot feed input %s: another type, on the host, or of a shape that the data decides" % (output, name), name)
        if source.alias is None:
            target.device_buffer, source.device_buffer = source.device_buffer, target.device_buffer
        elif source.alias != name:
            raise Refusal("input", "output %s lies in the memory of %s, not of %s" % (output, source.alias, name), name)
        self.prepared = None
        # Nothing to copy: it is there already.
        return Feed(source.now, 0, 0)

    def collect(self, carried=()):
        if any(port.now is None for port in self.outputs):
            self.cuda.wait()
            self.raise_allocation()
        tensors, parts, total = [], [], 0
        for port in self.outputs:
            if port.name in carried:
                continue
            shape = self.final_shape(port)
            size = byte_count(port.dtype, shape)
            total += size
            self.check_size(total, port.name)
            self.copy_out(port, size)
            tensors.append({"name": port.name, "dtype": port.dtype, "shape": list(shape), "bytes": size})
            parts.append(port.host_buffer.view(size))
        self.cuda.wait()
        return self.profile, tensors, parts

    def copy_out(self, port, size):
        if port.host:
            return
        port.host_buffer.reserve(size)
        if size > 0:
            self.cuda.to_host(port.host_buffer.address, port.device_buffer.address, size)

    def capture(self, feeds, payload):
        """An inference with its copies as a CUDA graph. TensorRT wants a run of these shapes before."""
        self.run(feeds, payload, 1)
        # Where the data decides, the host has to wait for the size before it copies.
        done = all(port.now is not None for port in self.outputs)
        self.cuda.begin_capture()
        try:
            self.copy_in(feeds, payload)
            done = done and self.context.execute_async_v3(self.cuda.stream)
            for port in self.outputs if done else ():
                self.copy_out(port, byte_count(port.dtype, port.now))
        except RuntimeError:
            # What TensorRT's Python raises where C++ returns false.
            done = False
        graph = self.cuda.end_capture()
        if not done or graph is None:
            raise Refusal("execution", "this engine cannot run as a CUDA graph, set measure.cuda-graph to false: %s" % self.logger.take())
        return graph

    def final_shape(self, port):
        if port.now is not None:
            return port.now
        shape = port.allocator.shape if port.allocator is not None else tuple(self.context.get_tensor_shape(port.name))
        if shape is None or any(size < 0 for size in shape):
            raise Refusal("execution", "TensorRT did not say what shape output %s has" % port.name, port.name)
        if byte_count(port.dtype, shape) > (port.host_buffer.size if port.host else port.device_buffer.size):
            raise Refusal("execution", "output %s reports the shape %s, for which no memory was requested" % (port.name, describe_shape(shape)), port.name)
        return shape


# Cases


def read_case(header, payload_bytes, inputs):
    """The inputs of a case by name. Refuses whatever the engine would not refuse itself."""
    entries = header.get("tensors")
    if not isinstance(entries, list) or len(entries) > MOST_TENSORS:
        raise Refusal("protocol", "the case has no list of at most %d tensors" % MOST_TENSORS)
    feeds, at = {}, 0
    for entry in entries:
        name, dtype, shape, size = read_entry(entry)
        if name not in inputs:
            raise Refusal("input", "the engine has no input %s; it has %s" % (name, ", ".join(inputs) or "none"), name)
        if name in feeds:
            raise Refusal("input", "input %s is given twice" % name, name)
        if dtype != inputs[name].dtype:
            raise Refusal("input", "input %s is %s, the engine takes %s" % (name, dtype, inputs[name].dtype), name)
        if size != byte_count(dtype, shape):
            text = "input %s has %d bytes, its shape %s of %s has %d"
            raise Refusal("input", text % (name, size, describe_shape(shape), dtype, byte_count(dtype, shape)), name)
        feeds[name] = Feed(shape, at, size)
        at += size
    if at != payload_bytes:
        raise Refusal("protocol", "the payload has %d bytes, its tensors %d" % (payload_bytes, at))
    for name in inputs:
        if name not in feeds:
            raise Refusal("input", "input %s is missing" % name, name)
    return feeds


# Sequences


def run_sequence(engine, plan, feeds, payload):
    """A case in steps; their outputs, put together."""
    state = {name: one["output"] for name, one in plan["state"].items()}
    each, grown, axes = plan["each"], plan.get("all", {}), plan.get("outputs", {})
    memory, steps, total, carried = HostBuffer(), [], 0, {}
    profile = None
    for start, end in plan["spans"]:
        step, pieces = {}, []
        for name, feed in feeds.items():
            if name in carried:
                step[name] = carried[name]
                continue
            view = payload.view(feed.at + feed.size)[feed.at :]
            if name in each:
                view, shape = cut(view, feed.shape, each[name], start, end)
            elif name in grown:
                view, shape = cut(view, feed.shape, grown[name], 0, end)
            else:
                shape = feed.shape
            step[name] = Feed(shape, sum(len(piece) for piece in pieces), len(view))
            pieces.append(view)
        data = b"".join(pieces)
        memory.reserve(max(1, len(data)))
        memory.view(len(data))[:] = data
        used, tensors, parts = engine.run(step, memory, 1, state.values())[0]
        profile = used if profile is None else profile
        steps.append([last_of(tensor, part, axes.get(tensor["name"])) for tensor, part in zip(tensors, parts)])
        total += sum(len(data) for _, _, data in steps[-1])
        engine.check_size(total, "a sequence")
        carried = {name: engine.hand_over(name, output) for name, output in state.items()}
    joined = [join(parts, axes.get(parts[0][0]["name"], 0)) for parts in zip(*steps)]
    return profile, [tensor for tensor, _ in joined], [data for _, data in joined]


def cut(view, shape, axis, start, end):
    """Places start to end along an axis."""
    rows = 1
    for size in shape[:axis]:
        rows *= size
    whole = len(view) // max(1, rows)
    inner = whole // max(1, shape[axis])
    parts = [view[row * whole + start * inner : row * whole + end * inner] for row in range(rows)]
    return b"".join(parts), shape[:axis] + (end - start,) + shape[axis + 1 :]


def last_of(tensor, part, axis):
    """A copy, because the next step overwrites it."""
    shape = tuple(tensor["shape"])
    if axis is None:
        return tensor, shape or (1,), bytes(part)
    data, shape = cut(part, shape, axis, max(0, shape[axis] - 1), shape[axis])
    return tensor, shape, data


def join(steps, axis):
    tensor, first, _ = steps[0]
    beside = {shape[:axis] + shape[axis + 1 :] for _, shape, _ in steps}
    if len(beside) > 1:
        raise Refusal("execution", "output %s has another shape in each step" % tensor["name"], tensor["name"])
    shape = first[:axis] + (sum(shape[axis] for _, shape, _ in steps),) + first[axis + 1 :]
    rows = 1
    for size in first[:axis]:
        rows *= size
    sizes = [len(data) // max(1, rows) for _, _, data in steps]
    data = b"".join(data[row * size : (row + 1) * size] for row in range(rows) for size, (_, _, data) in zip(sizes, steps))
    return dict(tensor, shape=list(shape), bytes=len(data)), data


def time_runs(engine, runs, feeds, payload):
    laps = Laps()
    for run in range(1 + runs):
        engine.step(feeds, payload)
        laps.end(run)
    first, *later = laps.parts.values()
    return {"parts": dict(engine.laps.parts, first=first), "runs": later, "cold": engine.cold}


def keep_case(engine, feeds, payload, size):
    """A copy, which soaking repeats."""
    memory = HostBuffer(engine.pinning())
    memory.reserve(max(1, size))
    memory.view(size)[:] = payload.view(size)
    engine.kept.append((feeds, memory))


def soak(engine, header):
    """Repeats the kept cases, and looks at the memory now and then."""
    phase, steps, samples, budget = header["phase"], header["steps"], header["samples"], header["budgetMs"] / 1e3
    cases = engine.kept if phase == "shape-changes" else engine.kept[:1]
    if not cases:
        raise Refusal("execution", "none of the sizes to repeat ran")

    def cycle():
        if phase == "reloads":
            engine.reload()
        for feeds, payload in cases:
            engine.step(feeds, payload)

    began, done = time.perf_counter(), 0
    while done < 2 or (done * len(cases) < steps // 8 and time.perf_counter() - began < budget / 4):
        cycle()
        done += 1
    each = (time.perf_counter() - began) / done
    cycles = max(1, min(steps // (samples * len(cases)), int(budget / (samples * each))))
    found, began = [], time.perf_counter()
    # Less than twice the budget, if twelve samples fit into it.
    while len(found) < samples and (len(found) < 12 or time.perf_counter() - began < 2 * budget):
        for _ in range(cycles):
            cycle()
        found.append(engine.memory())
    return {"phase": phase, "steps": cycles * len(cases), "shapes": len(cases), "samples": found}


# Load


# By how much a sleep may end late; so long before its end, a loop watches the clock.
SLEEP_ENDS_LATE = 2e-3
# Between reading a schedule and its first arrival.
AHEAD = 1e-3


def wait_until(moment):
    left = moment - time.perf_counter()
    if left > SLEEP_ENDS_LATE:
        time.sleep(left - SLEEP_ENDS_LATE)
    while time.perf_counter() < moment:
        pass


def serve_arrivals(arrivals, most, delay, serve):
    """In seconds. However long a batch takes, requests are due when they arrive, and wait without limit."""
    batches, count = [], len(arrivals)
    begin = time.perf_counter() + AHEAD
    first, free = 0, begin
    while first < count:
        oldest = begin + arrivals[first]
        full = begin + arrivals[first + most - 1] if first + most <= count else math.inf
        due = max(free, oldest, min(full, oldest + delay))
        wait_until(due)
        started = time.perf_counter()
        end = first + 1
        while end < min(count, first + most) and begin + arrivals[end] <= started:
            end += 1
        serve(end - first)
        free = time.perf_counter()
        batches.append((first, end, free - begin, started - due))
        first = end
    latencies, lateness = array.array("d"), array.array("d")
    for first, end, ended, late in batches:
        latencies.extend(ended - arrivals[each] for each in range(first, end))
        lateness.extend([late] * (end - first))
    return latencies, lateness


def first_items(engine, batched, size):
    """The feeds of a smaller batch than the kept one: with the batch first, its items are the first bytes of a tensor."""
    feeds = dict(engine.kept[-1][0])
    for name in batched:
        shape = (size,) + feeds[name].shape[1:]
        feeds[name] = Feed(shape, feeds[name].at, byte_count(engine.inputs[name].dtype, shape))
    return feeds


def make_server(engine, batched, least):
    payload, sizes = engine.kept[-1][1], {}

    def serve(count):
        size = max(least, count)
        if size not in sizes:
            sizes[size] = first_items(engine, batched, size)
        engine.prepare(sizes[size], payload)
        engine.fill(sizes[size], payload)
        engine.execute()
        engine.collect()

    return serve


def make_graph_server(engine, batched, least, most):
    """One launch a batch: the host has little to do, so that its unsteadiness does not sway the engine's time. Each size
    has a graph of a context of its own, because TensorRT ties a graph to the shapes that its context had."""
    payload = engine.kept[-1][1]
    for size in range(least, max(least, most) + 1):
        if size not in engine.graphs:
            lane = lane_of_size(engine) if batched else engine
            # A graph needs its context as long as it runs.
            engine.graphs[size] = lane, lane.capture(first_items(engine, batched, size), payload)

    def serve(count):
        _, graph = engine.graphs[max(least, count)]
        engine.cuda.launch(graph)
        engine.cuda.wait()

    return serve


def lane_of_size(engine):
    """On the engine's stream: one of them runs at a time."""
    try:
        return engine.add_lane(engine.cuda)
    except Fatal as error:
        raise Refusal("memory", "each size of batch has a context, and %s Lower measure.load.max-batch." % error)


def run_load(engine, header, payload):
    arrivals = array.array("d", bytes(payload))
    if not engine.kept:
        raise Refusal("execution", "the inputs to serve did not run")
    batched, least, most = header["batched"], header["minBatch"], header["maxBatch"]
    # TensorRT 8 gives an optimization profile to one context only.
    is_eight = not hasattr(engine.trt, "ExecutionContextAllocationStrategy")
    as_graphs = header["graph"] and not (batched and is_eight)
    serve = make_graph_server(engine, batched, least, most) if as_graphs else make_server(engine, batched, least)
    gc.disable()
    try:
        seconds = array.array("d", (ms / 1e3 for ms in arrivals))
        found = serve_arrivals(seconds, most, header["maxDelayMs"] / 1e3, serve)
    finally:
        gc.enable()
    parts = [memoryview(array.array("d", (1e3 * value for value in values))).cast("B") for values in found]
    return {"requests": len(arrivals)}, parts


def run_at_once(engines, budget):
    """Each engine starts its next inference when one ends, until the time is up."""
    end = time.perf_counter() + budget
    times, began = [array.array("d") for _ in engines], [0.0] * len(engines)

    def launch(index):
        began[index] = time.perf_counter()
        engines[index].execute()

    running = list(range(len(engines)))
    for index in running:
        launch(index)
    while running:
        for index in list(running):
            if not engines[index].cuda.is_done():
                continue
            now = time.perf_counter()
            times[index].append(1e3 * (now - began[index]))
            if now < end:
                launch(index)
            else:
                running.remove(index)
    return times


def run_together(engine, header):
    engines, budget = [engine, engine.beside], header["budgetMs"] / 1e3
    if engine.beside is None or not all(each.kept for each in engines):
        raise Refusal("execution", "the inputs of both engines did not run")
    for each in engines:
        each.step(*each.kept[-1])
    alone = [run_at_once([each], budget)[0] for each in engines]
    both = run_at_once(engines, budget)
    found = [alone[0], both[0], alone[1], both[1]]
    return {"counts": [len(times) for times in found]}, [memoryview(times).cast("B") for times in found]


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def read_entry(entry):
    if not isinstance(entry, dict):
        raise Refusal("protocol", "a tensor is not an object")
    name, dtype, shape, size = (entry.get(key) for key in ("name", "dtype", "shape", "bytes"))
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise Refusal("protocol", "a tensor has no name")
    if dtype not in DTYPES:
        raise Refusal("input", "input %s has an unknown type" % name, name)
    if not isinstance(shape, list) or len(shape) > HIGHEST_RANK or not all(is_count(value) for value in shape):
        raise Refusal("input", "input %s has no shape" % name, name)
    if not is_count(size):
        raise Refusal("input", "input %s has no length" % name, name)
    return name, dtype, tuple(shape), size


def read_ids(header):
    beside = header.get("beside", [])
    names = [header.get("id")] + (beside if isinstance(beside, list) else [None])
    if not all(isinstance(name, str) and len(name) <= LONGEST_NAME for name in names):
        raise Fatal("protocol", "The input cannot be read: a case has no id.", EXIT_PROTOCOL)
    if len(names) > MOST_TOGETHER:
        raise Fatal("protocol", "The input cannot be read: more than %d cases at once." % MOST_TOGETHER, EXIT_PROTOCOL)
    return names


def error_frame(error, code, name=None, fatal=False):
    """Cut, so that it always fits into a header."""
    tensor = getattr(error, "tensor", None)
    return {"kind": "error", "id": name, "tensor": tensor, "code": code, "message": str(error)[:16384], "fatal": fatal}


def answer(channel, engine, header, payload_bytes):
    names = read_ids(header)
    try:
        kind = header.get("kind")
        if kind == "soak":
            channel.write(dict(soak(engine, header), kind="figures", id=names[0]))
            return True
        if kind == "load":
            figures, parts = run_load(engine, header, channel.buffer.view(payload_bytes))
            channel.write(dict(figures, kind="figures", id=names[0]), parts)
            return True
        if kind == "together":
            figures, parts = run_together(engine, header)
            channel.write(dict(figures, kind="figures", id=names[0]), parts)
            return True
        if header.get("ofBeside"):
            engine = engine.beside
        if kind == "refit":
            engine.refit(header.get("weights"))
            results = [(0, [], [])]
        else:
            feeds = read_case(header, payload_bytes, engine.inputs)
            if kind == "start-up":
                figures = time_runs(engine, header["runs"], feeds, channel.buffer)
                channel.write(dict(figures, kind="figures", id=names[0]))
                return True
            if kind == "sequence":
                results = [run_sequence(engine, header["plan"], feeds, channel.buffer)]
            else:
                results = engine.run(feeds, channel.buffer, len(names))
            if engine.options.mode in ("soak", "load"):
                keep_case(engine, feeds, channel.buffer, payload_bytes)
        for name, (profile, tensors, parts) in zip(names, results):
            channel.write({"kind": "result", "id": name, "profile": profile, "tensors": tensors}, parts)
    except Refusal as error:
        for name in names:
            channel.write(error_frame(error, error.code, name))
    except CudaError as error:
        # After any error but a lack of memory the CUDA context is lost, and every later answer would be wrong.
        channel.write(error_frame(error, "cuda", names[0], fatal=True))
        return False
    except (Fatal, OSError):
        raise
    except Exception as error:
        traceback.print_exc()
        for name in names:
            channel.write(error_frame("%s: %s" % (type(error).__name__, error), "internal", name))
    return True


def serve(channel, engine):
    done = 0
    while True:
        frame = channel.read()
        if frame is None:
            raise Fatal("protocol", "The input ended without an end frame.", EXIT_PROTOCOL)
        header, payload_bytes = frame
        kind = header.get("kind")
        if kind == "end":
            channel.write({"kind": "end", "cases": done})
            return 0
        if kind not in ("case", "sequence", "refit", "start-up", "soak", "load", "together"):
            raise Fatal("protocol", "The input cannot be read: a frame of kind %r." % (kind,), EXIT_PROTOCOL)
        if not answer(channel, engine, header, payload_bytes):
            return EXIT_LOST
        done += 1


# Calibration


class Source:
    """An input of the model that is calibrated; its shape is the declared one, then the first case's."""

    def __init__(self, trt, cuda, tensor):
        self.dtype = dtype_name(trt, tensor.name, tensor.dtype)
        self.shape = tuple(tensor.shape)
        self.buffer = DeviceBuffer(cuda, tensor.name)


def read_feeds(channel, sources):
    """Of the next case; None after the last."""
    header, size = channel.read() or ({}, 0)
    if header.get("kind") == "end":
        return None
    feeds = read_case(header, size, sources)
    for name, feed in feeds.items():
        wanted = sources[name].shape
        if len(feed.shape) != len(wanted) or any(size not in (-1, own) for size, own in zip(wanted, feed.shape)):
            text = "case %s: input %s has the shape %s, not %s; calibration needs one shape for all cases"
            raise Refusal("shape", text % (header.get("id"), name, describe_shape(feed.shape), describe_shape(wanted)), name)
        sources[name].shape = feed.shape
    return feeds


def make_calibrator(trt, method, feed):
    base = getattr(trt, {"entropy": "IInt8EntropyCalibrator2", "minmax": "IInt8MinMaxCalibrator"}[method])

    class Calibrator(base):
        """Keeps what goes wrong: TensorRT would take it for the end of the data."""

        cache = problem = None

        def get_batch_size(self):
            return 1

        def get_batch(self, names):
            try:
                return feed(names)
            except BaseException as error:
                self.problem = error

        def read_calibration_cache(self):
            return None

        def write_calibration_cache(self, cache):
            self.cache = bytes(cache)

    return Calibrator()


def calibrate(trt, cuda, options, channel):
    """Builds an INT8 engine as cheaply as TensorRT can, which runs the calibrator; keeps only the cache."""
    logger = make_logger(trt)
    builder = trt.Builder(logger)
    load_plugins(trt, logger, builder, options.plugin)
    # The default since 10.
    explicit = getattr(trt.NetworkDefinitionCreationFlag, "EXPLICIT_BATCH", None)
    network = builder.create_network(0 if explicit is None else 1 << int(explicit))
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(options.calibrate):
        raise Fatal("calibration", "TensorRT does not parse %s: %s." % (options.calibrate, logger.take()))
    tensors = [network.get_input(index) for index in range(network.num_inputs)]
    sources = {tensor.name: Source(trt, cuda, tensor) for tensor in tensors}
    ahead = [read_feeds(channel, sources)]

    def feed(names):
        """Device addresses of the case that was read ahead."""
        if ahead[0] is None:
            return None
        for name, one in ahead[0].items():
            target = sources[name].buffer.reserve(one.size)
            cuda.to_device(target, channel.buffer.address + one.at, one.size)
        cuda.wait()
        ahead[0] = read_feeds(channel, sources)
        return [sources[name].buffer.address for name in names]

    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.INT8)
    config.builder_optimization_level = 0
    config.int8_calibrator = calibrator = make_calibrator(trt, options.method, feed)
    profile = builder.create_optimization_profile()
    for name, source in sources.items():
        profile.set_shape(name, source.shape, source.shape, source.shape)
    config.add_optimization_profile(profile)
    config.set_calibration_profile(profile)
    builder.build_serialized_network(network, config)
    if calibrator.problem is not None:
        raise calibrator.problem
    # Whether the engine itself could be built does not matter here.
    if calibrator.cache is None:
        raise Fatal("calibration", "TensorRT calibrated nothing: %s." % logger.take())
    with open(options.cache, "wb") as file:
        file.write(calibrator.cache)


def start(channel, options):
    trt = import_tensorrt()
    hello = {"kind": "hello", "protocol": PROTOCOL, "tensorrt": str(trt.__version__), "python": platform.python_version()}
    try:
        cuda = Cuda(options.device)
        hello["device"] = cuda.describe()
        if options.probe:
            channel.write(dict(hello, engine=None))
            channel.write({"kind": "end", "cases": 0})
            return 0
        cuda.start()
        if options.calibrate is not None:
            channel.write(dict(hello, engine=None))
            calibrate(trt, cuda, options, channel)
            channel.write({"kind": "end", "cases": 0})
            return 0
        engine = Engine(trt, cuda, options)
        engine.beside = None
        if options.beside is not None:
            engine.beside = Engine(trt, cuda.fork(), argparse.Namespace(**dict(vars(options), engine=options.beside)))
    except CudaError as error:
        raise Fatal("cuda", "The CUDA driver refused: %s." % error)
    except Refusal as error:
        raise Fatal(error.code, str(error), tensor=error.tensor)
    channel.write(dict(hello, engine=engine.describe()))
    return serve(channel, engine)


def parse_options(arguments):
    parser = argparse.ArgumentParser(description="Runs golden cases through a TensorRT engine.")
    parser.add_argument("--engine")
    parser.add_argument("--beside")
    parser.add_argument("--onnx")
    parser.add_argument("--stripped", action="store_true")
    parser.add_argument("--calibrate")
    parser.add_argument("--method", choices=("entropy", "minmax"), default="entropy")
    parser.add_argument("--cache")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--mode", choices=("cases", "warm", "cold", "soak", "load"), default="cases")
    parser.add_argument("--plugin", action="append", default=[])
    parser.add_argument("--max-payload-bytes", type=int, default=LARGEST_PAYLOAD)
    parser.add_argument("--cases")
    parser.add_argument("--probe", action="store_true")
    options = parser.parse_args(arguments)
    if not options.probe and options.engine is None and (options.calibrate is None or options.cache is None):
        parser.error("--engine, --probe, or --calibrate with --cache is needed")
    return options


def run(arguments):
    options = parse_options(arguments)
    # Lazy loading of kernels halves the time to start and the memory.
    os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")
    faulthandler.enable()
    target = os.dup(1)
    os.dup2(2, 1)
    source = open(0 if options.cases is None else options.cases, "rb", buffering=1 << 18)
    channel = Channel(source, target, options.max_payload_bytes)
    try:
        return start(channel, options)
    except Fatal as error:
        sys.stderr.write("%s\n" % error)
        channel.write(error_frame(error, error.code, fatal=True))
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.write("Nobody reads the answers any more.\n")
        return EXIT_LOST
    except Exception as error:
        traceback.print_exc()
        channel.write(error_frame("%s: %s" % (type(error).__name__, error), "internal", fatal=True))
        return EXIT_BUG


if __name__ == "__main__":
    code = EXIT_BUG
    try:
        code = run(sys.argv[1:])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else EXIT_NOT_STARTED
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    # Without the interpreter's tidying up: the order in which it lets go of TensorRT and CUDA can crash.
    os._exit(code)
