"""Writes onnx-structure.json: what the onnx package reads from the model fixtures. `python test/oracles/onnx-structure.py`."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

here = Path(__file__).parent
fixtures = here.parent / "fixtures"
valueLimit = 64


def value(info):
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        return {"name": info.name, "kind": kind.removesuffix("_type")}
    tensor = info.type.tensor_type
    dims = None
    if tensor.HasField("shape"):
        dims = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim]
    return {"name": info.name, "kind": "tensor", "dtype": TensorProto.DataType.Name(tensor.elem_type).lower(), "dims": dims}


def number(x):
    x = float(x)
    return x if np.isfinite(x) else str(x)


def weight(tensor):
    entry = {"name": tensor.name, "dtype": TensorProto.DataType.Name(tensor.data_type).lower(), "dims": list(tensor.dims)}
    count = int(np.prod(tensor.dims))
    if tensor.data_type != TensorProto.STRING and tensor.data_location != TensorProto.EXTERNAL and count <= valueLimit:
        entry["values"] = [number(x) for x in numpy_helper.to_array(tensor).flatten()]
    return entry


def attribute(a):
    got = onnx.helper.get_attribute_value(a)
    if isinstance(got, bytes):
        return [a.name, got.decode()]
    if isinstance(got, (int, float)):
        return [a.name, got]
    if isinstance(got, (list, tuple)) or type(got).__name__.startswith("Repeated"):
        return [a.name, [x.decode() if isinstance(x, bytes) else x for x in got]]
    return [a.name, None]


def graph(g):
    return {
        "name": g.name,
        "inputs": [value(v) for v in g.input],
        "outputs": [value(v) for v in g.output],
        "valueInfo": [{**value(v), "dims": None} for v in g.value_info],  # shapes are not read
        "nodes": [
            {
                "name": n.name,
                "domain": n.domain,
                "op": n.op_type,
                "inputs": list(n.input),
                "outputs": list(n.output),
                "attributes": [attribute(a) for a in n.attribute],
            }
            for n in g.node
        ],
        "initializers": [weight(t) for t in g.initializer] if hasattr(g, "initializer") else [],
        "subgraphs": [graph(a.g) for n in g.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH],
    }


document = {}
for path in sorted([*fixtures.glob("models/*.onnx"), *fixtures.glob("onnx/*.onnx")]):
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception:
        continue
    if not model.HasField("graph"):
        continue
    document[str(path.relative_to(fixtures))] = {
        "irVersion": model.ir_version,
        "producer": model.producer_name,
        "opsets": [[o.domain, o.version] for o in model.opset_import],
        "functions": [[f.domain, f.name, list(f.input), list(f.output), len(f.node)] for f in model.functions],
        "graph": graph(model.graph),
    }
(here / "onnx-structure.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")
