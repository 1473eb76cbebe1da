"""Writes a decoder as ONNX, with random seeded weights: RMSNorm, RoPE, grouped-query attention with a KV cache, SwiGLU.

    python bench/decoder.py decoder.onnx [--layers 6 --dim 512 --heads 8 --kv-heads 4 --vocab 8192] [--fault scale|rope|kv-head] [--masked]

Inputs: input_ids int64 [batch, seq], past_key_values.N.key and .value float32 [batch, kv_heads, past, head_dim]. With --masked also
attention_mask int64 [batch, past + seq] and position_ids int64 [batch, seq], of which the first row holds for all.
Outputs: logits [batch, seq, vocab], present.N.key and .value. The defaults have 25 M parameters. Needs onnx and numpy.
"""

import argparse

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    for name, default in {"layers": 6, "dim": 512, "heads": 8, "kv-heads": 4, "vocab": 8192, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--masked", action="store_true")
    parser.add_argument("--fault", choices=["scale", "rope", "kv-head"])
    return parser.parse_args()


class Graph:
    def __init__(self):
        self.nodes, self.weights = [], {}

    def const(self, value, dtype):
        array = np.asarray(value, dtype)
        name = f"c{array.dtype}{array.shape}{array.tobytes().hex()}" if array.size < 8 else f"w{len(self.weights)}"
        self.weights[name] = numpy_helper.from_array(array, name)
        return name

    def ints(self, *values):
        return self.const(values, np.int64)

    def floats(self, value):
        return self.const(value, np.float32)

    def op(self, kind, *inputs, outputs=1, named=None, **attributes):
        names = named or [f"{kind}_{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(h.make_node(kind, list(inputs), names, **attributes))
        return names[0] if len(names) == 1 else names

    def norm(self, x, weight):
        mean = self.op("ReduceMean", self.op("Mul", x, x), self.ints(-1))
        scale = self.op("Reciprocal", self.op("Sqrt", self.op("Add", mean, self.floats(1e-6))))
        return self.op("Mul", self.op("Mul", x, scale), self.floats(weight))

    def heads(self, x, weight, count):
        size = weight.shape[1] // count
        wide = self.op("Reshape", self.op("MatMul", x, self.floats(weight)), self.ints(0, 0, count, size))
        return self.op("Transpose", wide, perm=[0, 2, 1, 3])

    def rotate(self, x, angles):
        low, high = self.op("Split", x, axis=-1, outputs=2, num_outputs=2)
        cos, sin = self.op("Cos", angles), self.op("Sin", angles)
        first = self.op("Sub", self.op("Mul", low, cos), self.op("Mul", high, sin))
        second = self.op("Add", self.op("Mul", high, cos), self.op("Mul", low, sin))
        return self.op("Concat", first, second, axis=-1)


def decoder(a):
    rng = np.random.default_rng(a.seed)
    size, groups, hidden = a.dim // a.heads, a.heads // a.kv_heads, a.dim * 8 // 3 // 32 * 32
    random = lambda *shape: (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
    g = Graph()
    embedding = rng.standard_normal((a.vocab, a.dim)).astype(np.float32)
    x = g.op("Gather", g.floats(embedding), "input_ids")
    seq = g.op("Shape", "input_ids", start=1, end=2)
    past = g.op("Shape", "past_key_values.0.key", start=2, end=3)
    total, zero, one = g.op("Add", past, seq), g.const(0, np.int64), g.const(1, np.int64)
    keys = g.op("Range", zero, g.op("Squeeze", total), one)
    places = g.op("Add", g.op("Range", zero, g.op("Squeeze", seq), one), past)
    column = g.op("Unsqueeze", places, g.ints(1))
    positions = g.op("Unsqueeze", g.op("Gather", "position_ids", zero), g.ints(1)) if a.masked else column
    base = 12000.0 if a.fault == "rope" else 10000.0
    waves = g.floats(base ** (-np.arange(size // 2) * 2 / size))
    angles = g.op("Mul", g.op("Cast", positions, to=T.FLOAT), waves)
    mask = g.op("Where", g.op("LessOrEqual", keys, column), g.floats(0), g.floats(-1e9))
    if a.masked:
        absent = g.op("Mul", g.op("Sub", g.floats(1), g.op("Cast", "attention_mask", to=T.FLOAT)), g.floats(-1e9))
        mask = g.op("Add", mask, g.op("Unsqueeze", absent, g.ints(1, 2, 3)))
    inputs = [h.make_tensor_value_info("input_ids", T.INT64, ["batch", "seq"])]
    if a.masked:
        inputs.append(h.make_tensor_value_info("attention_mask", T.INT64, ["batch", "past + seq"]))
        inputs.append(h.make_tensor_value_info("position_ids", T.INT64, ["batch", "seq"]))
    outputs = [h.make_tensor_value_info("logits", T.FLOAT, ["batch", "seq", a.vocab])]
    for layer in range(a.layers):
        scale = 1.05 if a.fault == "scale" and layer == a.layers // 2 else 1.0
        y = g.norm(x, np.full(a.dim, scale))
        q = g.rotate(g.heads(y, 2 * random(a.dim, a.dim), a.heads), angles)
        k = g.rotate(g.heads(y, random(a.dim, a.kv_heads * size), a.kv_heads), angles)
        values = random(a.dim, a.kv_heads * size)
        if a.fault == "kv-head" and layer == a.layers // 2:
            values[:, :size] = 0
        cached = []
        for kind, new in (("key", k), ("value", g.heads(y, values, a.kv_heads))):
            old, now = f"past_key_values.{layer}.{kind}", f"present.{layer}.{kind}"
            g.op("Concat", old, new, axis=2, named=[now])
            inputs.append(h.make_tensor_value_info(old, T.FLOAT, ["batch", a.kv_heads, "past", size]))
            outputs.append(h.make_tensor_value_info(now, T.FLOAT, ["batch", a.kv_heads, "total", size]))
            cached.append(g.op("Unsqueeze", now, g.ints(2)))
        grouped = g.op("Reshape", q, g.ints(0, a.kv_heads, groups, -1, size))
        keys_t = g.op("Transpose", cached[0], perm=[0, 1, 2, 4, 3])
        scores = g.op("Mul", g.op("MatMul", grouped, keys_t), g.floats(size**-0.5))
        seen = g.op("MatMul", g.op("Softmax", g.op("Add", scores, mask), axis=-1), cached[1])
        joined = g.op("Transpose", g.op("Reshape", seen, g.ints(0, a.heads, -1, size)), perm=[0, 2, 1, 3])
        flat = g.op("Reshape", joined, g.ints(0, 0, a.dim))
        x = g.op("Add", x, g.op("MatMul", flat, g.floats(random(a.dim, a.dim))))
        y = g.norm(x, np.ones(a.dim))
        gate = g.op("MatMul", y, g.floats(random(a.dim, hidden)))
        swish = g.op("Mul", gate, g.op("Sigmoid", gate))
        up = g.op("Mul", swish, g.op("MatMul", y, g.floats(random(a.dim, hidden))))
        x = g.op("Add", x, g.op("MatMul", up, g.floats(random(hidden, a.dim))))
    # Logits with a standard deviation of 3: neither uniform nor one-hot.
    g.op("MatMul", g.norm(x, np.full(a.dim, 3.0)), g.floats(random(a.dim, a.vocab)), named=["logits"])
    graph = h.make_graph(g.nodes, "decoder", inputs, outputs, list(g.weights.values()))
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8)


if __name__ == "__main__":
    given = arguments()
    onnx.save(decoder(given), given.path)
