"""Writes small ONNX graphs node by node, runs them, and fits their last layer in closed form."""

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
# IR version of opset 17; read by ONNX Runtime 1.12 and later and by TensorRT 8.6 and later.
IR_VERSION = 8


def rounded(values, bits):
    """float32 values on a grid of 2^-bits: hides last-digit differences between maths libraries."""
    return (np.round(np.asarray(values, np.float64) * 2.0**bits) / 2.0**bits).astype(np.float32)


class Graph:
    """One graph under construction. Each method adds one node and returns the name of its output."""

    def __init__(self, name):
        self.name = name
        self.nodes = []
        self.initializers = []
        self.inputs = []
        self.outputs = []

    def input(self, name, shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def output(self, name, shape, dtype=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def constant(self, name, values):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, op, name, inputs, output=None, **attributes):
        result = output or f"{name}_output"
        self.nodes.append(helper.make_node(op, inputs, [result], name=name, **attributes))
        return result

    def split(self, name, source, sizes):
        """Channels in parts."""
        results = [f"{name}_output_{part}" for part in range(len(sizes))]
        inputs = [source, self.constant(f"{name}.sizes", np.int64(sizes))]
        self.nodes.append(helper.make_node("Split", inputs, results, name=name, axis=1))
        return results

    def conv(self, name, source, weight, bias, stride=1, output=None):
        """A convolution that keeps the size (but for the stride)."""
        pad = weight.shape[2] // 2
        inputs = [source, self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)]
        return self.node("Conv", f"{name}/Conv", inputs, output, strides=[stride] * 2, pads=[pad] * 4, kernel_shape=list(weight.shape[2:]))

    def conv_relu(self, name, source, weights, stride=1):
        return self.node("Relu", f"{name}/Relu", [self.conv(name, source, *weights, stride=stride)])

    def model(self, producer_version="1", doc=""):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="trtgate-quickstart",
            producer_version=producer_version,
            doc_string=doc,
        )
        onnx.checker.check_model(model, full_check=True)
        return model


def run(model, feeds):
    """Outputs by name: ONNX Runtime on one thread, so that sums are always taken in the same order."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def filter_bank(size, count):
    """`count` fixed filters of size x size over one channel: a blur, two centre-surrounds, edges at many angles."""
    radius = np.arange(size) - size // 2
    x, y = np.meshgrid(radius, radius)
    near, far = (np.exp(-(x**2 + y**2) / (2 * sigma**2)) for sigma in (size / 6, size / 3))
    blur, surround = far / far.sum(), near / near.sum() - far / far.sum()
    angles = np.arange(count - 3) * 2 * np.pi / (count - 3)
    edges = [(x * np.cos(a) + y * np.sin(a)) * near for a in angles]
    bank = [blur, surround * 2, -surround * 2] + [edge / np.abs(edge).sum() for edge in edges]
    return rounded(np.stack(bank)[:, None], 12)


def mixing(rng, shape):
    """Random weights that keep the variance through a ReLU (He et al. 2015), and biases a tenth of that size."""
    weight = rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
    return rounded(weight, 12), rounded(0.1 * rng.standard_normal(shape[0]), 12)


def patches(maps):
    """The 3 x 3 surroundings of each place of (channels, height, width), one row a place, as a convolution reads them."""
    padded = np.pad(maps, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    return windows.transpose(1, 2, 0, 3, 4).reshape(maps.shape[1] * maps.shape[2], -1)


def ridge(features, targets, penalty):
    """Weights (outputs x features) and biases of the linear map with the least squared error plus penalty."""
    centre, middle = features.mean(0), targets.mean(0)
    left = (features - centre).astype(np.float64)
    gram = left.T @ left + penalty * len(left) * np.eye(left.shape[1])
    weight = rounded(np.linalg.solve(gram, left.T @ (targets - middle)).T, 14)
    return weight, rounded(middle - weight.astype(np.float64) @ centre, 14)
