"""Writes data/onnx-operators.json: the operators of the ONNX standard, by domain.

Each operator has the opset that introduced it and, where it was withdrawn, the opset that did. Needs `pip install onnx`.
"""

import json
from pathlib import Path

import onnx
from onnx import defs

domains = {"": {}, "ai.onnx.ml": {}}
for schema in defs.get_all_schemas_with_history():
    if schema.domain not in domains:
        continue
    entry = domains[schema.domain].setdefault(schema.name, {"since": schema.since_version})
    entry["since"] = min(entry["since"], schema.since_version)
    if schema.since_version >= entry.get("latest", 0):
        entry["latest"] = schema.since_version
        entry["until"] = schema.since_version if schema.deprecated else None

document = {
    "onnx": onnx.__version__,
    "domains": {name: {op: domains[name][op] for op in sorted(domains[name])} for name in sorted(domains)},
}
lines = ["{", f'\t"onnx": "{document["onnx"]}",', '\t"domains": {']
for domain_index, (domain, operators) in enumerate(document["domains"].items()):
    lines.append(f"\t\t{json.dumps(domain)}: {{")
    rows = [f'\t\t\t"{op}": {{ ' + ", ".join(f'"{key}": {value}' for key, value in entry.items() if key != "latest" and value is not None) + " }" for op, entry in operators.items()]
    lines.append(",\n".join(rows))
    lines.append("\t\t}" + ("," if domain_index + 1 < len(domains) else ""))
lines += ["\t}", "}", ""]
Path(__file__).parent.parent.joinpath("data/onnx-operators.json").write_text("\n".join(lines))
