"""What Polygraphy's default comparator says of small run results: the table that `golden check --polygraphy` has to agree with.

    pip install polygraphy==0.53.6 numpy==2.4.6
    python test/oracles/golden-polygraphy.py

Writes test/fixtures/polygraphy/run-results.json (Polygraphy's own files, as texts by name) and test/oracles/golden-polygraphy.json (the cases
with the verdicts: of Comparator.compare_accuracy for each output, and the exit code of `polygraphy run --load-outputs` over the same files and
flags).
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


def case(name, sides, **settings):
    candidate, golden = sides
    cases.append({"name": name, "candidate": candidate, "golden": golden, "settings": settings})


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
case("but not above 0.1000000015", tenth_exact, atol=0.1000000015, rtol=0)
case("one element in two is off", tenth, rtol=0.05, atol=0.05)

# NaN and infinities
case("NaN in the candidate", pair("nan-candidate", f32(1, nan, 3), f32(1, 2, 3)), rtol=1, atol=1)
case("NaN in the golden", pair("nan-golden", f32(1, 2, 3), f32(1, nan, 3)), rtol=1, atol=1)
nan_both = pair("nan-both", f32(1, nan, 3), f32(1, nan, 3))
case("NaN at the same place", nan_both, rtol=1, atol=1)
inf_both = pair("inf-both", f32(1, inf, -inf), f32(1, inf, -inf))
case("equal infinities", inf_both)
case("equal infinities that may", inf_both, infinities_compare_equal=True)
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
case("bools against integers", pair("bool-int", np.array([True, False]), ints("i4", 1, 0)))

# shapes
scalar = pair("scalar", np.array(1.5, dtype=np.float32), np.array(1.25, dtype=np.float32))
case("scalars", scalar, rtol=0.2, atol=0)
case("scalars, too far", scalar, rtol=0.1, atol=0)
empty = pair("empty", np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32))
case("empty outputs", empty)
case("another shape", pair("shape", np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)))
case("another rank", pair("rank", f32(1, 2, 3), f32(1, 2, 3).reshape(1, 3)))
case("empty against something", pair("empty-some", np.zeros((0,), np.float32), f32(1)))

# several outputs, names, iterations
heads = run("c-heads", {"a": f32(1.001), "b": f32(2.02)}), run("g-heads", {"a": f32(1), "b": f32(2)})
case("two outputs, one off", heads, rtol=2e-3, atol=0)
case("two outputs with tolerances of their own", heads, rtol={"a": 2e-3, "b": 2e-2}, atol={"": 0})
case("a tolerance for the rest", heads, rtol={"b": 2e-2, "": 2e-3}, atol=0)
case("without one for the rest the default holds", heads, rtol={"b": 2e-2}, atol=0)
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

flag_of = {"rtol": "--rtol", "atol": "--atol", "infinities_compare_equal": "--infinities-compare-equal"}


def flags(case):
    """Polygraphy's own; each value may be by output."""
    words = []
    for key, value in case["settings"].items():
        if value is True:
            words.append(flag_of[key])
            continue
        by_output = value if isinstance(value, dict) else {"": value}
        words += [flag_of[key], *[f"{name}:{one}" if name else str(one) for name, one in by_output.items()]]
    return words


def files_of(case):
    return [str(folder / f"{name}.json") for name in (case["candidate"], case["golden"]) if name]


def load(case):
    from polygraphy.comparator import RunResults

    merged = RunResults()
    for path in files_of(case):
        merged.extend(RunResults.load(path))
    return merged


def verdict(case):
    """passed, and for each pair of runners and iteration what the default comparator says of each output."""
    from polygraphy.comparator import Comparator, SimpleCompareFunc

    try:
        results = Comparator.compare_accuracy(load(case), compare_func=[SimpleCompareFunc(**case["settings"])])
    except Exception as error:  # What ends the tool is no pass.
        return {"passed": False, "stops": type(error).__name__}
    found = []
    for pair_name in results[0].keys():
        for index, outputs in enumerate(results[0][pair_name]):
            verdicts = {output: bool(match) for output, match in outputs.items()}
            found.append({"pair": list(pair_name), "iteration": index, "outputs": verdicts})
    return {"passed": bool(results), "compared": found}


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
    about = {"polygraphy": polygraphy.__version__, "numpy": np.__version__}
    lines = ",\n".join("\t\t" + json.dumps(entry) for entry in table)
    head = ",\n".join(f"\t{json.dumps(key)}: {json.dumps(value)}" for key, value in about.items())
    (here / "golden-polygraphy.json").write_text("{\n" + head + ',\n\t"cases": [\n' + lines + "\n\t]\n}\n")
    print(len(table), "cases,", sum(entry["passed"] for entry in table), "pass,", packed.stat().st_size, "bytes")


main()
