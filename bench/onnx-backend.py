"""Writes ONNX's own backend tests as files for onnx-backend.ts: models, inputs, expected outputs, and what native ONNX Runtime answers.

Usage: python bench/onnx-backend.py FOLDER   (pip install onnx onnxruntime numpy ml_dtypes)
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.backend.test.case.model import collect_testcases as model_cases
from onnx.backend.test.loader import load_model_tests

# What onnxruntime-web can feed and fetch, by ONNX's element type.
FED = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64"}


# The newest that ONNX Runtime 1.30 reads: newer tests say so, where their operators are no newer.
NEWEST_OPSET, NEWEST_IR = 26, 13


def lowered(model):
    model.ir_version = min(model.ir_version, NEWEST_IR)
    for opset in [*model.opset_import, *(each for function in model.functions for each in function.opset_import)]:
        if opset.domain in ("", "ai.onnx"):
            opset.version = min(opset.version, NEWEST_OPSET)
    return model


def fed_type(value):
    """The type by which a graph's input or output is fed; None where it is no tensor, or of a type that cannot be fed."""
    kind = value.type.WhichOneof("value")
    return FED.get(value.type.tensor_type.elem_type) if kind == "tensor_type" else None


def from_disk(case):
    """A case that lies in onnx's own data folder."""
    folder = Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    sets = []
    for data in sorted(folder.glob("test_data_set_*")):
        read = lambda role, count: [numpy_helper.to_array(onnx.load_tensor(data / f"{role}_{i}.pb")) for i in range(count)]
        count = lambda role: len(list(data.glob(f"{role}_*.pb")))
        sets.append((read("input", count("input")), read("output", count("output"))))
    return model, sets


def all_cases():
    for case in [*load_model_tests(kind="node"), *model_cases()]:
        if case.model is not None:
            yield case.name, case.model, case.data_sets, (case.rtol, case.atol)
    for kind in ("pytorch-converted", "pytorch-operator", "simple"):
        for case in load_model_tests(kind=kind):
            if case.model_dir is not None and case.url is None:
                yield case.name, *from_disk(case), (case.rtol, case.atol)


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def write_tensors(folder, prefix, infos, arrays):
    places = []
    for k, (info, array) in enumerate(zip(infos, arrays)):
        dtype = fed_type(info)
        path = folder / f"{prefix}-{k}.bin"
        path.write_bytes(np.ascontiguousarray(array.astype(np.dtype(dtype), copy=False)).tobytes())
        places.append({"name": info.name, "dtype": dtype, "shape": list(array.shape), "path": str(path)})
    return places


def native_answer(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run([value.name for value in model.graph.output], inputs)


def write_case(root, name, model, sets, tolerance):
    model = lowered(model)
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    case = {"name": name, "model": str(folder / "model.onnx"), "rtol": tolerance[0], "atol": tolerance[1], "operators": sorted({node.op_type for node in model.graph.node})}
    # Old files list weights as inputs too.
    weights = {weight.name for weight in model.graph.initializer}
    infos = [value for value in model.graph.input if value.name not in weights]
    outputs = list(model.graph.output)
    if not sets or any(fed_type(value) is None for value in [*infos, *outputs]):
        return case | {"fed": False}
    inputs, expected = sets[0]
    inputs = [as_array(value) for value in inputs]
    if len(inputs) > len(infos):
        return case | {"fed": False}
    case |= {"fed": True, "inputs": write_tensors(folder, "in", infos, inputs), "expected": write_tensors(folder, "expected", outputs, [as_array(value) for value in expected])}
    try:
        answer = native_answer(model, {info.name: array for info, array in zip(infos, inputs)})
        case["native"] = write_tensors(folder, "native", outputs, answer)
    except Exception as error:  # noqa: BLE001: whatever ONNX Runtime throws is its refusal
        case["refused"] = str(error)[:300]
    return case


def main():
    warnings.simplefilter("ignore")
    root = Path(sys.argv[1])
    cases = {}
    for name, model, sets, tolerance in all_cases():
        cases[name] = write_case(root, name, model, sets, tolerance)
    (root / "cases.json").write_text(json.dumps({"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__, "cases": list(cases.values())}))
    print(f"{len(cases)} cases, {sum(case['fed'] for case in cases.values())} of them with tensors that can be fed")


if __name__ == "__main__":
    main()
