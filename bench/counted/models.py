# Variants of models for bench/work.ts: `models.py describe MODEL`, `models.py perturb MODEL OUT` (one more convolution after every
# third one), `models.py vary MODEL OUT` (changes whose work and time are compared). Needs onnx, numpy and onnxruntime.
import copy
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def constants(graph):
    known = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            known.update({node.output[0]: tuple(a.t.dims) for a in node.attribute if a.name == "value"})
        if node.op_type in ("DequantizeLinear", "Identity", "Cast") and node.input[0] in known:
            known[node.output[0]] = known[node.input[0]]
    return known


def convolutions(model):
    """Pairs of graph and node, with the shape of the weights."""
    outer = {}
    for graph in graphs(model.graph):
        outer.update(constants(graph))
        for node in graph.node:
            if node.op_type == "Conv" and node.input[1] in outer:
                yield graph, node, outer[node.input[1]]


def insert_after(graph, node, op, tensors=(), **attributes):
    """A node behind the first output of another, which keeps its readers."""
    at = next(i for i, other in enumerate(graph.node) if other is node or other.output[:1] == node.output[:1])
    output = graph.node[at].output[0]
    inner = f"{output}/before-added"
    graph.node[at].output[0] = inner
    name = f"/added/{op}-{len(graph.node)}"
    inputs = [inner]
    for index, tensor in enumerate(tensors):
        graph.initializer.append(numpy_helper.from_array(tensor, f"{name}/{index}"))
        inputs.append(f"{name}/{index}")
    graph.node.insert(at + 1, helper.make_node(op, inputs, [output], name=name, **attributes))
    return name


def add_convolution(graph, node, shape):
    """Depthwise, 3 wide: the least that a convolution can add."""
    rank = len(shape) - 2
    weights = np.zeros((shape[0], 1) + (3,) * rank, np.float32)
    weights[(slice(None), 0) + (1,) * rank] = 1
    return insert_after(graph, node, "Conv", [weights], group=shape[0], kernel_shape=[3] * rank, pads=[1] * 2 * rank)


def save(model, path):
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)


def describe(path):
    model = onnx.load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = []
    for value in model.graph.input:
        if value.name in weights:
            continue
        tensor = value.type.tensor_type
        dims = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in tensor.shape.dim]
        inputs.append({"name": value.name, "dtype": TensorProto.DataType.Name(tensor.elem_type).lower(), "dims": dims})
    print(json.dumps({"inputs": inputs, "convolutions": len(list(convolutions(model)))}))


def perturb(path, out):
    """`again.onnx`, the same model in other bytes, and `changed.onnx`, with one more convolution after every third one."""
    model = onnx.load(path)
    again = copy.deepcopy(model)
    again.doc_string = "the same model"
    save(again, f"{out}/again.onnx")
    names = [add_convolution(*place) for place in list(convolutions(model))[::3]]
    save(model, f"{out}/changed.onnx")
    print(json.dumps(names))


def largest(model):
    """The convolution with the most weights of those whose input has channels enough, and one in the middle."""
    found = [(graph, node, shape) for graph, node, shape in convolutions(model) if len(shape) == 4 and graph is model.graph]
    return max(found, key=lambda one: np.prod(one[2])), found[len(found) // 2]


def vary(path, out):
    original = onnx.load(path)
    if len([1 for graph, _, shape in convolutions(original) if len(shape) == 4 and graph is original.graph]) == 0:
        return print("[]")
    names = []

    def variant(name, change):
        model = copy.deepcopy(original)
        change(model)
        save(model, f"{out}/{name}.onnx")
        names.append(name)

    def full(which):
        def change(model):
            graph, node, shape = largest(model)[which]
            channels = shape[0]
            weights = np.eye(channels, dtype=np.float32)[:, :, None, None].repeat(1, 2).repeat(1, 3)
            insert_after(graph, node, "Conv", [np.ascontiguousarray(weights)], kernel_shape=[1, 1])

        return change

    def wide(model):
        graph, node, shape = largest(model)[1]
        weights = np.zeros((shape[0], shape[0], 3, 3), np.float32)
        weights[range(shape[0]), range(shape[0]), 1, 1] = 1
        insert_after(graph, node, "Conv", [weights], kernel_shape=[3, 3], pads=[1] * 4)

    def depthwise(model):
        add_convolution(*largest(model)[1])

    def chain(op, times, tensors=(), **attributes):
        def change(model):
            for _ in range(times):
                graph, node, _shape = largest(model)[1]
                insert_after(graph, node, op, list(tensors), **attributes)

        return change

    one = np.float32(1.0001)
    variant("conv-1x1-large", full(0))
    variant("conv-1x1-middle", full(1))
    variant("conv-3x3-middle", wide)
    variant("depthwise", depthwise)
    variant("mul", chain("Mul", 10, [one]))
    variant("relu-pool", chain("MaxPool", 3, kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1]))
    variant("transpose", chain("Transpose", 4, perm=[0, 1, 3, 2]))
    variant("softmax", chain("Softmax", 2, axis=1))
    variant("div", chain("Div", 5, [one]))
    variant("erf", chain("Erf", 3))
    variant("sigmoid", chain("Sigmoid", 3))
    variant("tanh", chain("Tanh", 3))
    try:
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(path, f"{out}/int8.onnx", weight_type=QuantType.QUInt8)
        names.append("int8")
    except Exception as error:  # Some models cannot be quantised.
        print(error, file=sys.stderr)
    save(original, f"{out}/base.onnx")
    print(json.dumps(names))


def native(path, feeds, seconds):
    """Milliseconds of CPU time of one inference, the fastest of several, on one thread."""
    import time

    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    tensors = {
        feed["name"]: np.fromfile(feed["path"], np.dtype(feed["dtype"])).reshape(feed["shape"]) for feed in json.loads(feeds)
    }
    times = []
    end = time.process_time() + float(seconds)
    while time.process_time() < end or len(times) < 8:
        start = time.process_time()
        session.run(None, tensors)
        times.append(time.process_time() - start)
    print(json.dumps(min(times) * 1000))


if __name__ == "__main__":
    {"describe": describe, "perturb": perturb, "vary": vary, "native": native}[sys.argv[1]](*sys.argv[2:])
