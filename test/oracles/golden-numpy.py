"""What numpy computes of small arrays, to the last bit: the tables that src/core/golden/polygraphy/numpy*.ts have to agree with.

    pip install numpy==2.4.6
    python test/oracles/golden-numpy.py

Writes test/oracles/golden-numpy.json. Long arrays are made of a seed by 32-bit arithmetic that any language repeats; short ones stand in the
table as bytes. Numbers are text where JSON has none (inf, nan) and where they are integers of 64 bits.
"""

import json
import warnings
from pathlib import Path

import numpy as np

warnings.filterwarnings("ignore")
nan, inf = float("nan"), float("inf")


def made(dtype, length):
    """x' = x * 1664525 + 1013904223 mod 2^32 from 1; floats are x / 2^32 - 1/2, integers x - 2^31."""
    x, values = 1, []
    for _ in range(length):
        x = (x * 1664525 + 1013904223) % 2**32
        values.append(x)
    if dtype[0] == "f":
        return (np.array(values, dtype=np.float64) / 2.0**32 - 0.5).astype(dtype)
    return np.array([value - 2**31 for value in values], dtype=np.int64).astype(dtype)


def text(value):
    return str(int(value)) if isinstance(value, (np.integer, np.bool_)) else repr(float(value))


def statistics(array, quantiles=(0.0, 0.123, 0.5, 0.99, 1.0)):
    found = {
        "sum": text(np.sum(array)),
        "mean32": text(np.mean(array, dtype=np.float32)),
        "mean64": text(np.mean(array, dtype=np.float64)),
    }
    if array.size > 0:
        found["median"] = text(np.median(array))
        found["quantiles"] = [[q, text(np.quantile(array, q))] for q in quantiles]
        found["first"], found["last"] = text(np.quantile(array, 0)), text(np.quantile(array, 1))
    return found


long = [
    {"dtype": dtype, "length": length, **statistics(made(dtype, length))}
    for dtype in ["f4", "f8", "i4", "i8"]
    for length in [1, 2, 7, 8, 9, 15, 127, 128, 129, 136, 300, 1000, 8192, 8193, 20000]
]
long += [{"dtype": dtype, "length": 0, **statistics(made(dtype, 0))} for dtype in ["f4", "i4"]]

f4, f8 = np.float32, np.float64
short_arrays = {
    "a NaN among numbers": np.array([1, nan, 3], f4),
    "an infinity among numbers": np.array([1, 2, inf], f4),
    "two infinities of one sign": np.array([1, inf, inf], f4),
    "infinities of both signs": np.array([-inf, 0, inf], f4),
    "one infinity": np.array([inf], f4),
    "an even count with infinities in the middle": np.array([1, inf, inf, inf], f4),
    "a sum beyond binary32": np.array([3e38, 3e38], f4),
    "a sum beyond binary64": np.array([1.7e308, 1.7e308], f8),
    "a small number beside a large one": np.array([2**24, 1], f4),
    "zeros of both signs": np.array([0.0, -0.0], f4),
    "integers whose sum wraps at 64 bits": np.array([2**63 - 1, 1], np.int64),
    "unsigned integers whose sum wraps at 64 bits": np.array([2**64 - 1, 2], np.uint64),
    "integers that binary64 does not hold": np.array([2**53 + 1, 2**53 + 3], np.int64),
}
short = [
    {"name": name, "dtype": array.dtype.name, "bytes": array.tobytes().hex(), "length": len(array), **statistics(array)}
    for name, array in short_arrays.items()
]


def cast_up(array):
    """As Polygraphy does before it computes."""
    wider = {"float16": "f4", "int8": "i4", "uint8": "i4", "int16": "i4", "uint16": "i4", "uint32": "i8"}
    return array.astype(wider.get(array.dtype.name, array.dtype))


operations = {
    "subtract": lambda a, b: a - b,
    "multiply": np.multiply,
    "divide": lambda a, b: a / b,
    "square": lambda a, _: np.power(a, np.array(2)),
    "absolute": lambda a, _: np.abs(a),
}
kinds = {"bool": "bool", "float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "uint64": "u64"}


def sides():
    edge = {
        "bool": [True, False, True],
        "float16": [65504, -0.1, 6e-8],
        "float32": [3e38, -0.1, 1e-40],
        "float64": [1e300, -0.1, 0],
        **{dtype: [np.iinfo(dtype).max, np.iinfo(dtype).min, 7] for dtype in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]},
    }
    arrays = [np.array(values, dtype=dtype) for dtype, values in edge.items()]
    for left in arrays:
        for right in arrays:
            yield left, right[::-1].copy()


def elementwise():
    for left, right in sides():
        for name, operation in operations.items():
            one_sided = name in ("square", "absolute")
            if one_sided and left.dtype != right.dtype:
                continue
            a, b = cast_up(left), cast_up(right)
            if name == "subtract" and a.dtype == bool and b.dtype == bool:
                continue  # numpy refuses.
            result = operation(a, b)
            sides_of = {"left": [left.dtype.name, left.tobytes().hex()], "right": [right.dtype.name, right.tobytes().hex()]}
            yield {"operation": name, **sides_of, "kind": kinds[result.dtype.name], "values": [text(value) for value in result]}


def rows(entries):
    return "[\n" + ",\n".join("\t\t" + json.dumps(entry) for entry in entries) + "\n\t]"


table = {"long": long, "short": short, "elementwise": list(elementwise())}
body = ",\n".join(f"\t{json.dumps(name)}: {rows(entries)}" for name, entries in table.items())
(Path(__file__).parent / "golden-numpy.json").write_text("{\n" + f'\t"numpy": {json.dumps(np.__version__)},\n{body}\n' + "}\n")
print({name: len(entries) for name, entries in table.items()})
