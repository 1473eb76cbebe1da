"""Base networks, each with edits: `edits` maps a block's name to what is different there; `all` is for the whole network."""
import numpy as np
from net import FLOAT, HALF, Net


def extra(n, name, x, what, c):
    """Something between two nodes that should cost time."""
    if what == "Softsign":
        return n.op("Softsign", f"{name}/Softsign", x)
    if what == "Clip":
        return n.act("Clip", f"{name}", x)
    if what == "bn":
        return n.bn(name, x, c)
    if what == "cast":
        return n.op("Cast", f"{name}/Cast", x, to=FLOAT)
    if what == "shuffle":
        h = {64: 112, 128: 56, 256: 28}[c]
        y = n.op("Reshape", f"{name}/Reshape", x, n.raw(f"{name}.a", np.array([0, 2, c // 2, h, h], np.int64)))
        y = n.op("Transpose", f"{name}/Transpose", y, perm=[0, 2, 1, 3, 4])
        return n.op("Reshape", f"{name}/Reshape_1", y, n.raw(f"{name}.b", np.array([0, c, h, h], np.int64)))
    if what == "transposes":
        y = n.op("Transpose", f"{name}/Transpose", x, perm=[0, 2, 3, 1])
        y = n.layer_norm(f"{name}/norm", y, c, "op")
        return n.op("Transpose", f"{name}/Transpose_1", y, perm=[0, 3, 1, 2])
    if what == "se":
        y = n.op("GlobalAveragePool", f"{name}/GlobalAveragePool", x)
        y = n.op("Relu", f"{name}/Relu", n.conv(f"{name}/fc1", y, c, c // 4, 1))
        y = n.op("Sigmoid", f"{name}/Sigmoid", n.conv(f"{name}/fc2", y, c // 4, c, 1))
        return n.op("Mul", f"{name}/Mul", x, y)
    if what == "instance":
        return n.op("InstanceNormalization", f"{name}/InstanceNormalization", x, n.const(f"{name}.s", np.ones(c)), n.const(f"{name}.b", np.zeros(c)), epsilon=1e-5)
    if what == "concat":
        y = n.conv(f"{name}/branch", x, c, c // 2, 1)
        y = n.op("Concat", f"{name}/Concat", x, y, axis=1)
        return n.conv(f"{name}/fuse", y, c + c // 2, c, 1)
    if what == "slices":
        y = [n.op("Slice", f"{name}/Slice_{i}", x, *[n.raw(f"{name}.{i}.{k}", np.array([v], np.int64)) for k, v in (("s", i), ("e", 10000), ("a", 3), ("t", 2))]) for i in (0, 1)]
        return n.op("Concat", f"{name}/Concat", y[1], y[0], axis=3)
    if what == "gather":
        order = np.arange(c).reshape(2, -1).T.reshape(-1)
        return n.op("Gather", f"{name}/Gather", x, n.raw(f"{name}.order", order.astype(np.int64)), axis=1)
    if what == "softmax":
        return n.op("Softmax", f"{name}/Softmax", x, axis=1)
    if what == "sizes":
        s = n.op("Shape", f"{name}/Shape", x)
        b = n.op("Gather", f"{name}/Gather", s, n.raw(f"{name}.i", np.array([0], np.int64)), axis=0)
        t = n.op("Concat", f"{name}/Concat", b, n.raw(f"{name}.r", np.array([c, -1], np.int64)), axis=0)
        y = n.op("Reshape", f"{name}/Reshape", x, t)
        return n.op("Reshape", f"{name}/Reshape_1", y, s)
    raise ValueError(what)


def block(n, name, x, cin, cout, s, e):
    mid, act, k, g = e.get("mid", cout), e.get("act", "Relu"), e.get("k", 3), e.get("g", 1)
    s1, s2 = (1, s) if e.get("late") else (s, 1)
    if "before" in e:
        x = extra(n, f"{name}/added", x, e["before"], cin)
    if e.get("cast"):
        y = n.op("Cast", f"{name}/Cast", x, to=FLOAT)
        half, n.half = n.half, False
        y = n.conv(f"{name}/conv1_wide", y, cin, mid, k, s1, g, bias=False)
        n.half = half
        y = n.op("Cast", f"{name}/Cast_1", y, to=HALF)
    else:
        y = n.conv(f"{name}/conv1", x, cin, mid, k, s1, g, d=e.get("d", 1), bias=False)
    if e.get("bn_late"):
        y = n.bn(f"{name}/bn1", n.act(act, f"{name}/act1", y), mid)
    else:
        y = n.bn(f"{name}/bn1", y, mid)
        if "between" in e:
            y = extra(n, f"{name}/added", y, e["between"], mid)
        if "probe" in e:
            n.output(n.op("ReduceMax", f"{name}/probe/ReduceMax", y, axes=[2, 3], keepdims=0))
        if "raw" in e:
            n.output(y)
        y = n.act(act, f"{name}/act1", y)
    if "middle" in e:
        y = extra(n, f"{name}/added", y, e["middle"], mid)
    y = n.bn(f"{name}/bn2", n.conv(f"{name}/conv2", y, mid, cout, 3, s2, bias=False), cout)
    side = x if cin == cout and s == 1 else n.bn(f"{name}/down_bn", n.conv(f"{name}/down", x, cin, cout, 1, s, bias=False), cout)
    y = side if e.get("skip_only") else y if e.get("no_skip") else n.op("Add", f"{name}/Add", y, side)
    y = n.act(act, f"{name}/act2", y)
    return extra(n, f"{name}/added_after", y, e["after"], cout) if "after" in e else y


def resblocks(edits, half=False, opset=17):
    n = Net(opset, half)
    x = n.input("input", [8, 3, 224, 224])
    every, dropped = edits.get("all", {}), edits.get("dropped", [])
    x = n.conv("/stem", x, 3, 64, edits.get("stem", {}).get("k", 7), 2, bias=False)
    x = n.act("Relu", "/stem/act", n.bn("/stem/bn", x, 64))
    if "avg" in edits.get("stem", {}):
        x = n.op("AveragePool", "/pool/AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    else:
        x = n.op("MaxPool", "/pool/MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    cin = 64
    for stage, (c, s) in enumerate(((128, 1), (256, 2)), 1):
        for i in range(4 + edits.get("more", {}).get(stage, 0)):
            name = f"/layer{stage}/layer{stage}.{i}"
            if name in dropped:
                continue
            x = block(n, name, x, cin, c, s if i == 0 else 1, {**every, **edits.get(name, {})})
            cin = c
    x = n.op("GlobalAveragePool", "/avgpool/GlobalAveragePool", x)
    x = n.op("Flatten", "/Flatten", x, axis=1)
    n.output(n.op("Gemm", "/fc/Gemm", x, n.weight("fc.weight", (256, 1000)), n.weight("fc.bias", (1000,), 0.02)))
    return n


def unet(edits):
    n = Net()
    x = n.input("image", [4, 3, 256, 256])
    kept, c, widths = [], 3, (32, 64, 128)

    def double(name, x, cin, cout):
        e = edits.get(name, {})
        for i in (1, 2):
            if e.get("reflect") == i:
                x = n.op("Pad", f"{name}/Pad", x, n.raw(f"{name}.pads", np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)), mode="reflect")
                w = n.weight(f"{name}/conv{i}.weight", (cout, cin if i == 1 else cout, 3, 3))
                x = n.op("Conv", f"{name}/conv{i}/Conv", x, w, n.weight(f"{name}/conv{i}.bias", (cout,), 0.02), kernel_shape=[3, 3])
            else:
                x = n.conv(f"{name}/conv{i}", x, cin if i == 1 else cout, cout)
            if e.get("norm") and i == 1:
                x = extra(n, f"{name}/norm{i}", x, "instance", cout)
            x = n.act(e.get("act", "Relu"), f"{name}/act{i}", x)
        return x

    for i, w in enumerate(widths):
        x = double(f"/down{i}", x, c, w)
        kept.append(x)
        x = n.op("MaxPool", f"/pool{i}/MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        c = w
    x = double("/middle", x, 128, 256)
    c = 256
    for i, w in reversed(list(enumerate(widths))):
        e = edits.get(f"/up{i}", {})
        how = e.get("resize", "nearest")
        if how == "deconv":
            x = n.op("ConvTranspose", f"/up{i}/ConvTranspose", x, n.weight(f"/up{i}.deconv", (c, c, 2, 2)), kernel_shape=[2, 2], strides=[2, 2])
        elif how == "shuffle":
            x = n.conv(f"/up{i}/expand", x, c, 4 * c, 1)
            x = n.op("DepthToSpace", f"/up{i}/DepthToSpace", x, blocksize=2, mode="CRD")
        else:
            mode = dict(mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric") if how == "nearest" else dict(mode=how, coordinate_transformation_mode="align_corners" if how == "linear" else "half_pixel")
            x = n.op("Resize", f"/up{i}/Resize", x, "", n.raw("up.scales", np.array([1, 1, 2, 2], np.float32)), **mode)
        parts = [kept[i], x] if e.get("swap") else [x, kept[i]]
        x = n.op("Concat", f"/up{i}/Concat", *parts, axis=1)
        x = double(f"/dec{i}", x, c + w, w)
        c = w
    x = n.conv("/head", x, 32, 8, 1)
    if "axis" in edits.get("/head", {}):
        x = n.op("Softmax", "/head/Softmax", x, axis=edits["/head"]["axis"])
    elif "argmax" in edits.get("/head", {}):
        x = n.op("ArgMax", "/head/ArgMax", x, axis=1, keepdims=0)
    n.output(x)
    return n


def encoder(edits):
    n = Net(edits.get("opset", 13))
    every = edits.get("all", {})
    b, seq, c = 8, 256, 512
    x = n.input("tokens", [b, seq, c])
    mask = n.input("mask", [b, 1, 1, seq]) if "mask" in edits else None
    for i in range(4 + edits.get("more", 0)):
        name = f"/layers.{i}"
        if name in edits.get("dropped", []):
            continue
        e = {**every, **edits.get(name, {})}
        heads = e.get("heads", 8)
        norm = e.get("norm", "parts")
        h = n.layer_norm(f"{name}/norm1", x, c, norm)
        shape = n.raw(f"{name}.split{heads}", np.array([b, seq, heads, c // heads], np.int64))

        def split(tag, y, perm):
            return n.op("Transpose", f"{name}/attn/{tag}/Transpose", n.op("Reshape", f"{name}/attn/{tag}/Reshape", y, shape), perm=perm)

        if e.get("qkv") == "packed":
            packed = n.linear(f"{name}/attn/qkv", h, c, 3 * c)
            cut = lambda i: [n.raw(f"{name}.cut{i}.{k}", np.array([v], np.int64)) for k, v in (("s", i * c), ("e", (i + 1) * c), ("a", 2))]
            q, k, v = (n.op("Slice", f"{name}/attn/Slice_{i}", packed, *cut(i)) for i in range(3))
        else:
            q, k, v = (n.linear(f"{name}/attn/{t}", h, c, c) for t in ("q", "k", "v"))
        q, k, v = split("q", q, [0, 2, 1, 3]), split("k", k, [0, 2, 3, 1]), split("v", v, [0, 2, 1, 3])
        s = n.op("MatMul", f"{name}/attn/scores/MatMul", q, k)
        s = n.op("Div", f"{name}/attn/Div", s, n.const(f"scale{heads}", np.float32((c // heads) ** 0.5)))
        if e.get("scores_out"):
            n.output(s)
        if mask:
            s = n.op("Add", f"{name}/attn/Add_mask", s, mask)
        if e.get("noise"):
            s = n.op("Softsign", f"{name}/attn/added/Softsign", s)
        s = n.op("Softmax", f"{name}/attn/Softmax", s, axis=e.get("axis", -1))
        o = n.op("MatMul", f"{name}/attn/context/MatMul", s, v)
        o = n.op("Transpose", f"{name}/attn/Transpose_back", o, perm=[0, 2, 1, 3])
        o = n.op("Reshape", f"{name}/attn/Reshape_back", o, n.raw("merge", np.array([b, seq, c], np.int64)))
        x = n.op("Add", f"{name}/Add", x, n.linear(f"{name}/attn/proj", o, c, c))
        h = n.layer_norm(f"{name}/norm2", x, c, norm)
        f = e.get("ffn", 2048)
        h = n.act(e.get("act", "Gelu"), f"{name}/mlp/act", n.linear(f"{name}/mlp/fc1", h, c, f))
        if e.get("gated"):
            h = n.op("Mul", f"{name}/mlp/gate/Mul", h, n.linear(f"{name}/mlp/gate", x, c, f))
        x = n.op("Add", f"{name}/Add_1", x, n.linear(f"{name}/mlp/fc2", h, f, c))
        if e.get("transposes"):
            x = n.op("Transpose", f"{name}/added/Transpose", x, perm=[0, 2, 1])
            x = n.op("CumSum", f"{name}/added/CumSum", x, n.raw("axis", np.int64(2))) if e["transposes"] == "cumsum" else n.op("Softsign", f"{name}/added/Softsign", x)
            x = n.op("Transpose", f"{name}/added/Transpose_1", x, perm=[0, 2, 1])
    n.output(n.linear("/out", x, c, 512))
    return n


def quantised(edits):
    """Explicit quantisation: Q/DQ before each convolution, per-channel Q/DQ of its weights."""
    n = Net()
    x = n.input("input", [16, 64, 56, 56])
    x = n.act("Relu", "/stem/act", n.conv("/stem", x, 64, 128))

    def qconv(name, x, e):
        w = n.weight(f"{name}.weight", (128, 128, 3, 3))
        if not e.get("float_input"):
            x = n.qdq(f"{name}/input_quantizer", x, e.get("scale", 0.04))
        if not e.get("float_weights"):
            s, z = n.raw(f"{name}/weight_quantizer.scale", np.full(128, 0.001, np.float32)), n.raw(f"{name}/weight_quantizer.zero", np.zeros(128, np.int8))
            w = n.op("QuantizeLinear", f"{name}/weight_quantizer/QuantizeLinear", w, s, z, axis=0)
            w = n.op("DequantizeLinear", f"{name}/weight_quantizer/DequantizeLinear", w, s, z, axis=0)
        if e.get("between"):
            x = n.op("Softsign", f"{name}/added/Softsign", x)
        return n.op("Conv", f"{name}/Conv", x, w, n.weight(f"{name}.bias", (128,), 0.02), kernel_shape=[3, 3], pads=[1] * 4)

    for i in range(5):
        name = f"/blocks.{i}"
        e = edits.get(name, {})
        y = n.act("Relu", f"{name}/act1", qconv(f"{name}/conv1", x, e))
        if e.get("sandwich"):
            y = n.op("Softsign", f"{name}/added/Softsign", n.qdq(f"{name}/added_quantizer", y, 0.04))
        y = qconv(f"{name}/conv2", y, edits.get(f"{name}/conv2", {}))
        if e.get("residual_qdq"):
            x = n.qdq(f"{name}/residual_quantizer", x, 0.03)
        if e.get("qdq_out"):
            y = n.qdq(f"{name}/out_quantizer", y, 0.03)
        x = n.act("Relu", f"{name}/act2", n.op("Add", f"{name}/Add", y, x))
    n.output(n.conv("/head", x, 128, 32, 1))
    return n


def depthwise(edits):
    n = Net()
    x = n.input("input", [16, 32, 112, 112])
    cin = 32
    for i, (cout, expand, k, s) in enumerate(((48, 4, 3, 2), (48, 4, 3, 1), (48, 4, 3, 1), (96, 4, 5, 2), (96, 4, 5, 1), (96, 4, 5, 1), (96, 4, 5, 1))):
        name = f"/features.{i}"
        e = edits.get(name, {})
        mid = cin * e.get("expand", expand)
        act = e.get("act", "HardSwish")
        y = n.act(act, f"{name}/act1", n.bn(f"{name}/bn1", n.conv(f"{name}/expand", x, cin, mid, 1, bias=False), mid))
        y = n.conv(f"{name}/dw", y, mid, mid, e.get("k", k), s, mid // e["per_group"] if "per_group" in e else mid, bias=False)
        y = n.act(act, f"{name}/act2", n.bn(f"{name}/bn2", y, mid))
        if i >= 4 and not e.get("no_se") or e.get("se"):
            y = extra(n, f"{name}/se", y, "se", mid)
        y = n.bn(f"{name}/bn3", n.conv(f"{name}/project", y, mid, cout, 1, bias=False), cout)
        x = n.op("Add", f"{name}/Add", x, y) if cin == cout and s == 1 else y
        cin = cout
    n.output(n.op("GlobalAveragePool", "/pool/GlobalAveragePool", x))
    return n
