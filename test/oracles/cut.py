"""Writes cut.json: how many cuts of each model the onnx package calls valid, and their hash. `python test/oracles/cut.py`."""

import hashlib
import json
import subprocess
import tempfile
from pathlib import Path

import onnx

here = Path(__file__).parent
root = here.parent.parent


def is_valid(path):
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception:
        return False
    return True


def check(path):
    model = onnx.load(path)
    [output] = model.graph.output
    # Where its rank is unknown before the part has run, the output has no shape, which the checker wants.
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, check_type=True)
    inferred.graph.output[0].type.tensor_type.shape.SetInParent()
    onnx.checker.check_model(inferred)
    read = {name for node in model.graph.node for name in node.input}
    inner = any(a.type == onnx.AttributeProto.GRAPH for node in model.graph.node for a in node.attribute)
    unread = [weight.name for weight in model.graph.initializer if weight.name not in read]
    assert inner or not unread, (path, unread)


with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["npm", "exec", "--", "node", "test/support/cuts.ts", folder], cwd=root, check=True)
    document = {}
    hashes = {}
    for at, entry in enumerate(json.loads((Path(folder) / "cuts.json").read_text())):
        file = entry["file"]
        # Some fixtures are invalid on purpose.
        if file not in hashes:
            hashes[file] = hashlib.sha256() if is_valid(root / file) else None
        if hashes[file] is None:
            continue
        path = Path(folder) / f"{at}.onnx"
        check(path)
        hashes[file].update(path.read_bytes())
        document[file] = {"cuts": document.get(file, {"cuts": 0})["cuts"] + 1, "sha256": hashes[file].hexdigest()}
    (here / "cut.json").write_text(json.dumps(document, indent="\t") + "\n")
