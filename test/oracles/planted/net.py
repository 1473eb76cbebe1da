"""A small writer of ONNX networks: every weight depends on its name alone, so that an edit changes nothing else."""
import hashlib
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HALF = TensorProto.FLOAT16
FLOAT = TensorProto.FLOAT


class Net:
    def __init__(self, opset=17, half=False):
        self.nodes, self.inits, self.inputs, self.outputs, self.opset, self.half = [], {}, [], [], opset, half

    def type(self):
        return HALF if self.half else FLOAT

    def input(self, name, shape, dtype=None):
        self.inputs.append(helper.make_tensor_value_info(name, dtype or self.type(), shape))
        return name

    def output(self, tensor):
        self.outputs.append(tensor)

    def const(self, name, array):
        array = np.asarray(array)
        if array.dtype == np.float64 or array.dtype == np.float32:
            array = array.astype(np.float16 if self.half else np.float32)
        if name not in self.inits:
            self.inits[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def raw(self, name, array):
        self.inits.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, name, shape, scale=None):
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        rng = np.random.default_rng(seed)
        return self.const(name, rng.standard_normal(shape).astype(np.float32) * (scale if scale is not None else (1.6 / fan) ** 0.5))

    def op(self, kind, name, *inputs, outputs=1, **attributes):
        outs = [f"{name}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), outs, name=name, **attributes))
        return outs[0] if outputs == 1 else outs

    def conv(self, name, x, cin, cout, k=3, s=1, g=1, d=1, bias=True):
        w = self.weight(f"{name}.weight", (cout, cin // g, k, k))
        ins = [x, w] + ([self.weight(f"{name}.bias", (cout,), 0.02)] if bias else [])
        p = d * (k - 1) // 2
        return self.op("Conv", f"{name}/Conv", *ins, kernel_shape=[k, k], strides=[s, s], pads=[p] * 4, group=g, dilations=[d, d])

    def bn(self, name, x, c):
        rng = np.random.default_rng(c)
        parts = [self.const(f"{name}.{k}", v) for k, v in (("scale", 1 + 0.1 * rng.standard_normal(c)), ("bias", 0.05 * rng.standard_normal(c)), ("mean", 0.05 * rng.standard_normal(c)), ("var", 1 + 0.1 * rng.random(c)))]
        return self.op("BatchNormalization", f"{name}/BatchNormalization", x, *parts, epsilon=1e-5)

    def act(self, kind, name, x):
        if kind == "Gelu":
            e = self.op("Div", f"{name}/Div", x, self.const("sqrt2", np.float32(2**0.5)))
            e = self.op("Erf", f"{name}/Erf", e)
            e = self.op("Add", f"{name}/Add", e, self.const("one", np.float32(1)))
            e = self.op("Mul", f"{name}/Mul", x, e)
            return self.op("Mul", f"{name}/Mul_1", e, self.const("half", np.float32(0.5)))
        if kind == "GeluTanh":
            c = self.op("Mul", f"{name}/Mul", self.op("Mul", f"{name}/Mul_sq", x, x), x)
            c = self.op("Add", f"{name}/Add", x, self.op("Mul", f"{name}/Mul_1", c, self.const("c0447", np.float32(0.044715))))
            t = self.op("Tanh", f"{name}/Tanh", self.op("Mul", f"{name}/Mul_2", c, self.const("c0797", np.float32(0.7978846))))
            t = self.op("Add", f"{name}/Add_1", t, self.const("one", np.float32(1)))
            return self.op("Mul", f"{name}/Mul_4", self.op("Mul", f"{name}/Mul_3", x, self.const("half", np.float32(0.5))), t)
        if kind == "Silu":
            return self.op("Mul", f"{name}/Mul", x, self.op("Sigmoid", f"{name}/Sigmoid", x))
        if kind == "Mish":
            return self.op("Mul", f"{name}/Mul", x, self.op("Tanh", f"{name}/Tanh", self.op("Softplus", f"{name}/Softplus", x)))
        if kind == "Clip":
            return self.op("Clip", f"{name}/Clip", x, self.const("zero", np.float32(0)), self.const("six", np.float32(6)))
        if kind == "LeakyRelu":
            return self.op(kind, f"{name}/{kind}", x, alpha=0.1)
        return self.op(kind, f"{name}/{kind}", x)

    def linear(self, name, x, cin, cout, bias=True):
        y = self.op("MatMul", f"{name}/MatMul", x, self.weight(f"{name}.weight", (cin, cout), (1.0 / cin) ** 0.5))
        return self.op("Add", f"{name}/Add", y, self.weight(f"{name}.bias", (cout,), 0.02)) if bias else y

    def q(self, name, x, scale=0.05):
        return self.op("QuantizeLinear", f"{name}/QuantizeLinear", x, self.raw(f"{name}.scale", np.float32(scale)), self.raw(f"{name}.zero", np.int8(0)))

    def dq(self, name, x, scale=0.05):
        return self.op("DequantizeLinear", f"{name}/DequantizeLinear", x, self.raw(f"{name}.scale", np.float32(scale)), self.raw(f"{name}.zero", np.int8(0)))

    def qdq(self, name, x, scale=0.05):
        return self.dq(name, self.q(name, x, scale), scale)

    def layer_norm(self, name, x, c, how):
        scale, bias = self.const(f"{name}.weight", np.ones(c)), self.const(f"{name}.bias", np.zeros(c))
        if how == "op":
            return self.op("LayerNormalization", f"{name}/LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)
        reduce = lambda tag, t: self.op("ReduceMean", f"{name}/{tag}", t, axes=[-1], keepdims=1)
        square = lambda t: self.op("Pow", f"{name}/Pow", t, self.const("two", np.float32(2)))
        if how == "rms":
            e = self.op("Sqrt", f"{name}/Sqrt", self.op("Add", f"{name}/Add", reduce("ReduceMean", square(x)), self.const("eps", np.float32(1e-5))))
            return self.op("Mul", f"{name}/Mul", self.op("Div", f"{name}/Div", x, e), scale)
        d = self.op("Sub", f"{name}/Sub", x, reduce("ReduceMean", x))
        e = self.op("Sqrt", f"{name}/Sqrt", self.op("Add", f"{name}/Add", reduce("ReduceMean_1", square(d)), self.const("eps", np.float32(1e-5))))
        return self.op("Add", f"{name}/Add_1", self.op("Mul", f"{name}/Mul", self.op("Div", f"{name}/Div", d, e), scale), bias)

    def model(self, rename=None):
        outs = [helper.make_empty_tensor_value_info(o) for o in self.outputs]
        g = helper.make_graph(self.nodes, "net", self.inputs, outs, list(self.inits.values()))
        m = helper.make_model(g, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        m = onnx.shape_inference.infer_shapes(m, strict_mode=True, data_prop=True)
        del m.graph.value_info[:]
        if rename:
            renamed(m, rename)
        onnx.checker.check_model(m)
        return m


def renamed(m, style):
    """As another exporter would write it: all nodes and inner tensors under new names; inputs and outputs keep theirs."""
    keep = {v.name for v in [*m.graph.input, *m.graph.output]}
    count, names = {}, {}

    def tensor(name):
        if not name or name in keep:
            return name
        return names.setdefault(name, f"val_{len(names)}" if style == "dynamo" else str(len(names) + 100))

    for n in m.graph.node:
        i = count[n.op_type] = count.get(n.op_type, -1) + 1
        n.name = f"node_{n.op_type}_{sum(count.values()) + len(count) - 1}" if style == "dynamo" else f"{n.op_type}_{sum(count.values()) + len(count) - 1}"
        n.input[:] = [tensor(x) for x in n.input]
        n.output[:] = [tensor(x) for x in n.output]
    for t in m.graph.initializer:
        t.name = tensor(t.name)
