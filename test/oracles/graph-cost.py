"""Writes graph-cost.json and the models of fixtures/onnx/cost: what other programs count in a graph. `python test/oracles/graph-cost.py`.

Needs onnx, onnxruntime, onnx-tool, torch, torchvision and onnxscript. The models are stored without their weights.

- published: multiply-adds that torchvision states for its models, in units of 1e9, to three decimals.
- torch: FLOPs that PyTorch's FlopCounterMode counts while the PyTorch model runs, halved.
- tool: multiply-adds of onnx-tool at the nodes that multiply. It adds one for each element of a bias.
- ones: all inputs and weights are one, so each element of the output is the number of products in its sum.
- run: sizes of the tensors that ONNX Runtime computed; peak: the largest sum over tensors between the node that makes each and the
  last that reads it.
"""

import contextlib
import io
import json
import sys
import warnings
from pathlib import Path

# statistics.py beside this file would hide Python's own from torch.
sys.path.pop(0)
import numpy as np
import onnx
import onnx.inliner
import onnx_tool
import onnxruntime
import torch
import torchvision
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops.op_conv import Conv
from onnx.reference.ops.op_matmul import MatMul
from torch.utils.flop_counter import FlopCounterMode

warnings.filterwarnings("ignore")
here = Path(__file__).parent
fixtures = here.parent / "fixtures"
models = fixtures / "onnx" / "cost"
models.mkdir(exist_ok=True)
multiplying = {"Conv", "ConvInteger", "ConvTranspose", "Gemm", "MatMul", "MatMulInteger", "QLinearConv", "QLinearMatMul", "LSTM", "GRU", "RNN"}


def strip(model):
    """Leaves out weights and texts that nothing here reads."""
    def lighten(tensor):
        if int(np.prod(tensor.dims)) > 64:
            for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data"):
                tensor.ClearField(field)
    def walk(graph):
        del graph.value_info[:]
        for tensor in graph.initializer:
            lighten(tensor)
        for node in graph.node:
            node.ClearField("doc_string")
            node.ClearField("metadata_props")
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    lighten(attribute.t)
                if attribute.type == onnx.AttributeProto.GRAPH:
                    walk(attribute.g)
        for value in [*graph.input, *graph.output, *graph.initializer]:
            value.ClearField("doc_string")
            if hasattr(value, "metadata_props"):
                value.ClearField("metadata_props")
    walk(model.graph)
    model.ClearField("metadata_props")
    model.graph.ClearField("metadata_props")
    return model


def session(model, level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run_all(model, feeds):
    """Every tensor of the graph itself, as ONNX Runtime computes it."""
    marked = onnx.ModelProto()
    marked.CopyFrom(model)
    del marked.graph.output[:]
    weights = {t.name for t in model.graph.initializer}
    names = [o for n in model.graph.node for o in n.output if o and o not in weights]
    marked.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    return dict(zip(names, session(marked).run(None, feeds)))


def peak(model, feeds):
    """By brute force: for each node, all tensors that were made before it or by it and are read by it or after it."""
    values = {**run_all(model, feeds), **feeds}
    nodes = list(model.graph.node)
    constants = {n.output[0] for n in nodes if n.op_type == "Constant"}
    outputs = {o.name for o in model.graph.output}
    made = {name: -1 for name in feeds}
    read = {}
    for at, node in enumerate(nodes):
        made.update({o: at for o in node.output})
        read.update({i: at for i in node.input})
    def alive(name, at):
        last = len(nodes) if name in outputs else max(read.get(name, made[name]), made[name])
        return made[name] <= at <= last
    sizes = {name: value.nbytes for name, value in values.items() if name not in constants}
    sums = [sum(size for name, size in sizes.items() if alive(name, at)) for at in range(-1, len(nodes))]
    return max(sums)


def tool(model, feeds):
    with contextlib.redirect_stdout(io.StringIO()):
        read = onnx_tool.Model(model, {"verbose": False})
        read.graph.shape_infer(feeds)
        read.graph.profile()
    counted = {}
    for node in read.graph.nodemap.values():
        if node.op_type in multiplying:
            counted[node.op_type] = counted.get(node.op_type, 0) + int(node.macs[0])
    return counted


def biases(model, feeds):
    """Elements of outputs to which Conv and Gemm add a bias: onnx-tool counts one multiply-add each."""
    values = run_all(model, feeds)
    found = {}
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm", "ConvTranspose") and len(node.input) > 2 and node.input[2]:
            found[node.op_type] = found.get(node.op_type, 0) + int(values[node.output[0]].size)
    return found


def stored(model):
    tensors = list(model.graph.initializer)
    tensors += [a.t for n in model.graph.node for a in n.attribute if a.type == onnx.AttributeProto.TENSOR]
    arrays = [numpy_helper.to_array(t) for t in tensors]
    return {"parameters": sum(int(a.size) for a in arrays), "weightBytes": sum(int(a.nbytes) for a in arrays)}


cases = []


def add(name, path, feeds, **facts):
    shapes = {key: list(value.shape) for key, value in feeds.items()}
    cases.append({"name": name, "model": str(path.relative_to(fixtures)), "shapes": shapes, **facts})


# Networks of torchvision.
for name in ["resnet50", "mobilenet_v3_small", "vit_b_16", "swin_t"]:
    torch.manual_seed(0)
    network = getattr(torchvision.models, name)().eval()
    x = torch.zeros(1, 3, 224, 224)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        network(x)
    with contextlib.redirect_stdout(io.StringIO()):
        model = torch.onnx.export(network, (x,), dynamo=True, verbose=False).model_proto
    feeds = {model.graph.input[0].name: x.numpy()}
    facts = {
        "published": torchvision.models.get_model_weights(name).DEFAULT.meta["_ops"],
        "torch": counter.get_total_flops() // 2,
        "tool": tool(onnx.ModelProto.FromString(model.SerializeToString()), feeds),
        "biases": biases(model, feeds),
        **stored(model),
        "peak": peak(model, feeds),
    }
    path = models / f"{name}.onnx"
    path.write_bytes(strip(model).SerializeToString())
    add(name, path, feeds, **facts)

# The fixtures that ONNX Runtime runs.
numbers = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_, "tensor(uint8)": np.uint8}
for name in ["classifier", "detector", "encoder", "half", "head-classifier-wider", "int64", "quantised", "segmenter", "superres"]:
    path = fixtures / "models" / f"{name}.onnx"
    model = onnx.load(path)
    feeds = {i.name: np.zeros([d if isinstance(d, int) else 2 for d in i.shape], numbers[i.type]) for i in session(model).get_inputs()}
    facts = {**stored(model), "peak": peak(model, feeds)}
    if name not in ("half", "quantised"):
        facts.update(tool=tool(onnx.load(path), feeds), biases=biases(model, feeds))
    add(name, path, feeds, **facts)

# Operators, one model each.
F, I8, U8 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8
types = {F: np.float32, I8: np.int8, U8: np.uint8}


def ones(name, op, inputs, domain="", opset=21, dtype=F, extra=(), **attributes):
    """`inputs`: shapes of the first inputs; `extra`: arrays of the others, as initialisers."""
    names = [f"x{k}" for k in range(len(inputs))]
    others = [f"c{k}" for k in range(len(extra))]
    node = helper.make_node(op, [*names, *others], ["y"], name=name, domain=domain, **attributes)
    graph = helper.make_graph(
        [node], name, [helper.make_tensor_value_info(n, dtype, s) for n, s in zip(names, inputs)], [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in zip(others, extra)])
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    feeds = {n: np.ones(s, types[dtype]) for n, s in zip(names, inputs)}
    output = session(model).run(None, feeds)[0] if not (op == "DeformConv") else ReferenceEvaluator(model).run(None, feeds)[0]
    path = models / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    add(name, path, feeds, ones=int(np.asarray(output, np.float64).sum()))


ones("conv", "Conv", [(2, 6, 9, 11), (8, 3, 3, 2)], group=2, strides=[2, 1], dilations=[1, 2])
ones("conv-1d", "Conv", [(2, 6, 9), (8, 6, 3)])
ones("conv-transpose", "ConvTranspose", [(2, 6, 5, 7), (6, 4, 3, 2)], group=2, strides=[2, 3])
ones("conv-integer", "ConvInteger", [(1, 3, 8, 8), (4, 3, 3, 3)], dtype=U8)
ones("deform-conv", "DeformConv", [(1, 4, 6, 6), (2, 2, 3, 3)], extra=[np.zeros((1, 18, 4, 4), np.float32)], group=2)
ones("gemm", "Gemm", [(5, 4), (7, 5)], transA=1, transB=1)
ones("matmul", "MatMul", [(3, 1, 4, 5), (2, 5, 6)])
ones("matmul-vector", "MatMul", [(4, 5), (5,)])
ones("matmul-integer", "MatMulInteger", [(4, 5), (5, 6)], dtype=U8)
ones("einsum", "Einsum", [(2, 3, 4, 5), (2, 3, 6, 5)], equation="bhid,bhjd->bhij")
ones("einsum-ellipsis", "Einsum", [(2, 3, 4, 5), (5, 6)], equation="...k,kn->...n")
ones("einsum-implicit", "Einsum", [(4, 5), (5, 6)], equation="ij,jk")
ones("qlinear-conv", "QLinearConv", [(1, 3, 5, 5)], dtype=U8, extra=[np.float32(1), np.uint8(0), np.ones((2, 3, 3, 3), np.uint8), np.float32(1), np.uint8(0), np.float32(1), np.uint8(0)])
ones("qlinear-matmul", "QLinearMatMul", [(4, 5)], dtype=U8, extra=[np.float32(1), np.uint8(0), np.ones((5, 6), np.uint8), np.float32(1), np.uint8(0), np.float32(1), np.uint8(0)])
ones("fused-matmul", "FusedMatMul", [(2, 5, 4), (2, 6, 5)], domain="com.microsoft", transA=1, transB=1)
ones("fused-conv", "FusedConv", [(1, 4, 6, 6), (5, 4, 3, 3)], domain="com.microsoft", activation="Relu")
ones("dynamic-quantize-matmul", "DynamicQuantizeMatMul", [(4, 5)], domain="com.microsoft", extra=[np.ones((5, 6), np.uint8), np.float32(1)])
# Weights of four bits, all one: 0x99 is two nines, and the zero point is eight.
ones("matmul-nbits", "MatMulNBits", [(3, 64)], domain="com.microsoft", extra=[np.full((7, 2, 16), 0x99, np.uint8), np.ones((14,), np.float32)], K=64, N=7, bits=4, block_size=32)

# Recurrent layers: PyTorch's own counter of their cells' products.
for kind, cell, gates in (("LSTM", torch.nn.LSTMCell, 4), ("GRU", torch.nn.GRUCell, 3), ("RNN", torch.nn.RNNCell, 1)):
    steps, batch, size, hidden = 5, 2, 3, 4
    for directions in (1, 2):
        counter = FlopCounterMode(display=False)
        with torch.no_grad(), counter:
            for _ in range(steps * directions):
                cell(size, hidden)(torch.zeros(batch, size))
        arrays = [np.ones((directions, gates * hidden, size), np.float32), np.ones((directions, gates * hidden, hidden), np.float32)]
        name = f"{kind.lower()}-{directions}"
        node = helper.make_node(kind, ["x", "w", "r"], ["y"], name=name, hidden_size=hidden, direction="bidirectional" if directions == 2 else "forward")
        graph = helper.make_graph([node], name, [helper.make_tensor_value_info("x", F, (steps, batch, size))], [helper.make_empty_tensor_value_info("y")], [numpy_helper.from_array(a, n) for n, a in zip("wr", arrays)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        feeds = {"x": np.zeros((steps, batch, size), np.float32)}
        (models / f"{name}.onnx").write_bytes(model.SerializeToString())
        add(name, models / f"{name}.onnx", feeds, torch=counter.get_total_flops() // 2, peak=peak(model, feeds))


# Control flow and functions: multiply-adds counted while the reference evaluator runs the model.
executed = 0


class CountedMatMul(MatMul):
    op_domain = ""

    def _run(self, a, b):
        global executed
        (result,) = super()._run(a, b)
        executed += int(result.size) * a.shape[-1]
        return (result,)


CountedMatMul.__name__ = "MatMul"


def counted_run(name, text, feeds):
    global executed
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model)
    executed = 0
    # The evaluator takes other operators only outside functions.
    ReferenceEvaluator(onnx.inliner.inline_local_functions(model), new_ops=[CountedMatMul]).run(None, feeds)
    (models / f"{name}.onnx").write_bytes(model.SerializeToString())
    add(name, models / f"{name}.onnx", feeds, executed=executed)


x = np.ones((2, 4), np.float32)
counted_run("if-constant", """<ir_version: 10, opset_import: ["": 21]>
g (float[2,4] x) => (float[2,N] y) <float[4,4] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}, bool c = {0}> {
  y = If (c) <then_branch = t () => (float[2,N] a) { a = Identity (x) }, else_branch = e () => (float[2,N] b) { h = MatMul (x, w) b = MatMul (h, w) }>
}""", {"x": x})
counted_run("if-shape", """<ir_version: 10, opset_import: ["": 21]>
g (float[2,4] x) => (float[2,N] y) <float[4,4] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}, int64 k = {1}, int64 i = {0}> {
  s = Shape (x) n = Gather (s, i) c = Greater (n, k)
  y = If (c) <then_branch = t () => (float[2,N] a) { a = MatMul (x, w) }, else_branch = e () => (float[2,N] b) { b = Identity (x) }>
}""", {"x": x})
counted_run("loop", """<ir_version: 10, opset_import: ["": 21]>
g (float[2,4] x) => (float[2,4] y, float[N,2,4] rows) <float[4,4] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}, int64 m = {3}, bool c = {1}> {
  y, rows = Loop (m, c, x) <body = b (int64 i, bool ci, float[2,4] s) => (bool co, float[2,4] t, float[2,4] row) { co = Identity (ci) t = MatMul (s, w) row = Identity (t) }>
}""", {"x": x})
counted_run("scan", """<ir_version: 10, opset_import: ["": 21]>
g (float[5,2,4] x, float[2,4] start) => (float[2,4] y, float[5,2,4] rows) <float[4,4] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}> {
  y, rows = Scan <num_scan_inputs: int = 1, body: graph = b (float[2,4] s, float[2,4] e) => (float[2,4] t, float[2,4] row) { p = MatMul (s, w) t = Add (p, e) row = MatMul (t, w) }> (start, x)
}""", {"x": np.ones((5, 2, 4), np.float32), "start": x})
counted_run("function", """<ir_version: 10, opset_import: ["": 21, "own": 1]>
g (float[2,4] x) => (float[2,4] y) <float[4,4] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}> { h = own.twice (x, w) y = own.twice (h, w) }
<domain: "own", opset_import: ["": 21]> twice (a, m) => (r) { h = MatMul (a, m) r = MatMul (h, m) }""", {"x": x})

(here / "graph-cost.json").write_text(json.dumps(cases, indent="\t") + "\n")
