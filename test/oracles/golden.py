# Writes golden-metrics.json, golden-files.json and the .npy fixtures: what numpy, scipy, mpmath and onnx say of comparisons and files.
# python3 test/oracles/golden.py   (numpy 2.4.6, scipy 1.17.1, onnx 1.23.2, ml_dtypes 0.6.0, mpmath)
import base64
import hashlib
import io
import json
import pathlib

import ml_dtypes
import mpmath
import numpy as np
import onnx
import scipy.special
import scipy.stats
from onnx import TensorProto, helper, numpy_helper

here = pathlib.Path(__file__).parent
npy_dir = here.parent / "fixtures" / "golden" / "npy"
random = np.random.default_rng(20240917)
mpmath.mp.dps = 50

NUMPY = {
    "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float64": np.float64,
    "int8": np.int8, "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16, "int32": np.int32, "uint32": np.uint32,
    "int64": np.int64, "uint64": np.uint64, "bool": np.bool_,
}


def b64(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def number(value):
    value = float(value)
    return value if np.isfinite(value) else str(value).replace("inf", "Infinity").replace("nan", "NaN")


def exact_list(array):
    return [int(x) for x in array.ravel()] if array.dtype.kind in "iu" else None


def difference(g, c):
    """Exact for integers, binary64 for the rest (their differences of narrower floats are exact enough there)."""
    ints = exact_list(g)
    if ints is None:
        return c.astype(np.float64).ravel() - g.astype(np.float64).ravel()
    return np.array([float(b - a) for a, b in zip(ints, exact_list(c))])


def norm(values):
    return mpmath.sqrt(mpmath.fsum(mpmath.mpf(float(v)) ** 2 for v in values))


def cosine_distance(g, c):
    g, c = [[mpmath.mpf(float(v)) for v in x.ravel()] for x in (g, c)]
    dot = mpmath.fsum(a * b for a, b in zip(g, c))
    return 1 - dot / mpmath.sqrt(mpmath.fsum(a * a for a in g) * mpmath.fsum(b * b for b in c))


def top_sets(x, k, axis):
    order = np.argsort(-x.astype(np.float64), axis=axis, kind="stable")
    return np.sort(np.take(order, range(min(k, x.shape[axis])), axis=axis), axis=axis)


def top_k(g, c, k, axis):
    return float(np.mean(np.all(top_sets(g, k, axis) == top_sets(c, k, axis), axis=axis)))


def kl_rows(g, c, axis, distribution):
    """Mean over rows, in 50 digits."""
    rows = [np.moveaxis(x.astype(np.float64), axis, -1).reshape(-1, x.shape[axis]) for x in (g, c)]
    values = []
    for p, q in zip(*rows):
        p, q = distribution(p), distribution(q)
        values.append(mpmath.fsum(a * (mpmath.log(a) - mpmath.log(b)) if b else mpmath.inf for a, b in zip(p, q) if a))
    return mpmath.fsum(values) / len(values)


def softmax(row):
    powers = [mpmath.exp(mpmath.mpf(float(x))) for x in row]
    return [x / mpmath.fsum(powers) for x in powers]


def normalised(row):
    values = [mpmath.mpf(float(x)) for x in row]
    return [x / mpmath.fsum(values) for x in values]


def kl_logits(g, c, axis):
    value = kl_rows(g, c, axis, softmax)
    p, q = (scipy.special.softmax(x, axis=axis) for x in (g, c))
    np.testing.assert_allclose(float(value), np.mean(scipy.stats.entropy(p, q, axis=axis)), rtol=1e-9, atol=1e-15)
    return value


def kl_probabilities(g, c, axis):
    value = kl_rows(g, c, axis, normalised)
    np.testing.assert_allclose(float(value), np.mean(scipy.stats.entropy(g, c, axis=axis)), rtol=1e-9)
    return value


def basics(g, c, rtol, atol):
    d = difference(g, c)
    absolute = np.abs(d)
    g64 = g.astype(np.float64).ravel()
    size = norm(g64)
    relative = norm(d) / size if size != 0 else (mpmath.mpf(0) if norm(d) == 0 else mpmath.inf)
    return {
        "relativeL2": number(relative), "maxAbs": number(absolute.max()), "maxAbsAt": int(absolute.argmax()),
        "rtol": rtol, "atol": atol, "outside": int(np.sum(~(absolute <= atol + rtol * np.abs(g64)))),
        "rms": number(size / mpmath.sqrt(g64.size)),
    }


def case(name, dtype, g, c, rtol=1e-3, atol=1e-5, classes=()):
    entry = {"name": name, "dtype": dtype, "shape": list(g.shape), "expected": b64(g), "got": b64(c)} | basics(g, c, rtol, atol)
    if np.any(g != 0) and np.any(c != 0):
        entry["cosineDistance"] = number(cosine_distance(g, c))
    entry["topK"] = [{"k": k, "axis": axis, "value": top_k(g, c, k, axis)} for k, axis in classes]
    return entry


def written_cases():
    f64 = np.float64
    one = case("five values", "float64", np.array([1, -2, 3, 0, 1e-3], f64), np.array([1.001, -2.002, 2.997, 1e-4, 1.2e-3], f64))
    kls = [
        ("probabilities", [[.1, .4, .5]], [[.8, .15, .05]], -1), ("probabilities", [[.8, .15, .05]], [[.1, .4, .5]], -1),
        ("logits", [[2, 1, 0, -1]], [[1.9, 1.1, .05, -1.2]], -1), ("probabilities", [[.5, .5, 0]], [[.25, .25, .5]], -1),
        ("probabilities", [[.5, .5]], [[1, 0]], -1),
    ]
    wide = random.normal(size=(3, 7, 5)) * 4
    kls.append(("logits", wide, wide + random.normal(size=wide.shape) * 1e-2, 1))
    kls.append(("logits", wide, wide + random.normal(size=wide.shape), -1))
    kls.append(("logits", wide * 1000, wide * 1000 + random.normal(size=wide.shape), 0))
    soft = scipy.special.softmax(wide, axis=1)
    kls.append(("probabilities", soft, scipy.special.softmax(wide + random.normal(size=wide.shape) * .1, axis=1), 1))
    entries = []
    for kind, g, c, axis in kls:
        g, c = np.array(g, f64), np.array(c, f64)
        value = (kl_logits if kind == "logits" else kl_probabilities)(g, c, axis)
        entries.append({"input": kind, "axis": axis, "shape": list(g.shape), "expected": b64(g), "got": b64(c), "kl": number(value)})
    return [one], entries


def random_pair(dtype, shape):
    kind = NUMPY[dtype]
    if dtype == "bool":
        g = random.random(shape) < 0.5
        return g, g ^ (random.random(shape) < 0.05)
    if dtype in ("int64", "uint64"):
        low = -(2 ** 62) if dtype == "int64" else 2 ** 62
        g = random.integers(low, 2 ** 63 - 10, shape, dtype=kind)
        return g, g + random.integers(0, 3, shape).astype(kind)
    if np.dtype(kind).kind in "iu":
        info = np.iinfo(kind)
        g = random.integers(info.min // 2, info.max // 2, shape, dtype=kind)
        return g, (g + random.integers(-2 if info.min < 0 else 0, 3, shape).astype(kind)).astype(kind)
    g = random.normal(size=shape) * 3
    noise = {"float64": 1e-9, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2}[dtype]
    return g.astype(kind), (g * (1 + noise * random.normal(size=shape))).astype(kind)


def random_cases():
    out = []
    for dtype in NUMPY:
        g, c = random_pair(dtype, (3, 4, 11))
        out.append(case(f"random {dtype}", dtype, g, c, 1e-4, 1e-6, [(1, -1), (3, -1), (2, 1), (50, 0)]))
    ties = np.array([[1, 3, 3, 2], [5, 5, 5, 5]], np.float32)
    out.append(case("ties", "float32", ties, np.array([[1, 3, 3.5, 2], [5, 5, 5, 4]], np.float32), classes=[(1, -1), (2, -1), (3, -1)]))
    g = (random.normal(size=(2, 40)) * 1e-140).astype(np.float64)
    out.append(case("tiny float64", "float64", g, g * (1 + 1e-4 * random.normal(size=g.shape))))
    g = (random.normal(size=(2, 40)) * 1e140).astype(np.float64)
    out.append(case("huge float64", "float64", g, g * (1 + 1e-4 * random.normal(size=g.shape))))
    g = np.zeros((2, 3), np.float32)
    out.append(case("zero golden, zero engine", "float32", g, -g))
    out.append(case("zero golden", "float32", g, g + np.float32(1e-7)))
    g = np.array([2 ** 53, -(2 ** 63), 5], np.int64)
    out.append(case("int64 beyond 2^53", "int64", g, np.array([2 ** 53 + 1, -(2 ** 63) + 1, 5], np.int64), 0, 0))
    return out


def formula():
    """Several chunks and an odd rest: values that need no file."""
    i = np.arange(150_001)
    g = (((i * 37) % 101 - 50) / 16).astype(np.float32)
    c = (g.astype(np.float64) + ((i * 17) % 7 - 3) / 4096).astype(np.float32)
    c[140_000] += np.float32(1)
    return basics(g, c, 1e-3, 1e-4) | {"elements": len(i), "cosineDistance": number(cosine_distance(g, c))}


def canonical(values):
    bits = values.astype(np.float32).view(np.uint32).copy()
    bits[np.isnan(values.astype(np.float32))] = 0x7FC00000
    return hashlib.sha256(bits.tobytes()).hexdigest()


def decode_hashes():
    patterns = np.arange(65_536, dtype=np.uint16)
    return {"float16": canonical(patterns.view(np.float16)), "bfloat16": canonical(patterns.view(ml_dtypes.bfloat16))}


def npy_files():
    npy_dir.mkdir(parents=True, exist_ok=True)
    entries = []

    def add(name, dtype, array, version=(1, 0)):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, version=version)
        (npy_dir / f"{name}.npy").write_bytes(buffer.getvalue())
        plain = np.ascontiguousarray(array)
        plain = plain.astype(plain.dtype.newbyteorder("<")) if plain.dtype.kind != "V" else plain
        entries.append({"file": f"{name}.npy", "dtype": dtype, "shape": list(array.shape), "data": b64(plain)})

    for dtype, kind in NUMPY.items():
        array, _ = random_pair(dtype, (2, 3))
        add(dtype, dtype, array)
    cube = random.normal(size=(2, 3, 4))
    add("fortran", "float32", np.asfortranarray(cube.astype(np.float32)))
    add("big-endian", "float64", cube.astype(">f8"))
    add("big-endian-fortran", "int16", np.asfortranarray((cube * 1000).astype(">i2")))
    add("version-2", "float32", cube.astype(np.float32), (2, 0))
    add("version-3", "float32", cube.astype(np.float32), (3, 0))
    add("scalar", "float32", np.array(1.5, np.float32))
    add("empty", "float32", np.zeros((0, 4), np.float32))
    add("vector", "int64", np.array([1, -2, 2 ** 60]))
    return entries


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append((value & 0x7F) | (0x80 if value > 0x7F else 0))
        value >>= 7
        if value == 0:
            return bytes(out)


def proto_files():
    entries = []

    def add(name, dtype, array, message):
        data = message if isinstance(message, bytes) else message.SerializeToString()
        entries.append({"name": name, "dtype": dtype, "shape": list(array.shape), "data": b64(array), "file": base64.b64encode(data).decode()})

    for dtype in NUMPY:
        array, _ = random_pair(dtype, (2, 3))
        raw = TensorProto(dims=array.shape, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), raw_data=array.tobytes())
        add(f"raw {dtype}", dtype, array, raw)
        values = array.ravel().tolist()
        add(f"typed {dtype}", dtype, array, helper.make_tensor("x", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, values))
        add(f"from_array {dtype}", dtype, array, numpy_helper.from_array(array, "x"))
    array = np.array([[1, -1, 300], [-70000, 0, 2 ** 31 - 1]], np.int32)
    body = b"".join(b"\x28" + varint(int(v)) for v in array.ravel())
    add("unpacked int32", "int32", array, b"\x08\x02\x08\x03\x10\x06" + body)
    array = np.array([1.5, -2.25], np.float32)
    add("unpacked float32", "float32", array, b"\x08\x02\x10\x01" + b"".join(b"\x25" + v.tobytes() for v in array))
    add("scalar", "float32", np.array(2.5, np.float32), numpy_helper.from_array(np.array(2.5, np.float32)))
    add("empty", "int64", np.zeros((0,), np.int64), numpy_helper.from_array(np.zeros((0,), np.int64)))
    return entries


vectors, kls = written_cases()
metrics = {"cases": vectors + random_cases(), "kl": kls, "formula": formula(), "decode": decode_hashes()}
(here / "golden-metrics.json").write_text(json.dumps(metrics, indent="\t") + "\n")
(here / "golden-files.json").write_text(json.dumps({"npy": npy_files(), "proto": proto_files()}, indent="\t") + "\n")
