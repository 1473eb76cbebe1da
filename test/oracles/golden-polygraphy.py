"""What Polygraphy's own comparators say of small run results: the table that `golden check --polygraphy` has to agree with.

    pip install polygraphy==0.53.6 numpy==2.4.6
    python test/oracles/golden-polygraphy.py [FOLDER OF AN OLDER POLYGRAPHY, by pip install --target]

Writes test/fixtures/polygraphy/run-results.json (Polygraphy's own files, as texts by name) and test/oracles/golden-polygraphy.json (the cases
with the verdicts: of Comparator.compare_accuracy for each output, and the exit code of `polygraphy run --load-outputs` over the same files and
flags). With an older Polygraphy, the cases that it judges otherwise are marked.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

warnings.filterwarnings("ignore")
here = Path(__file__).parent
packed = here.parent / "fixtures" / "polygraphy" / "run-results.json"
folder = Path(tempfile.gettempdir())  # main() makes one of its own.
nan, inf = float("nan"), float("inf")


def f32(*values):
    return np.array(values, dtype=np.float32)


def f16(*values):
    return np.array(values, dtype=np.float16)


def f64(*values):
    return np.array(values, dtype=np.float64)


def ints(dtype, *values):
    return np.array(values, dtype=dtype)


def wave(count, step, dtype=np.float32):
    """Values that need no random generator."""
    return (((np.arange(count) * step) % 101 - 50) / 16).astype(dtype)


# Run results by name: runner to iterations, each a dict of arrays.
runs = {}


def run(name, *iterations, runner=None):
    """One runner's results; the file's name tells candidates (c-) and goldens (g-) apart."""
    runs[name] = [(runner or ("trt" if name.startswith("c-") else "onnxrt"), list(iterations))]
    return name


def pair(name, candidate, golden):
    """One output of one iteration on each side."""
    return run(f"c-{name}", {"out": candidate}), run(f"g-{name}", {"out": golden})


cases = []


def case(name, sides, *, compare=("simple",), **settings):
    candidate, golden = sides
    cases.append({"name": name, "candidate": candidate, "golden": golden, "compare": list(compare), "settings": settings})


five = f32(1, -2, 3, 0, 1e-3)
off = f32(1.001, -2.002, 2.997, 1e-4, 1.2e-3)

# simple, each element
same = pair("same", five, five)
near = pair("near", five * np.float32(1 + 4e-6), five)
apart = pair("apart", off, five)
case("equal outputs", same)
case("relative noise below the default", near)
case("errors of a thousandth, default tolerances", apart)
case("errors of a thousandth, wide tolerances", apart, rtol=0.3, atol=1e-3)
case("errors of a thousandth, relative alone", apart, rtol=0.3, atol=0)
case("errors of a thousandth, absolute alone", apart, rtol=0, atol=3.1e-3)
case("errors of a thousandth, absolute alone and too small", apart, rtol=0, atol=2.9e-3)
case("numpy.allclose would pass: 1.5e-5 at 1", pair("sum", f32(1.000015), f32(1)))
case("near zero only the absolute tolerance holds", pair("near-zero", f32(1e-6, 1), f32(1e-9, 1)))
case("of large values only the relative tolerance holds", pair("large", f32(1e6 + 1, 1), f32(1e6, 1)))
zeros = pair("zeros", f32(2e-5, 0), f32(0, 0))
case("beside a zero the relative error is huge", zeros)
case("beside a zero within the absolute tolerance", zeros, atol=1e-4)
case("beside a zero with a huge relative tolerance", zeros, rtol=1e12, atol=0)
tenth = pair("tenth", f32(1.1, 2), f32(1, 2))
tenth_exact = pair("tenth-exact", f32(0.1), f32(0))
case("0.1 of binary32 is above a tolerance of 0.1", tenth_exact, atol=0.1, rtol=0)
case("and so by the largest error", tenth_exact, atol=0.1, rtol=0, stat="max")
case("but not above 0.1000000015", tenth_exact, atol=0.1000000015, rtol=0)
case("one element in two is off", tenth, rtol=0.05, atol=0.05)

# NaN and infinities
case("NaN in the candidate", pair("nan-candidate", f32(1, nan, 3), f32(1, 2, 3)), rtol=1, atol=1)
case("NaN in the golden", pair("nan-golden", f32(1, 2, 3), f32(1, nan, 3)), rtol=1, atol=1)
nan_both = pair("nan-both", f32(1, nan, 3), f32(1, nan, 3))
case("NaN at the same place", nan_both, rtol=1, atol=1)
case("NaN at the same place, the median of errors", nan_both, stat="median", rtol=1, atol=1)
inf_both = pair("inf-both", f32(1, inf, -inf), f32(1, inf, -inf))
case("equal infinities", inf_both)
case("equal infinities that may", inf_both, infinities_compare_equal=True)
case("equal infinities that may, by the largest error", inf_both, infinities_compare_equal=True, stat="max")
inf_sign = pair("inf-sign", f32(1, inf), f32(1, -inf))
case("infinities of other sign that may be equal", inf_sign, infinities_compare_equal=True, rtol=10, atol=10)
case("an infinity against a number", pair("inf-candidate", f32(1, inf), f32(1, 2)), infinities_compare_equal=True, rtol=10, atol=10)
case("a number against an infinity", pair("inf-golden", f32(1, 2), f32(1, inf)), infinities_compare_equal=True, rtol=10, atol=10)

# dtypes
halves = pair("halves", f16(1, 0.333, -65504), f16(1.001, 0.3333, 65504))
case("fp16, far apart: differences are binary32", halves, rtol=1.9, atol=1)
case("fp16, far apart, wide enough", halves, rtol=2, atol=1)
case("fp16 noise", pair("half-noise", f16(1.001, 2.002), f16(1, 2)), rtol=2e-3, atol=0)
doubles = pair("doubles", f64(1 + 1e-12, 2), f64(1, 2))
case("binary64", doubles, rtol=1e-11, atol=0)
case("binary64, finer than binary32 sees", doubles, rtol=1e-13, atol=1e-13)
case("fp16 against fp32", pair("half-single", f16(0.1, 2), f32(0.1, 2)), rtol=1e-3, atol=0)
case("fp32 against binary64", pair("single-double", f32(0.1, 2), f64(0.1, 2)), rtol=1e-9, atol=1e-9)
case("int32 against int64", pair("int-long", ints("i4", 1, 2, 3), ints("i8", 1, 2, 3)))
case("floats against integers", pair("float-int", f32(1.5, 0), ints("i4", 1, 0)), rtol=0.4, atol=0.4)
case("equal integers", pair("ints", ints("i4", 0, 7, -3), ints("i4", 0, 7, -3)))
case("a class that is off by one", pair("class", ints("i8", 3, 5), ints("i8", 3, 4)))
case("an id of a million that is off by one passes", pair("id", ints("i8", 1000001, 5), ints("i8", 1000000, 5)))
case("an integer beside a zero", pair("int-zero", ints("i4", 1, 0), ints("i4", 0, 0)), rtol=1000, atol=0.5)
case("int32 that overflows", pair("int-wrap", ints("i4", 2147483647, 1), ints("i4", -2147483648, 1)), rtol=0, atol=1)
case("int8 does not overflow", pair("int8", ints("i1", 127), ints("i1", -128)), rtol=0, atol=254)
case("int16 does not overflow", pair("int16", ints("i2", 32767), ints("i2", -32768)), rtol=0, atol=65535)
bytes_ = pair("bytes", ints("u1", 3, 255, 0), ints("u1", 5, 255, 0))
case("uint8", bytes_, rtol=0, atol=2)
case("uint8, too far", bytes_, rtol=0, atol=1)
case("uint32", pair("uint32", ints("u4", 1, 4294967295), ints("u4", 3, 4294967295)), rtol=0, atol=2)
case("uint64 wraps below zero", pair("uint64", ints("u8", 5), ints("u8", 7)), rtol=0, atol=10)
case("int64 beyond 2^53", pair("long", ints("i8", 2**53 + 1), ints("i8", 2**53)), rtol=0, atol=0.5)
case("equal bools", pair("bools", np.array([True, False]), np.array([True, False])))
flipped = pair("bools-flipped", np.array([True, False]), np.array([True, True]))
case("a bool that is not equal", flipped)
case("half of the bools, by the mean", flipped, stat="mean", rtol=0.5, atol=0.5)
case("half of the bools, by the largest", flipped, stat="max", rtol=0.5, atol=0.5)
case("bools have no quantile", flipped, stat="quantile", quantile=0.5)
case("bools against integers", pair("bool-int", np.array([True, False]), ints("i4", 1, 0)))

# shapes
scalar = pair("scalar", np.array(1.5, dtype=np.float32), np.array(1.25, dtype=np.float32))
case("scalars", scalar, rtol=0.2, atol=0)
case("scalars, too far", scalar, rtol=0.1, atol=0)
empty = pair("empty", np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32))
for stat in ["elemwise", "max", "mean", "median", "quantile"]:
    case(f"empty outputs, {stat}", empty, stat=stat)
case("another shape", pair("shape", np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)))
case("another rank", pair("rank", f32(1, 2, 3), f32(1, 2, 3).reshape(1, 3)))
case("empty against something", pair("empty-some", np.zeros((0,), np.float32), f32(1)))

# statistics
long = pair("long-row", wave(300, 37) + np.float32(0.01) * wave(300, 17), wave(300, 37))
for stat, limit in [("max", 0.032), ("mean", 0.02), ("median", 0.02)]:
    case(f"300 values by the {stat}", long, stat=stat, rtol=0, atol=limit)
    case(f"300 values by the {stat}, too far", long, stat=stat, rtol=0, atol=limit / 2)
case("300 values by the relative median", long, stat="median", rtol=0.011, atol=0)
for quantile, limit in [(0.99, 0.0313), (0.5, 0.0157), (0, 1e-6), (1, 0.032), (0.123, 0.0038)]:
    case(f"300 values by quantile {quantile}", long, stat="quantile", quantile=quantile, rtol=0, atol=limit)
case("300 values by quantile 0.9, too far", long, stat="quantile", quantile=0.9, rtol=0, atol=0.028)
spike = pair("spike", np.concatenate([wave(99, 7) + 5, [9]]).astype(np.float32), np.concatenate([wave(99, 7) + 5, [5]]).astype(np.float32))
case("one bad value of a hundred, each", spike, rtol=0.01, atol=0.01)
case("one bad value of a hundred hides behind the median", spike, stat="median")
case("one bad value of a hundred hides behind the quantile", spike, stat="quantile", rtol=0.05, atol=0.05)
case("one bad value of a hundred, mean", spike, stat="mean", rtol=0.05, atol=0.05)
case("an even median of integers", pair("median-int", ints("i4", 1, 2, 4, 9), ints("i4", 0, 0, 1, 1)), stat="median", rtol=0, atol=2.5)
case("a quantile of integers", pair("median-int", ints("i4", 1, 2, 4, 9), ints("i4", 0, 0, 1, 1)), stat="quantile", quantile=0.4, rtol=0, atol=2.2)
case("a mean of binary64", pair("mean-double", wave(40, 37, np.float64) * 1.001, wave(40, 37, np.float64)), stat="mean", rtol=1.0001e-3, atol=0)

# several outputs, names, iterations
heads = run("c-heads", {"a": f32(1.001), "b": f32(2.02)}), run("g-heads", {"a": f32(1), "b": f32(2)})
case("two outputs, one off", heads, rtol=2e-3, atol=0)
case("two outputs with tolerances of their own", heads, rtol={"a": 2e-3, "b": 2e-2}, atol={"": 0})
case("a tolerance for the rest", heads, rtol={"b": 2e-2, "": 2e-3}, atol=0)
case("without one for the rest the default holds", heads, rtol={"b": 2e-2}, atol=0)
case("statistics of their own", heads, stat={"a": "max", "": "mean"}, rtol={"": 2e-3, "b": 1e-2}, atol=0)
case("quantiles of their own", heads, stat="quantile", quantile={"a": 0.5}, rtol=2e-2, atol=0)
case("a tolerance for an output that is not there", heads, rtol={"c": 1, "": 2e-2}, atol=0)
case("a file that misses an output of the golden", (run("c-one", {"a": f32(1)}), "g-heads"))
case("a golden that misses an output", ("c-heads", run("g-one", {"a": f32(1)})), rtol=2e-3)
case("names that differ in case", (run("c-upper", {"OUT": f32(0)}), "g-tenth-exact"))
case("names of which one holds the other", (run("c-prefix", {"model/out:0": f32(0.1)}), "g-tenth-exact"), atol=0.2)
case("names with nothing in common are compared by place", (run("c-other", {"foo": f32(0)}), "g-tenth-exact"))
case("a name that is taken already", (run("c-taken", {"out": f32(0), "out_1": f32(9)}), "g-tenth-exact"))
case("places beyond the golden's outputs", (run("c-beyond", {"out": f32(0), "z": f32(9)}), "g-tenth-exact"))
nothing = run("g-nothing", {})
case("no output in common", ("c-one", nothing))
case("nothing for an output of the golden", (run("c-empty-handed", {}), "g-one"))
case("no outputs at all", (run("c-nothing", {}), nothing))
three = run("g-three", {"out": f32(1)}, {"out": f32(2)}, {"out": f32(3)})
numbered = run("c-numbered", {"b": f32(1), "495": f32(2), "12": f32(3)}), run("g-numbered", {"x": f32(1), "y": f32(2), "z": f32(3)})
case("outputs named by numbers keep their order", numbered)
case("three iterations", (run("c-three", {"out": f32(1)}, {"out": f32(2)}, {"out": f32(3)}), three))
case("a later iteration is off", (run("c-third", {"out": f32(1)}, {"out": f32(2)}, {"out": f32(4)}), three))
case("the iteration that is off is beyond the other's", ("c-third", run("g-two", {"out": f32(1)}, {"out": f32(2)})))
case("no iterations", (run("c-no-runs"), three))
runs["c-chain"] = [("first", [{"out": f32(1)}]), ("second", [{"out": f32(1.1)}])]
case("two runners in the candidate's file: each is compared with the next", ("c-chain", run("g-chain", {"out": f32(1.2)})), rtol=0.1)
case("two runners in one file", ("c-chain", None), rtol=0.1)
case("two runners in one file, too far", ("c-chain", None), rtol=0.01)

# indices
order = pair("order", ints("i8", 3, 1, 2, 0), ints("i8", 1, 3, 2, 0))
case("indices swapped", order, compare=["indices"])
case("indices swapped, one place allowed", order, compare=["indices"], index_tolerance=1)
case("indices equal", pair("order-same", ints("i4", 3, 1), ints("i4", 3, 1)), compare=["indices"])
case("an index moved by two, one allowed", pair("moved", ints("i4", 0, 1, 2, 3), ints("i4", 1, 2, 0, 3)), compare=["indices"], index_tolerance=1)
case("an index moved by two, two allowed", pair("moved", ints("i4", 0, 1, 2, 3), ints("i4", 1, 2, 0, 3)), compare=["indices"], index_tolerance=2)
lost = pair("lost", ints("i4", 5, 6, 7), ints("i4", 5, 6, 8))
case("an index that is not there", lost, compare=["indices"])
case("an index that is not there, at the end", lost, compare=["indices"], index_tolerance=1)
case("a tolerance as long as the row", pair("strangers", ints("i4", 1, 2), ints("i4", 8, 9)), compare=["indices"], index_tolerance=2)
case("indices that come twice", pair("twice", ints("i4", 1, 2, 2), ints("i4", 2, 1, 2)), compare=["indices"], index_tolerance=1)
batches = pair("batches", ints("i8", 1, 2, 3, 4, 5, 6).reshape(2, 3), ints("i8", 1, 2, 3, 5, 4, 6).reshape(2, 3))
case("rows of indices", batches, compare=["indices"])
case("rows of indices, one place allowed", batches, compare=["indices"], index_tolerance={"out": 1})
case("rows of indices, one place allowed for others", batches, compare=["indices"], index_tolerance={"other": 1})
case("a scalar index", pair("index-scalar", np.array(3), np.array(3)), compare=["indices"])
case("no indices", pair("no-indices", np.zeros((2, 0), np.int64), np.zeros((2, 0), np.int64)), compare=["indices"])
case("indices of another shape", pair("shape", np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)), compare=["indices"])
case("values as indices", apart, compare=["indices"])

# distance
case("L2 by default", near, compare=["l2"])
case("L2", apart, compare=["l2"], l2_threshold=3.749e-3)
case("L2, too far", apart, compare=["l2"], l2_threshold=3.748e-3)
case("L2 of integers", bytes_, compare=["l2"], l2_threshold=2)
case("L2 of int32 whose squares need 64 bits", pair("square-wide", ints("i4", 65536, 0), ints("i4", 0, 0)), compare=["l2"], l2_threshold=65536)
case("L2 of int64 whose squares overflow", pair("square-wrap", ints("i8", 2**32, 0), ints("i8", 0, 0)), compare=["l2"], l2_threshold=0)
case("L2 of uint64", pair("uint64", ints("u8", 5), ints("u8", 7)), compare=["l2"], l2_threshold=3)
case("L2 of bools against integers", pair("bool-int", np.array([True, False]), ints("i4", 1, 0)), compare=["l2"])
case("L2 of values whose squares binary32 does not hold", pair("huge", f32(1e30, 1), f32(-1e30, 1)), compare=["l2"], l2_threshold=1e38)
case("L2 with NaN", nan_both, compare=["l2"], l2_threshold=1e9)
case("L2 of nothing", empty, compare=["l2"])
case("L2 of bools", pair("bools", np.array([True, False]), np.array([True, False])), compare=["l2"])
case("cosine", apart, compare=["cosine_similarity"])
case("cosine, stricter", apart, compare=["cosine_similarity"], cosine_similarity_threshold=0.9999999)
hundred = pair("hundred", five * 100, five)
case("cosine of what is a hundred times too large", hundred, compare=["cosine_similarity"])
case("cosine of opposites", pair("opposite", -five, five), compare=["cosine_similarity"], cosine_similarity_threshold=-1)
case("cosine of zeros", pair("no-vectors", f32(0, 0), f32(0, 0)), compare=["cosine_similarity"])
case("cosine of zeros and something", pair("one-vector", f32(0, 0), f32(1, 0)), compare=["cosine_similarity"])
case("cosine with NaN", nan_both, compare=["cosine_similarity"])
case("cosine of values whose products overflow", pair("huge-same", f32(1e30, 1), f32(1e30, 1)), compare=["cosine_similarity"])
case("cosine of what stands at right angles, but for the overflow", pair("huge-apart", f32(1e30, 0), f32(1e20, 1e30)), compare=["cosine_similarity"])
case("cosine of overflows of both signs", pair("huge-signs", f32(1e30, 1e30), f32(1e30, -1e30)), compare=["cosine_similarity"], cosine_similarity_threshold=-1)
case("cosine of infinities", inf_both, compare=["cosine_similarity"])
case("cosine of int32 whose products overflow", pair("products-wrap", ints("i4", 65536, 1), ints("i4", 65536, 1)), compare=["cosine_similarity"])
case("cosine of uint64", pair("uint64", ints("u8", 5), ints("u8", 7)), compare=["cosine_similarity"])
case("cosine of integers", pair("vectors-int", ints("i4", 3, 4), ints("i4", 4, 3)), compare=["cosine_similarity"], cosine_similarity_threshold=0.96)
case("cosine of bools", flipped, compare=["cosine_similarity"], cosine_similarity_threshold=0.7)
case("cosine of nothing", empty, compare=["cosine_similarity"])
case("distance metrics", apart, compare=["distance_metrics"], l2_threshold=1e-2)
case("distance metrics of what is too large", hundred, compare=["distance_metrics"], l2_threshold=1e-2)
case("distance metrics with NaN", nan_both, compare=["distance_metrics"], l2_threshold=1e9)

# quality
case("PSNR of equals", same, compare=["psnr"])
case("PSNR", apart, compare=["psnr"], psnr_threshold=65.04)
case("PSNR, too noisy", apart, compare=["psnr"], psnr_threshold=65.06)
case("PSNR takes its peak from the candidate", hundred, compare=["psnr"], psnr_threshold=4.5)
runs["c-tiny"] = [("trt", [{"out": five}])]
runs["g-tiny"] = [("onnxrt", [{"out": five * 100}])]
case("and so not from the golden", ("c-tiny", "g-tiny"), compare=["psnr"], psnr_threshold=-30)
case("PSNR without a peak", pair("negative", f32(-1, -2), f32(-1.01, -2)), compare=["psnr"], psnr_threshold=43)
case("PSNR with NaN", nan_both, compare=["psnr"], psnr_threshold=-1000)
case("PSNR of nothing", empty, compare=["psnr"], psnr_threshold=-1000)
image = ((np.arange(64) * 37) % 256).astype(np.uint8).reshape(8, 8)
case("PSNR of a picture", pair("picture", image ^ np.uint8(1), image), compare=["psnr"], psnr_threshold=48)
case("SNR", apart, compare=["snr"])
case("SNR, stricter", apart, compare=["snr"], snr_threshold=61)
case("SNR of equals that are nothing", pair("no-vectors", f32(0, 0), f32(0, 0)), compare=["snr"])
case("SNR without signal", pair("one-vector", f32(0, 0), f32(1, 0)), compare=["snr"], snr_threshold=-1000)
case("SNR takes its power from the candidate", hundred, compare=["snr"], snr_threshold=0)
case("SNR of nothing", empty, compare=["snr"], snr_threshold=-1000)
case("quality metrics", apart, compare=["quality_metrics"])
case("quality metrics of what is too large", hundred, compare=["quality_metrics"])
case("bools have an extreme where the quantile is written as an integer", flipped, stat="quantile", quantile=1, rtol=0, atol=1)
case("and it fails where it is too large", flipped, stat="quantile", quantile=1, rtol=0, atol=0.5)
case("bools have none where the same is written with a point", flipped, stat="quantile", quantile=1.0, rtol=0, atol=1)
case("the least of bools", flipped, stat="quantile", quantile=0, rtol=0, atol=0)
infinite = pair("infinite-error", f32(1, 2, inf), f32(1, 2, 3))
case("an infinite error at quantile 1, all allowed", infinite, stat="quantile", quantile=1, rtol=inf, atol=inf)
case("an infinite error at quantile 1.0, of which nothing is computed", infinite, stat="quantile", quantile=1.0, rtol=inf, atol=inf)
case("an infinite error beside quantile 0.5", infinite, stat="quantile", quantile=0.5, rtol=inf, atol=inf)
case("several comparators, all pass", apart, compare=["simple", "cosine_similarity"], rtol=0.3, atol=1e-3)
case("several comparators, one fails", apart, compare=["simple", "cosine_similarity"])

flag_of = {
    "rtol": "--rtol",
    "atol": "--atol",
    "stat": "--check-error-stat",
    "quantile": "--error-quantile",
    "infinities_compare_equal": "--infinities-compare-equal",
    "index_tolerance": "--index-tolerance",
    "l2_threshold": "--l2-threshold",
    "cosine_similarity_threshold": "--cosine-similarity-threshold",
    "psnr_threshold": "--psnr-threshold",
    "snr_threshold": "--snr-threshold",
}
aliases = {"distance_metrics": ["l2", "cosine_similarity"], "quality_metrics": ["psnr", "snr"]}


def flags(case):
    """Polygraphy's own; each value may be by output."""
    words = ["--compare", *case["compare"]]
    for key, value in case["settings"].items():
        if value is True:
            words.append(flag_of[key])
            continue
        by_output = value if isinstance(value, dict) else {"": value}
        words += [flag_of[key], *[f"{name}:{one}" if name else str(one) for name, one in by_output.items()]]
    return words


def files_of(case):
    return [str(folder / f"{name}.json") for name in (case["candidate"], case["golden"]) if name]


def functions(case):
    from polygraphy import comparator

    s = case["settings"]
    names = [name for given in case["compare"] for name in aliases.get(given, [given])]
    simple = {key: s[key] for key in ("rtol", "atol", "infinities_compare_equal") if key in s}
    makers = {
        "simple": lambda: comparator.SimpleCompareFunc(check_error_stat=s.get("stat"), error_quantile=s.get("quantile"), **simple),
        "indices": lambda: comparator.IndicesCompareFunc(index_tolerance=s.get("index_tolerance")),
        "l2": lambda: comparator.L2CompareFunc(s.get("l2_threshold")),
        "cosine_similarity": lambda: comparator.CosineSimilarityCompareFunc(s.get("cosine_similarity_threshold")),
        "psnr": lambda: comparator.PsnrCompareFunc(s.get("psnr_threshold")),
        "snr": lambda: comparator.SnrCompareFunc(s.get("snr_threshold")),
    }
    return names, [makers[name]() for name in names]


def load(case):
    from polygraphy.comparator import RunResults

    merged = RunResults()
    for path in files_of(case):
        merged.extend(RunResults.load(path))
    return merged


def verdict(case):
    """passed, and for each pair of runners, iteration and output what each comparator says."""
    from polygraphy.comparator import Comparator

    names, funcs = functions(case)
    try:
        results = Comparator.compare_accuracy(load(case), compare_func=funcs)
    except Exception as error:  # What ends the tool is no pass.
        return {"passed": False, "stops": type(error).__name__}
    found = []
    first = results[0]
    for pair_name in first.keys():
        for index in range(len(first[pair_name])):
            outputs = {}
            for name, result in zip(names, results):
                for output, match in result[pair_name][index].items():
                    outputs.setdefault(output, {})[name] = bool(match)
            found.append({"pair": list(pair_name), "iteration": index, "outputs": outputs})
    return {"passed": bool(results), "compared": found}


def verdict_before(case):
    """Of Polygraphy up to 0.49, which has four comparison functions and takes one at a time; null where it has no such."""
    from polygraphy.comparator import Comparator, CompareFunc

    s = case["settings"]
    [name] = case["compare"] if len(case["compare"]) == 1 else [None]
    simple = {key: s[key] for key in ("rtol", "atol", "infinities_compare_equal") if key in s}
    makers = {
        "simple": lambda: CompareFunc.simple(check_error_stat=s.get("stat"), error_quantile=s.get("quantile"), **simple),
        "indices": lambda: CompareFunc.indices(index_tolerance=s.get("index_tolerance")),
        "cosine_similarity": lambda: CompareFunc.distance_metrics(inf_tolerance, s.get("cosine_similarity_threshold")),
        "distance_metrics": lambda: CompareFunc.distance_metrics(s.get("l2_threshold"), s.get("cosine_similarity_threshold")),
        "quality_metrics": lambda: CompareFunc.quality_metrics(s.get("psnr_threshold"), s.get("snr_threshold")),
    }
    if name not in makers:
        return None
    try:
        return bool(Comparator.compare_accuracy(load(case), compare_func=makers[name]()))
    except Exception:
        return False


# A NaN distance is within no tolerance, so that cosine alone is seen only where the distance is a number.
inf_tolerance = inf


def exit_code(case):
    words = ["polygraphy", "run", "--load-outputs", *files_of(case), *flags(case), "-qq"]
    environment = {**os.environ, "POLYGRAPHY_AUTOINSTALL_DEPS": "0"}
    return subprocess.run([str(Path(sys.executable).parent / words[0]), *words[1:]], capture_output=True, env=environment).returncode


def save():
    from polygraphy.comparator import IterationResult, RunResults

    for name, content in runs.items():
        results = RunResults()
        for runner, iterations in content:
            made = [IterationResult(outputs=outputs, runtime=0.001, runner_name=runner) for outputs in iterations]
            results.append((runner, made))
        results.save(str(folder / f"{name}.json"))
    texts = [f"\t{json.dumps(name)}: {json.dumps((folder / f'{name}.json').read_text())}" for name in sorted(runs)]
    packed.parent.mkdir(parents=True, exist_ok=True)
    packed.write_text("{\n" + ",\n".join(texts) + "\n}\n")


def main():
    from polygraphy.logger import G_LOGGER

    G_LOGGER.module_severity = G_LOGGER.CRITICAL
    global folder
    if sys.argv[1:2] == ["--before"]:
        folder = Path(sys.argv[2])
        print(json.dumps([verdict_before(case) for case in cases]))
        return
    import polygraphy

    made = tempfile.TemporaryDirectory()
    folder = Path(made.name)
    save()
    table = []
    for one in cases:
        said = verdict(one)
        code = exit_code(one)
        if (code == 0) != said["passed"]:
            print(f"the command says otherwise: {one['name']} {said} exit {code}", file=sys.stderr)
        sides = {"candidate": one["candidate"], "golden": one["golden"]}
        table.append({"name": one["name"], **sides, "flags": flags(one), "exit": code, **said})
    before = None
    if len(sys.argv) > 1:
        older = subprocess.run([sys.executable, __file__, "--before", str(folder)], env={**os.environ, "PYTHONPATH": sys.argv[1]}, capture_output=True, text=True)
        for entry, old in zip(table, json.loads(older.stdout.splitlines()[-1])):
            if old is not None and old != entry["passed"]:
                entry["passedBefore"] = old
        name = "import polygraphy; print(polygraphy.__version__)"
        before = subprocess.run([sys.executable, "-c", name], env={**os.environ, "PYTHONPATH": sys.argv[1]}, capture_output=True, text=True).stdout.splitlines()[-1]
    about = {"polygraphy": polygraphy.__version__, "before": before, "numpy": np.__version__}
    lines = ",\n".join("\t\t" + json.dumps(entry) for entry in table)
    head = ",\n".join(f"\t{json.dumps(key)}: {json.dumps(value)}" for key, value in about.items())
    (here / "golden-polygraphy.json").write_text("{\n" + head + ',\n\t"cases": [\n' + lines + "\n\t]\n}\n")
    print(len(table), "cases,", sum(entry["passed"] for entry in table), "pass,", packed.stat().st_size, "bytes")


main()
