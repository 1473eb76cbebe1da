"""Writes data/onnxruntime-operators.json: what ONNX Runtime takes of each operator of the standard, and computes on the CPU.

    python3 scripts/onnxruntime-operators.py      (pip install onnx onnxruntime==1.30.0, the version of onnxruntime-web)

One line for each version of an operator: `inputs > outputs; attributes; types; kernels`. A parameter is a type variable or a set
of types; `?` optional, `*` any number of one type, `~` any number of any types. An attribute with `!` is required. A type is the
digit or letter of its number in TensorProto.DataType (`a` is 10), `.` one that is no tensor. Kernels: combinations of types
between `|`, `any`, `function` where the operator is made of others that have
kernels (`function<25`: in opsets before 25), or `none`.
"""

import json
from pathlib import Path

import onnx
import onnx.defs
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema, get_all_opkernel_def

codes = {f"tensor({name.lower()})": "0123456789abcdefghijklmnopqrstuvwxyz"[number] for name, number in onnx.TensorProto.DataType.items()}
endless = 2**31 - 1


def type_set(names) -> str:
    return "".join(sorted({codes.get(name, ".") for name in names}))


def parameter(each) -> str:
    option = str(each.option)
    mark = "?" if "Optional" in option else ("*" if each.isHomogeneous else "~") if "Variadic" in option else ""
    return (f"={type_set([each.typeStr])}" if "(" in each.typeStr else each.typeStr) + mark


def serves(kernel, since: int) -> bool:
    """As ONNX Runtime chooses: a kernel without an end is for the version it was written for alone."""
    start, end = kernel.version_range
    return start == since or (start < since <= end and end != endless)


def combinations(kernels) -> list[dict[str, str]]:
    found = []
    for kernel in kernels:
        found.append({name: type_set(types) for name, types in kernel.type_constraints.items()})
    merged = True
    while merged:
        merged = False
        for i, left in enumerate(found):
            for right in found[i + 1 :]:
                differing = [name for name in left if left[name] != right.get(name)]
                if left.keys() == right.keys() and len(differing) <= 1:
                    if differing:
                        left[differing[0]] = "".join(sorted(set(left[differing[0]] + right[differing[0]])))
                    found.remove(right)
                    merged = True
                    break
            if merged:
                break
    return found


def body_of(schema):
    """The operators that this one is made of; None where it is not."""
    try:
        known = onnx.defs.get_schema(schema.name, schema.since_version, schema.domain)
    except onnx.defs.SchemaError:
        return None
    if known.has_function:
        return [node.op_type for node in known.function_body.node]
    if not known.has_context_dependent_function:
        return None
    names = [f"x{index}" for index, _ in enumerate(schema.inputs)]
    node = onnx.helper.make_node(schema.name, names, ["y"])
    float_type = onnx.helper.make_tensor_type_proto(1, None).SerializeToString()
    try:
        text = known.get_context_dependent_function(node.SerializeToString(), [float_type] * len(names))
    except Exception:  # noqa: BLE001: this one wants other inputs, and stays unread
        return []
    body = onnx.FunctionProto()
    body.ParseFromString(text)
    return [node.op_type for node in body.node]


def has_kernel(name: str, opset: int) -> bool:
    """What a newer version of the function brought in is left open."""
    since = max((since for since in schemas[name] if since <= opset), default=None)
    if since is None or name == "Constant" or body_of(schemas[name][since]) is not None:
        return True
    return any(serves(kernel, since) for kernel in kernels.get(name, []))


def function_end(schema, body) -> str:
    """A body that is the same for all inputs holds until one of its operators changes."""
    if not onnx.defs.get_schema(schema.name, schema.since_version, schema.domain).has_function:
        return ""
    changes = [since for name in body for since in schemas[name] if since > schema.since_version]
    return f"<{min(changes)}" if changes else ""


def kernel_text(schema) -> str:
    serving = [kernel for kernel in kernels.get(schema.name, []) if serves(kernel, schema.since_version)]
    body = body_of(schema)
    ways = [" ".join(f"{name}={types}" for name, types in each.items()) or "any" for each in combinations(serving)]
    if body is not None and all(has_kernel(name, schema.since_version) for name in body):
        ways.append("function" + function_end(schema, body))
    return " | ".join(ways) or "none"


def line(schema) -> str:
    inputs = " ".join(parameter(each) for each in schema.inputs)
    outputs = " ".join(parameter(each) for each in schema.outputs)
    attributes = " ".join(name + ("!" if value.required else "") for name, value in sorted(schema.attributes.items()))
    types = " ".join(f"{each.type_param_str}={type_set(each.allowed_type_strs)}" for each in schema.type_constraints)
    return f"{inputs} > {outputs}; {attributes}; {types}; {kernel_text(schema)}"


kernels = {}
for kernel in get_all_opkernel_def():
    if kernel.provider == "CPUExecutionProvider" and kernel.domain == "":
        kernels.setdefault(kernel.op_name, []).append(kernel)
schemas = {}
for schema in get_all_operator_schema():
    if schema.domain == "":
        schemas.setdefault(schema.name, {})[schema.since_version] = schema
operators = {
    name: {str(since): line(versions[since]) for since in sorted(versions)} for name, versions in sorted(schemas.items())
}
path = Path(__file__).parent.parent / "data/onnxruntime-operators.json"
path.write_text(json.dumps({"onnxruntime": onnxruntime.__version__, "operators": operators}, indent="\t") + "\n")
