# Writes small models and what numpy makes of them where weights and results are rounded: the oracle of the emulated precisions.
# Usage: python test/oracles/onnx-rounding.py   (numpy, onnx, ml_dtypes)
import json
import pathlib

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

root = pathlib.Path(__file__).resolve().parent.parent
f32 = np.float32


def tf32(x):
    # To nearest, 10 bits after the point: the lowest 13 of 23 bits go.
    bits = np.asarray(x, f32).view(np.uint32).astype(np.uint64)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & 0xFFFFE000).astype(np.uint32).view(f32)


small = {
    "fp16": lambda x: np.asarray(x, f32).astype(np.float16).astype(f32),
    "bf16": lambda x: np.asarray(x, f32).astype(ml_dtypes.bfloat16).astype(f32),
}


def single(op, inputs, **attributes):
    names = [f"i{k}" for k in range(len(inputs))]
    node = helper.make_node(op, names, ["o"], **attributes)
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in zip(names, inputs)]
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("o", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))[0]


def transposed(x, w, b):
    """Two groups, windows of 2 × 2 that do not overlap."""
    n, _, height, width = x.shape
    y = np.einsum("ngchw,gcmij->ngmhiwj", x.reshape(n, 2, 3, height, width), w.reshape(2, 3, 2, 2, 2), dtype=np.float64)
    return (y.reshape(n, 4, 2 * height, 2 * width) + b[:, None, None]).astype(f32)


def sigmoid(x):
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(f32)


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(f32)


def rounder(precision):
    """For weights and results, and for the operands of products."""
    if precision == "exact":
        return (lambda x: x), (lambda x: x)
    if precision == "tf32":
        return (lambda x: x), tf32
    inner = small[precision]

    def rounded(x):
        r = inner(x)
        return np.where(np.isfinite(r), r, x).astype(f32)

    return rounded, (lambda x: x)


random = np.random.default_rng(7)


def normal(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(f32)


weights = {
    "w1": normal(6, 2, 3, 3, scale=0.3), "gamma": normal(6), "beta": normal(6), "mean": normal(6), "variance": np.abs(normal(6, scale=1e6)) + f32(1e5),
    "w2": normal(6, 2, 2, 2, scale=0.5), "b2": normal(4), "m2": normal(4, scale=300.0), "a2": normal(4, 1, 1),
    "w3": normal(5, 4), "b3": normal(5), "d3": normal(5) + f32(3), "s3": normal(),
    "w4": normal(5, 3), "m4": normal(3), "a4": normal(1, 3), "mask": np.array([0, -1e9, 0], f32), "inner": normal(3),
}  # fmt: skip
weights["w1"] *= f32(1000)


def layers(x, precision):
    r, p = rounder(precision)
    w = weights
    x = r(x)
    # Engines fold scales and shifts into the convolution or Gemm before them: only the last result is rounded.
    c1 = single("Conv", [p(x), p(r(w["w1"]))], group=2, pads=[1, 1, 1, 1])
    s = w["gamma"] / np.sqrt(w["variance"] + f32(1e-5))
    y = np.maximum(r((c1 - w["mean"][:, None, None]) * s[:, None, None] + w["beta"][:, None, None]), 0)
    c2 = transposed(p(y), p(r(w["w2"])), p(r(w["b2"]))) * r(w["m2"])[:, None, None] + r(w["a2"])
    y = r(sigmoid(r(c2)))
    y = r(y.mean(axis=(2, 3), dtype=np.float64).astype(f32))
    y = r((p(y) @ p(r(w["w3"])).T + p(r(w["b3"]))) / r(w["d3"]) - r(w["s3"]))
    # Products without a bias are rounded at each step.
    y = r(r(r(p(y) @ p(r(w["w4"]))) * r(w["m4"])) + r(w["a4"].reshape(3)))
    y = r(y / r(np.sqrt(f32(x.shape[1]))))
    y = r(np.tanh(r(y + r(w["inner"]))))
    return r(softmax(r(y + r(w["mask"])))), y


def layers_model():
    n = helper.make_node
    outer = {k: v for k, v in weights.items() if k not in ("inner", "m2")}
    m2 = numpy_helper.from_array(weights["m2"].reshape(4), "m2_flat")
    inside = n("Constant", [], ["inner"], value=numpy_helper.from_array(weights["inner"], "inner"))
    then = helper.make_graph([inside, n("Add", ["scaled", "inner"], ["t0"]), n("Tanh", ["t0"], ["t"])], "then", [], [helper.make_tensor_value_info("t", 1, None)])
    other = helper.make_graph([n("Neg", ["scaled"], ["e"])], "else", [], [helper.make_tensor_value_info("e", 1, None)])
    integers = {"four": [1, 4, 1, 1], "zero": [0], "one": [1]}
    nodes = [
        n("Conv", ["x", "w1"], ["c1"], group=2, pads=[1, 1, 1, 1]),
        n("BatchNormalization", ["c1", "gamma", "beta", "mean", "variance"], ["bn"], epsilon=1e-5),
        n("Relu", ["bn"], ["r1"]),
        n("ConvTranspose", ["r1", "w2", "b2"], ["c2"], group=2, strides=[2, 2]),
        n("Constant", [], ["m2_flat"], value=m2),
        n("Reshape", ["m2_flat", "four"], ["m2"]),
        n("Mul", ["m2", "c2"], ["c2m"]),
        n("Add", ["c2m", "a2"], ["c2a"]),
        n("Sigmoid", ["c2a"], ["s2"]),
        n("GlobalAveragePool", ["s2"], ["pool"]),
        n("Flatten", ["pool"], ["flat"]),
        n("Gemm", ["flat", "w3", "b3"], ["g3"], transB=1),
        n("Div", ["g3", "d3"], ["g3d"]),
        n("Sub", ["g3d", "s3"], ["g3s"]),
        n("MatMul", ["g3s", "w4"], ["p4"]),
        n("Mul", ["p4", "m4"], ["p4m"]),
        n("Add", ["p4m", "a4"], ["p4a"]),
        n("Shape", ["x"], ["shape"]),
        n("Gather", ["shape", "one"], ["channels"]),
        n("Cast", ["channels"], ["count"], to=1),
        n("Sqrt", ["count"], ["root"]),
        n("Div", ["p4a", "root"], ["scaled"]),
        n("ReduceSum", ["x"], ["sum"], keepdims=0),
        n("Greater", ["sum", "limit"], ["positive"]),
        n("If", ["positive"], ["hidden"], then_branch=then, else_branch=other),
        n("Add", ["hidden", "mask"], ["masked"]),
        n("Softmax", ["masked"], ["y"], axis=-1),
    ]  # fmt: skip
    initializers = [numpy_helper.from_array(v, k) for k, v in outer.items()]
    initializers += [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in integers.items()]
    initializers.append(numpy_helper.from_array(np.array(-1e9, f32), "limit"))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "layers", [info("x", 1, [1, 4, 6, 6])], [info("y", 1, [1, 3]), info("hidden", 1, [1, 3])], initializers)
    return graph


# Sums of few whole numbers: exact in binary32 in any order, so that only the rounding counts, to the last bit.
whole = {"w": random.integers(-4999, 5000, (8, 3)).astype(f32), "b": random.integers(-99, 99, 3).astype(f32)}


def exact_sums(x, precision):
    r, p = rounder(precision)
    return (r(p(r(x)) @ p(r(whole["w"])) + r(whole["b"])),)


def exact_model():
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"])]
    info = helper.make_tensor_value_info
    initializers = [numpy_helper.from_array(v, k) for k, v in whole.items()]
    return helper.make_graph(nodes, "exact", [info("x", 1, [4, 8])], [info("y", 1, [4, 3])], initializers)


inputs = {"layers": normal(1, 4, 6, 6), "exact": random.integers(-4, 5, (4, 8)).astype(f32)}
table = {}
for name, graph, emulate in [("layers", layers_model(), layers), ("exact", exact_model(), exact_sums)]:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    (root / "fixtures/onnx" / f"rounding-{name}.onnx").write_bytes(model.SerializeToString())
    outputs = [o.name for o in graph.output]
    results = {
        precision: dict(zip(outputs, [[float(v) for v in y.ravel()] for y in emulate(inputs[name], precision)]))
        for precision in ["exact", "fp16", "bf16", "tf32"]
    }
    table[name] = {"input": [float(v) for v in inputs[name].ravel()], "shape": list(inputs[name].shape), "outputs": results}
(root / "oracles/onnx-rounding.json").write_text(json.dumps(table, indent="\t") + "\n")
for name in table:
    exact = table[name]["outputs"]["exact"]
    for precision in ["fp16", "bf16", "tf32"]:
        for output, values in table[name]["outputs"][precision].items():
            a, b = np.array(values), np.array(exact[output])
            print(name, precision, output, np.linalg.norm(a - b) / np.linalg.norm(b))
