"""Writes one base network and its edited versions, plan-BASE.tsv (what to build) and truth-BASE.json (what was changed). make.py OUT BASE"""
import json
import os
import sys
import onnx
import nets

out, which = sys.argv[1:3]
os.makedirs(out, exist_ok=True)
A, B = "/layer1/layer1.", "/layer2/layer2."


def conv_flags(nodes):
    return "--fp16 --precisionConstraints=obey " + " ".join(f"--{kind}=" + ",".join(f"{one}:fp32" for one in nodes) for kind in ("layerPrecisions", "layerOutputTypes"))


# base: (network, flags, {head: (edits, culprits, more)}); culprits are node names or their beginnings, in the head or (gone) the base.
bases = {
    "res": (nets.resblocks, "--fp16", {
        "consumer": ({A + "1": {"raw": 1}, A + "2": {"raw": 1}}, [A + "1/", A + "2/"], "second consumer: outputs inside fusions"),
        "probe": ({B + "1": {"probe": 1}}, [B + "1/"], "second consumer: a reduction"),
        "split": ({A + "1": {"between": "Softsign"}}, [A + "1/"], "split fusion: an operation before the activation"),
        "shuffle": ({A + "2": {"middle": "shuffle"}}, [A + "2/added"], "channel shuffle"),
        "transposes": ({B + "2": {"middle": "transposes"}}, [B + "2/added"], "LayerNorm between two transposes"),
        "widened": ({B + "1": {"mid": 384}}, [B + "1/conv1", B + "1/conv2"], "widened"),
        "block": ({"more": {1: 1}}, [A + "4/"], "one block more"),
        "dropped": ({"dropped": [B + "3"]}, [B + "3/"], "one block less"),
        "kernel": ({A + "2": {"k": 5}}, [A + "2/conv1"], "kernel 3 to 5"),
        "late-stride": ({B + "0": {"late": 1}}, [B + "0/"], "stride moved"),
        "island": ({}, [A + "1/conv1", A + "1/conv2"], "fp32 island", conv_flags([A + "1/conv1/Conv", A + "1/conv2/Conv"])),
        "mish": ({A + "3": {"act": "Mish"}}, [A + "3/"], "activation exchanged: Mish"),
        "gelu": ({"all": {"act": "Gelu"}}, [A, B], "activation exchanged everywhere: Gelu"),
        "bn-late": ({A + "1": {"bn_late": 1}}, [A + "1/"], "BatchNorm behind the activation"),
        "clip": ({A + "1": {"after": "Clip"}}, [A + "1/"], "Clip added"),
        "grouped": ({B + "2": {"g": 8}}, [B + "2/conv1"], "Conv to grouped Conv"),
        "dilated": ({B + "2": {"d": 2}}, [B + "2/conv1"], "dilation 2"),
        "se": ({A + "2": {"middle": "se"}}, [A + "2/"], "squeeze and excitation added"),
        "softmax": ({B + "1": {"middle": "softmax"}}, [B + "1/added", B + "1/"], "Softmax added"),
        "gather": ({A + "3": {"middle": "gather"}}, [A + "3/added", A + "3/"], "channels reordered by Gather"),
        "slices": ({B + "0": {"before": "slices"}}, [B + "0/added", B + "0/"], "Slice and Concat added"),
        "concat": ({A + "1": {"after": "concat"}}, [A + "1/added"], "branch and Concat added"),
        "stem": ({"stem": {"k": 11}}, ["/stem"], "larger stem kernel"),
        "sizes": ({A + "2": {"middle": "sizes"}}, [], "vanishes in the build: Reshape by computed sizes"),
        "renamed-widened": ({A + "2": {"mid": 192}}, [A + "2/conv1", A + "2/conv2"], "renamed export, widened", None, "dynamo"),
        "renamed-block": ({"more": {2: 1}}, [B + "3/", B + "4/"], "counted names, one more of equal blocks", None, "counted"),
        "renamed": ({}, [], "renamed export alone", None, "dynamo"),
    }),
    "int8": (nets.quantised, "--fp16 --int8", {
        "lost-input": ({"/blocks.2": {"float_input": 1, "float_weights": 1}}, ["/blocks.2/conv1"], "lost INT8: Q/DQ of a convolution removed"),
        "no-activation-q": ({"/blocks.1": {"float_input": 1}}, ["/blocks.1/conv1", "/blocks.1/"], "unfused Q/DQ: weights alone quantised"),
        "no-weight-q": ({"/blocks.3": {"float_weights": 1}}, ["/blocks.3/conv1"], "unfused Q/DQ: activations alone quantised"),
        "between": ({"/blocks.2": {"between": 1}}, ["/blocks.2/conv1", "/blocks.2/"], "unfused Q/DQ: an operation between DQ and Conv"),
        "sandwich": ({"/blocks.1": {"sandwich": 1}}, ["/blocks.1/"], "Q/DQ around an operation without INT8"),
        "residual": ({f"/blocks.{i}": {"residual_qdq": 1} for i in range(5)}, ["/blocks."], "Q/DQ on the residuals"),
        "out": ({"/blocks.2": {"qdq_out": 1}}, ["/blocks.2/"], "Q/DQ before the Add"),
    }),
    "enc": (nets.encoder, "--fp16", {
        "norm-op": ({"opset": 17, "all": {"norm": "op"}}, ["/layers."], "LayerNorm as one node"),
        "opset-renamed": ({"opset": 17, "all": {"norm": "op"}}, ["/layers."], "opset 13 to 17, LayerNorm as one node, counted names", None, "counted"),
        "rms": ({"/layers.1": {"norm": "rms"}}, ["/layers.1/norm"], "RMSNorm"),
        "ffn": ({"/layers.2": {"ffn": 3072}}, ["/layers.2/mlp"], "wider feed-forward"),
        "layer": ({"more": 1}, ["/layers.4/", "/layers.3/"], "one layer more"),
        "dropped": ({"dropped": ["/layers.3"]}, ["/layers.3/"], "one layer less"),
        "scores": ({"/layers.1": {"scores_out": 1}}, ["/layers.1/attn"], "attention broken: its scores are an output"),
        "softsign": ({"/layers.2": {"noise": 1}}, ["/layers.2/attn"], "an operation inside the attention"),
        "gated": ({"/layers.0": {"gated": 1}}, ["/layers.0/mlp"], "gated feed-forward"),
        "packed": ({"all": {"qkv": "packed"}}, ["/layers."], "one product for Q, K and V"),
        "heads": ({"/layers.3": {"heads": 16}}, ["/layers.3/attn"], "16 heads"),
        "transposes": ({"/layers.1": {"transposes": "softsign"}}, ["/layers.1/added"], "Softsign between transposes"),
        "tanh": ({"all": {"act": "GeluTanh"}}, ["/layers."], "tanh for erf"),
    }),
    "unet": (nets.unet, "--fp16", {
        "linear": ({"/up0": {"resize": "linear"}}, ["/up0/Resize", "/up0/", "/dec0"], "resize: linear"),
        "cubic": ({"/up1": {"resize": "cubic"}}, ["/up1/", "/dec1"], "resize: cubic"),
        "deconv": ({"/up1": {"resize": "deconv"}}, ["/up1/"], "ConvTranspose for Resize"),
        "pixels": ({"/up2": {"resize": "shuffle"}}, ["/up2/"], "DepthToSpace for Resize"),
        "swap": ({"/up0": {"swap": 1}}, [], "vanishes in the build: Concat's order"),
        "instance": ({"/down1": {"norm": 1}}, ["/down1/"], "InstanceNorm (a plugin)"),
        "reflect": ({"/dec0": {"reflect": 2}}, ["/dec0/"], "reflecting Pad"),
        "softmax": ({"/head": {"axis": 1}}, ["/head/"], "Softmax added"),
        "softmax-width": ({"/head": {"axis": 3}}, ["/head/"], "Softmax on another axis"),
        "argmax": ({"/head": {"argmax": 1}}, ["/head/"], "ArgMax added"),
    }),
    "half": (lambda e: nets.resblocks(e, half=True), "--stronglyTyped", {
        "cast": ({A + "2": {"cast": 1}}, [A + "2/conv1", A + "2/Cast"], "cast to fp32 around a convolution"),
        "casts": ({A + "1": {"cast": 1}, A + "2": {"cast": 1}, A + "3": {"cast": 1}}, [A + "1/", A + "2/", A + "3/"], "casts to fp32 in three blocks"),
    }),
    "dw": (nets.depthwise, "--fp16", {
        "full": ({"/features.1": {"per_group": 16}}, ["/features.1/dw"], "depthwise to grouped"),
        "no-se": ({"/features.5": {"no_se": 1}}, ["/features.5/se"], "squeeze and excitation removed"),
        "se": ({"/features.2": {"se": 1}}, ["/features.2/"], "squeeze and excitation added"),
        "kernel": ({"/features.2": {"k": 5}}, ["/features.2/dw"], "depthwise kernel 3 to 5"),
        "expand": ({"/features.5": {"expand": 6}}, ["/features.5/"], "wider expansion"),
        "relu": ({"/features.1": {"act": "Relu"}}, ["/features.1/"], "HardSwish to Relu"),
    }),
}

def changed(base, head, culprits):
    """The nodes at fault: of the head those that begin so, of the base where none does."""
    for nodes in (head, base):
        found = [name for name in nodes if any(name.startswith(one) for one in culprits)]
        if found:
            return found
    return []


def save(model, name):
    onnx.save(model, f"{out}/{name}.onnx")


truth, plan = {}, []
for base, (network, flags, heads) in ((which, bases[which]),):
    edits0 = {"all": {}}
    plain = network(edits0)
    save(plain.model(), base)
    plan.append((base, base, base, flags, "base"))
    for head, (edits, culprits, kind, *rest) in heads.items():
        own, style = (rest + [None, None])[:2]
        name = f"{base}-{head}"
        try:
            if own is None or edits:
                edited = network(edits)
                before = [n.name for n in edited.nodes]
                save(edited.model(style), name)
            else:
                edited, before = plain, [n.name for n in plain.nodes]
            file = name if own is None or edits else base
            names = dict(zip(before, [n.name for n in edited.nodes])) if not style else dict(zip(before, [n.name for n in onnx.load(f"{out}/{file}.onnx", load_external_data=False).graph.node]))
            nodes = changed([n.name for n in plain.nodes], before, culprits)
            truth[name] = {"base": base, "kind": kind, "culprits": [names.get(one, one) for one in nodes]}
            plan.append((name, base, file, own or flags, "head"))
        except Exception as error:  # the others are still of use
            print("failed", name, repr(error)[:500])
    for kind in ("again", "cold"):
        truth[f"{base}-{kind}"] = {"base": base, "kind": "rebuild", "culprits": []}
        plan.append((f"{base}-{kind}", base, base, flags, kind))
for part, text in (("plan.tsv", "".join("\t".join(row) + "\n" for row in plan)), ("truth.json", json.dumps(truth))):
    stem, end = part.split(".")
    with open(f"{out}/{stem}-{which}.part", "w") as file:
        file.write(text)
    os.rename(f"{out}/{stem}-{which}.part", f"{out}/{stem}-{which}.{end}")
print(len(truth), "pairs,", len(plan), "engines")
