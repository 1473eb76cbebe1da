"""Writes golden sets: inputs, the outputs that ONNX Runtime gives for them, and the manifest."""

import hashlib
import json

import numpy as np
import onnxruntime as ort

from .graph import OPSET, run

# What ONNX Runtime's builds differ by among themselves in fp32, in relative L2: 2e-6 in logits and scores, 7e-8 in
# boxes and pictures, where little is left of an error. The fp32 limits are ten and more times that, and still less
# than what 1 % in any one weight tensor does.
LOOSE, TIGHT = 2e-5, 3e-6


def limits(fp32, tf32_and_fp16, bf16, int8):
    return {"fp32": fp32, "tf32": tf32_and_fp16, "fp16": tf32_and_fp16, "bf16": bf16, "int8": int8}


def relative_l2(fp32):
    return comparator("relative-l2", limits(fp32, 5e-3, 2e-2, 5e-2))


def comparator(kind, tolerance, **options):
    return {"kind": kind, **options, "tolerance": tolerance}


def output(semantic, *comparators):
    return {"semantic": semantic, "batchAxis": 0, "comparators": list(comparators)}


OUTPUTS = {
    "classifier": {
        "logits": output(
            "logits",
            relative_l2(LOOSE),
            # Every picture must keep its class.
            comparator("top-k", 1, k=1),
            comparator("kl", limits(1e-8, 1e-4, 1e-3, 1e-2), input="logits"),
        )
    },
    "detector": {
        # max-abs is in pixels.
        "boxes": output("boxes", relative_l2(TIGHT), comparator("max-abs", limits(1e-3, 0.5, 2, 4))),
        "scores": output("tensor", comparator("relative-l2", limits(LOOSE, 2e-2, 5e-2, 1e-1))),
    },
    "segmenter": {
        "logits": output("logits", relative_l2(LOOSE)),
        # The share of pixels whose label may differ.
        "mask": output("mask", comparator("allclose", limits(1e-3, 5e-3, 2e-2, 5e-2), rtol=0, atol=0)),
    },
    "superres": {
        "image": output("image", relative_l2(TIGHT), comparator("cosine", limits(0.9999999, 0.9999, 0.9995, 0.998)))
    },
}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_tensor(folder, name, values):
    path = folder / f"{name}.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, np.ascontiguousarray(values))
    return {
        "path": path.relative_to(folder).as_posix(),
        "sha256": sha256(path),
        "format": "npy",
        "dtype": str(values.dtype),
        "shape": list(values.shape),
    }


def write_golden(root, name, model, content):
    """`content` holds the inputs of each case by name, and the seed that made them."""
    folder, model_path = root / "golden" / name, f"models/{name}.onnx"
    cases = []
    for case, inputs in content["cases"].items():
        results = run(model, inputs)
        cases.append(
            {
                "id": case,
                "inputs": {key: write_tensor(folder, f"{case}/{key}", values) for key, values in inputs.items()},
                "outputs": {key: write_tensor(folder, f"{case}/{key}", values) for key, values in results.items()},
            }
        )
    manifest = {
        "schemaVersion": 1,
        "goldenId": f"{name}@1",
        "reason": "First recording.",
        "model": {"path": model_path, "sha256": sha256(root / model_path), "opset": OPSET},
        "producer": {
            "backend": "onnxruntime-python",
            "version": ort.__version__,
            "precision": "fp32",
            "optimisation": "basic",
            "seed": content["seed"],
            "command": "python3 examples/quickstart/generate.py",
        },
        "outputs": OUTPUTS[name],
        "cases": cases,
        "policy": {"onModelChange": "compare"},
    }
    (folder / "golden.json").write_text(json.dumps(manifest, indent="\t") + "\n")
