"""Writes data/tensorrt-operators/VERSION.json: which ONNX operators that TensorRT's parser imports, and its plugins.

    python3 scripts/tensorrt-operators.py VERSION --tensorrt CLONE [--parser CLONE | --operators operators.md]

The operators come from docs/operators.md of onnx/onnx-tensorrt at the commit that NVIDIA/TensorRT pins as parsers/onnx on
its branch release/VERSION; the plugins from the name constants under plugin/ on that branch. Only facts are kept: names,
yes or no, types. A name in `restricted` has conditions in the document, in its own words, which are not copied.
"""

import argparse
import json
import re
import subprocess
from pathlib import Path

document_path = "docs/operators.md"
type_names = {"INF64": "INT64", "FLOAT32": "FP32", "FLOAT16": "FP16", "BFLOAT16": "BF16", "DOUBLE": "FP64"}


def git(clone: Path, *argv: str) -> str:
    return subprocess.run(["git", "-C", str(clone), *argv], check=True, capture_output=True, text=True).stdout


def types_of(text: str) -> str:
    names = [name.strip() for name in re.split(r",|\band\b", text)]
    return " ".join(type_names.get(name, name) for name in names if name)


def read_operators(text: str) -> dict:
    """Rows are `| name | Y or N | types | restrictions |`; the last cells or pipes may be missing."""
    by_types, restricted, unsupported = {}, [], []
    for line in text.splitlines():
        row = re.match(r"\|\s*(\w+)\s*\|\s*([YN])\s*\|?([^|]*)\|?(.*)$", line)
        if row is None:
            continue
        name, supported, types, restriction = row.groups()
        if supported == "N":
            unsupported.append(name)
            continue
        by_types.setdefault(types_of(types), []).append(name)
        if restriction.strip(" |"):
            restricted.append(name)
    opsets = re.search(r"opset (\d+) to opset (\d+)", text)
    newest = re.search(r"up to Opset (\d+)", text)
    return {
        "opsets": {"oldest": int(opsets[1]), "newest": int(opsets[2])} if opsets else {"newest": int(newest[1])},
        "types": types_of(re.search(r"following ONNX data types: ([^\n]*)", text)[1]),
        "operators": {types: " ".join(sorted(names)) for types, names in sorted(by_types.items())},
        "restricted": " ".join(sorted(restricted)),
        "unsupported": " ".join(sorted(unsupported)),
    }


def read_plugins(clone: Path, branch: str) -> str:
    pattern = r"(PLUGIN_NAMES?|kNAME|_NAMES?|PluginName)\w*(\[\])?\s*(\{|=)"
    lines = git(clone, "grep", "-hE", pattern, branch, "--", "plugin/*.cpp", "plugin/*.h", "plugin/*.cu")
    return " ".join(sorted(set(re.findall(r'"([A-Za-z][A-Za-z0-9_]+)"', lines))))


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("version")
parser.add_argument("--tensorrt", type=Path, required=True, help="clone of NVIDIA/TensorRT")
parser.add_argument("--parser", type=Path, help="clone of onnx/onnx-tensorrt")
parser.add_argument("--operators", type=Path, help="operators.md, where no clone has the pinned commit")
args = parser.parse_args()

branch = f"release/{args.version}"
commit = git(args.tensorrt, "rev-parse", f"{branch}:parsers/onnx").strip()
text = args.operators.read_text() if args.operators else git(args.parser, "show", f"{commit}:{document_path}")
document = {
    "tensorrt": args.version,
    "source": {
        "repository": "onnx/onnx-tensorrt",
        "path": document_path,
        "commit": commit,
        "licence": "Apache-2.0",
        "pinnedBy": f"NVIDIA/TensorRT {branch} {git(args.tensorrt, 'rev-parse', branch).strip()}",
        "date": git(args.tensorrt, "log", "-1", "--format=%cs", branch).strip(),
    },
    **read_operators(text),
    "plugins": read_plugins(args.tensorrt, branch),
}
folder = Path(__file__).parent.parent / "data/tensorrt-operators"
folder.mkdir(parents=True, exist_ok=True)
(folder / f"{args.version}.json").write_text(json.dumps(document, indent="\t") + "\n")
