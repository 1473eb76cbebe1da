# Makes ort_fill.json: what the inputs of timed runs must be, from the definition of the generator, by numpy's own float types.
import json
import math
import pathlib

import numpy as np

MASK = 0xFFFFFFFF


def uniforms(seed, index, count):
    state = (seed + index * 0x85EBCA6B) & MASK
    out = []
    for _ in range(count):
        state = (state + 0x9E3779B9) & MASK
        bits = state
        bits = ((bits ^ (bits >> 16)) * 0x85EBCA6B) & MASK
        bits = ((bits ^ (bits >> 13)) * 0xC2B2AE35) & MASK
        out.append((bits ^ (bits >> 16)) / 2**32)
    return out


def normals(seed, index, count):
    u = uniforms(seed, index, 2 * count)
    return [math.sqrt(-2 * math.log(1 - u[2 * i])) * math.cos(2 * math.pi * u[2 * i + 1]) for i in range(count)]


cases = []
for seed, index in [(0, 0), (1, 0), (1, 1), (4294967295, 3)]:
    cases.append({"seed": seed, "index": index, "dtype": "float32", "fill": "uniform", "values": np.float32(uniforms(seed, index, 5)).tolist()})
    cases.append({"seed": seed, "index": index, "dtype": "float64", "fill": "normal", "values": normals(seed, index, 5)})
    cases.append({"seed": seed, "index": index, "dtype": "int64", "fill": "normal", "values": [int(u >= 0.5) for u in uniforms(seed, index, 5)]})
    half = np.array(normals(seed, index, 5), np.float16)
    cases.append({"seed": seed, "index": index, "dtype": "float16", "fill": "normal", "values": half.astype(np.float64).tolist()})
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(cases, indent="\t") + "\n")
