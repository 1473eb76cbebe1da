# Stands in for TensorRT's Python module: a plan is "ftrt", 24 more bytes, and JSON that says what the engine is and how it behaves.
import ctypes
import enum
import json
import os
import signal
import struct
import time
import weakref

from . import clock, cuda

cuda.install()
__version__ = "10.6.0"


class DataType(enum.Enum):
    FLOAT, HALF, INT8, INT32, BOOL, UINT8, FP8, BF16, INT64, INT4, FP4, E8M0 = range(12)


class TensorIOMode(enum.Enum):
    INPUT, OUTPUT = 1, 2


class TensorLocation(enum.Enum):
    DEVICE, HOST = 0, 1


class ExecutionContextAllocationStrategy(enum.Enum):
    STATIC, ON_PROFILE_CHANGE, USER_MANAGED = range(3)


class TensorFormat(enum.Enum):
    LINEAR, CHW4 = 0, 3


class Severity(enum.Enum):
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = range(5)


class ILogger:
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = Severity


class IOutputAllocator:
    pass


class IGpuAllocator:
    pass


def init_libnvinfer_plugins(logger, namespace):
    logger.log(ILogger.VERBOSE, "never seen")
    return True


bits = {"FLOAT": 32, "HALF": 16, "BF16": 16, "INT64": 64, "INT32": 32, "INT4": 4}


def bytes_of(dtype, shape):
    count = 1
    for size in shape:
        count *= size
    return (count * bits.get(dtype, 8) + 7) // 8


class Runtime:
    gpu_allocator = None

    def __init__(self, logger):
        self.logger = logger
        self.engine_host_code_allowed = False

    def deserialize_cuda_engine(self, plan):
        try:
            return ICudaEngine(json.loads(bytes(plan[28:]).decode()), self.logger, self.gpu_allocator)
        except ValueError:
            self.logger.log(ILogger.ERROR, "IRuntime::deserializeCudaEngine: the plan is damaged")
            return None


class Weights:
    def __init__(self, dtype=None, address=0, size=1):
        self.dtype, self.address, self.size, self.nbytes = dtype, address, size, 4


class Refitter:
    """Of an engine with one weight, by which `scale` multiplies."""

    def __init__(self, engine, logger):
        self.engine, self.logger, self.weight = engine, logger, None

    def get_all_weights(self):
        return ["w"]

    def get_weights_prototype(self, name):
        return Weights(DataType.FLOAT)

    def set_named_weights(self, name, weights):
        self.weight = ctypes.c_float.from_address(weights.address).value
        return True

    def refit_cuda_engine(self):
        self.engine.weight = self.weight
        return True


class OnnxParserRefitter:
    def __init__(self, refitter, logger):
        self.refitter, self.logger = refitter, logger

    def refit_from_file(self, path):
        if path.startswith("absent"):
            self.logger.log(ILogger.ERROR, "cannot open " + path)
            return False
        self.refitter.weight = 1.0
        return True


lost = []


class ICudaEngine:
    num_io_tensors = 0

    def __init__(self, plan, logger, allocator):
        time.sleep(plan.get("loadMs", 0) / 1e3)
        self.allocator = allocator
        self.weights = allocator.allocate(1 << 20, 256, 0) if allocator else 0
        self.leak = plan.get("leak", {})
        self.spill("load")
        self.plan = plan
        self.logger = logger
        self.tensors = {tensor["name"]: tensor for tensor in plan["inputs"] + plan["outputs"]}
        self.names = list(self.tensors)
        self.num_io_tensors = len(self.names)
        self.profiles = plan.get("profiles", [{}])
        self.num_optimization_profiles = len(self.profiles)
        self.weight = 0.0 if plan.get("stripped") else 1.0
        self.calls = self.contexts = 0
        cuda.state["bytes_left"] = plan.get("bytesLeft", 1 << 40)
        if plan.get("clock") == "virtual":
            clock.install()
        if plan.get("isTensorRT8"):
            globals().pop("ExecutionContextAllocationStrategy", None)

    def __del__(self):
        if self.allocator:
            self.allocator.deallocate(self.weights)

    def spill(self, when):
        """What a plugin or TensorRT never frees."""
        size = self.leak.get("bytes", 0) if self.leak.get("each") == when else 0
        if size and self.leak["of"] == "host":
            lost.append(b"\1" * size)
        elif size and self.leak["of"] == "allocator" and self.allocator:
            self.allocator.allocate(size, 256, 0)
        elif size:
            cuda.allocate(ctypes.byref(ctypes.c_uint64()), size)

    def get_tensor_name(self, index):
        return self.names[index]

    def get_tensor_mode(self, name):
        return TensorIOMode.INPUT if self.tensors[name] in self.plan["inputs"] else TensorIOMode.OUTPUT

    def get_tensor_dtype(self, name):
        return DataType[self.tensors[name]["dtype"]]

    def get_tensor_shape(self, name):
        return tuple(self.tensors[name]["shape"])

    def get_tensor_location(self, name):
        return TensorLocation.HOST if self.tensors[name].get("host") else TensorLocation.DEVICE

    def get_tensor_format(self, name, profile):
        return TensorFormat[self.tensors[name].get("format", "LINEAR")]

    def get_tensor_profile_shape(self, name, profile):
        return self.profiles[profile].get(name, [self.tensors[name]["shape"]] * 3)

    def get_tensor_profile_values(self, profile, name):
        if not isinstance(profile, int):
            raise TypeError("incompatible function arguments")
        return self.profiles[profile].get(name + " values", [])

    def get_aliased_input_tensor(self, name):
        return self.tensors[name].get("alias")

    def create_execution_context(self):
        self.contexts += 1
        if self.contexts > self.plan.get("mostContexts", self.contexts):
            self.logger.log(ILogger.ERROR, "IExecutionContext creation: Error Code 2: OutOfMemory (no further information)")
            return None
        return IExecutionContext(self)


class IExecutionContext:
    """Each output is made from one input: `same` bytes, `negate` (fp32), `nonzero` (fp32 to int64 positions), `reshape` (x to the values of a host input)."""

    def __init__(self, engine):
        self.engine = engine
        self.shapes = {}
        self.addresses = {}
        self.allocators = {}
        self.runs = 0
        self.profile = 0

    def set_optimization_profile_async(self, profile, stream):
        self.profile = profile
        self.shapes = {}
        return True

    def set_input_shape(self, name, shape):
        if tuple(shape) != self.shapes.get(name):
            self.engine.spill("shape")
        self.shapes[name] = tuple(shape)
        return True

    def set_tensor_address(self, name, address):
        self.addresses[name] = address
        return True

    def set_output_allocator(self, name, allocator):
        self.allocators[name] = allocator
        return True

    def contradicts(self):
        multiple = self.engine.plan.get("multiple", 1)
        return any(size % multiple for shape in self.shapes.values() for size in shape)

    def infer_shapes(self):
        if self.contradicts():
            # As TensorRT 10.6 does.
            os.kill(os.getpid(), signal.SIGSEGV)
        return [tensor["name"] for tensor in self.engine.plan["inputs"] if tensor["name"] not in self.shapes]

    def get_tensor_shape(self, name):
        tensor = self.engine.tensors[name]
        if name in self.shapes:
            return self.shapes[name]
        if self.contradicts():
            self.engine.logger.log(ILogger.ERROR, "IExecutionContext::getTensorShape: Error Code 7: Internal Error (condition '==' violated)")
            raise ValueError("__len__() should return >= 0")
        if tensor["op"] == "nonzero":
            return (len(self.shapes[tensor["from"]]), -1)
        if tensor["op"] == "reshape":
            return tuple(self.values(tensor["to"]))
        if tensor["op"] == "append":
            rows, size = self.shapes[tensor["from"]]
            return rows, size + self.shapes[tensor["to"]][1]
        return self.shapes[tensor["from"]]

    def get_max_output_size(self, name):
        return 1024

    def values(self, name):
        count = self.shapes[name][0]
        return list((ctypes.c_int64 * count).from_address(self.addresses[name]))

    def floats(self, name):
        size = bytes_of("FLOAT", self.shapes[name])
        return (ctypes.c_float * (size // 4)).from_address(self.addresses[name])

    def execute_async_v3(self, stream):
        if stream in cuda.captures:
            # A graph does not keep its context; without, it reads what was freed.
            context = weakref.ref(self)
            cuda.captures[stream].append(lambda: context().execute_async_v3(stream) if context() else cuda.lose())
            return not self.engine.plan.get("refusesCapture")
        self.runs += 1
        self.engine.spill("run")
        self.serve(stream)
        for behaviour in self.engine.plan.get("behave", []):
            if behaviour["run"] == self.runs and not self.behave(behaviour["do"]):
                return False
        for tensor in self.engine.plan["outputs"]:
            getattr(self, "run_" + tensor["op"])(tensor)
        return True

    def serve(self, stream):
        """The GPU is busy for as long as the plan says for this batch, and once for a stall."""
        service = self.engine.plan.get("serviceMs")
        if service is None:
            return
        batch = next(iter(self.shapes.values()))[0]
        ms = service[min(batch, len(service)) - 1]
        stall = self.engine.plan.get("stall", {})
        if stall.get("run") == self.runs:
            ms += stall["ms"]
        cuda.work(ms / 1e3, stream)

    def behave(self, what):
        log = self.engine.logger.log
        if what == "refuse":
            log(ILogger.ERROR, "IExecutionContext::enqueueV3: Error Code 1: Cuda Runtime (a stub refused)")
            return False
        if what == "lose the GPU":
            cuda.lose()
        if what == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if what == "hang":
            time.sleep(600)
        if what == "raise":
            log(ILogger.ERROR, "API Usage Error")
            raise RuntimeError("a binding raised")
        if what == "confuse":
            raise KeyError("a bug")
        if what == "printf":
            os.write(1, b"a plugin says hello\n")
        if what == "exit":
            os._exit(0)
        return True

    def run_same(self, tensor):
        source = tensor["from"]
        ctypes.memmove(self.addresses[tensor["name"]], self.addresses[source], bytes_of(tensor["dtype"], self.shapes[source]))

    run_reshape = run_same

    def row(self, name, index):
        size = self.shapes[name][1]
        return list(self.floats(name)[index * size : (index + 1) * size])

    def write(self, name, values):
        (ctypes.c_float * len(values)).from_address(self.addresses[name])[:] = values

    def run_append(self, tensor):
        """Each row of a cache and what is new, as a decoder's concatenation."""
        rows = range(self.shapes[tensor["from"]][0])
        self.write(tensor["name"], [value for row in rows for part in ("to", "from") for value in self.row(tensor[part], row)])

    def run_running(self, tensor):
        """Running sums that begin with the sum of the cache's row."""
        sums = []
        for row in range(self.shapes[tensor["from"]][0]):
            total = sum(self.row(tensor["to"], row))
            for value in self.row(tensor["from"], row):
                total += value
                sums.append(total)
        self.write(tensor["name"], sums)

    def run_nothing(self, tensor):
        pass

    def run_increment(self, tensor):
        """In place: TensorRT demands one address for both."""
        assert self.addresses[tensor["name"]] == self.addresses[tensor["from"]]
        values = self.floats(tensor["from"])
        for index in range(len(values)):
            values[index] += 1

    def run_negate(self, tensor):
        source = self.floats(tensor["from"])
        target = (ctypes.c_float * len(source)).from_address(self.addresses[tensor["name"]])
        for index, value in enumerate(source):
            target[index] = -value

    def run_scale(self, tensor):
        source = self.floats(tensor["from"])
        target = (ctypes.c_float * len(source)).from_address(self.addresses[tensor["name"]])
        for index, value in enumerate(source):
            target[index] = value * self.engine.weight

    def run_share(self, tensor):
        """As of a plugin that counts its calls for all contexts."""
        self.engine.calls += 1
        source = self.floats(tensor["from"])
        target = (ctypes.c_float * len(source)).from_address(self.addresses[tensor["name"]])
        for index, value in enumerate(source):
            target[index] = value + self.engine.calls

    def run_tire(self, tensor):
        """As of a plugin whose scratch memory is right for eight calls."""
        self.engine.calls += 1
        self.write(tensor["name"], [value + (self.engine.calls > 8) for value in self.floats(tensor["from"])])

    def run_nonzero(self, tensor):
        shape = self.shapes[tensor["from"]]
        found = [index for index, value in enumerate(self.floats(tensor["from"])) if value != 0]
        positions = []
        for axis in range(len(shape)):
            step = 1
            for size in shape[axis + 1 :]:
                step *= size
            positions += [index // step % shape[axis] for index in found]
        allocator = self.allocators[tensor["name"]]
        address = allocator.reallocate_output_async(tensor["name"], 0, 8 * len(positions), 256, stream=0)
        if address == 0:
            self.engine.logger.log(ILogger.ERROR, "no memory for an output")
            return
        for index, value in enumerate(positions):
            ctypes.c_int64.from_address(address + 8 * index).value = value
        allocator.notify_shape(tensor["name"], (len(shape), len(found)))


class BuilderFlag(enum.Enum):
    INT8 = 2


class NetworkDefinitionCreationFlag(enum.IntEnum):
    EXPLICIT_BATCH = 0


class IInt8EntropyCalibrator2:
    name = "EntropyCalibration2"


class IInt8MinMaxCalibrator:
    name = "MinMaxCalibration"


class Network:
    """A model is JSON: {"inputs": [{"name", "dtype", "shape"}], "quantised"?, "passes"?}."""

    inputs = ()
    num_inputs = property(lambda self: len(self.inputs))

    def get_input(self, index):
        return self.inputs[index]


class NetworkInput:
    def __init__(self, tensor):
        self.name = tensor["name"]
        self.dtype = DataType[tensor["dtype"]]
        self.shape = tuple(tensor["shape"])


class OnnxParser:
    def __init__(self, network, logger):
        self.network = network
        self.logger = logger

    def parse_from_file(self, path):
        with open(path, "rb") as file:
            try:
                self.network.model = json.loads(file.read().decode())
            except ValueError:
                self.logger.log(ILogger.ERROR, "ModelImporter: the file is no model")
                return False
        self.network.inputs = [NetworkInput(tensor) for tensor in self.network.model["inputs"]]
        return True


class OptimizationProfile:
    def __init__(self):
        self.shapes = {}

    def set_shape(self, name, least, best, most):
        assert least == best == most and -1 not in best
        self.shapes[name] = best


class BuilderConfig:
    flags = profile = calibration_profile = None

    def set_flag(self, flag):
        assert flag == BuilderFlag.INT8

    def add_optimization_profile(self, profile):
        self.profile = profile

    def set_calibration_profile(self, profile):
        assert profile is self.profile


class Builder:
    def __init__(self, logger):
        self.logger = logger

    def create_network(self, flags):
        assert flags == 1
        return Network()

    def create_builder_config(self):
        return BuilderConfig()

    def create_optimization_profile(self):
        return OptimizationProfile()

    def build_serialized_network(self, network, config):
        """The scale of an input is its largest value over all cases / 127; the engine itself is not built."""
        assert config.builder_optimization_level == 0
        if network.model.get("quantised"):
            self.logger.log(ILogger.WARNING, "Calibrator won't be used in explicit quantization mode")
            return None
        calibrator = config.int8_calibrator
        assert calibrator.get_batch_size() == 1 and calibrator.read_calibration_cache() is None
        names = [tensor.name for tensor in network.inputs]
        largest = dict.fromkeys(names, 0.0)
        while True:
            addresses = calibrator.get_batch(names)
            if addresses is None:
                break
            for name, address in zip(names, addresses):
                count = bytes_of("FLOAT", config.profile.shapes[name]) // 4
                largest[name] = max(largest[name], *(ctypes.c_float * count).from_address(address))
        lines = ["TRT-100600-" + calibrator.name]
        lines += ["%s: %s" % (name, struct.pack(">f", value / 127).hex()) for name, value in largest.items()]
        calibrator.write_calibration_cache(memoryview("\n".join(lines + [""]).encode()))
        return None
