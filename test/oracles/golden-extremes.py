# Writes golden-extremes.json: what every comparator says of huge, tiny, denormal, infinite and integer values, in exact arithmetic.
# python3 test/oracles/golden-extremes.py   (numpy, ml_dtypes)
# Values become Fractions; roots and logarithms are taken by Decimal in 60 digits, whose exponents have room for all of them.
import base64
import decimal
import json
import math
import pathlib
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np

here = pathlib.Path(__file__).parent
random = np.random.default_rng(20260301)
decimal.getcontext().prec = 60
INFINITY = Decimal("Infinity")
FLOATS = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
INTS = {"int64": np.int64, "uint64": np.uint64, "int32": np.int32, "uint8": np.uint8}
ROWS, CLASSES = 8, 8


def exact(array):
    """Fractions by flat index; infinities stay floats."""
    flat = array.ravel()
    if array.dtype.kind in "iu":
        return [Fraction(int(v)) for v in flat]
    return [Fraction(float(v)) if np.isfinite(float(v)) else float(v) for v in flat]


def finite(v):
    return isinstance(v, Fraction)


def dec(v):
    return Decimal(v.numerator) / Decimal(v.denominator) if finite(v) else Decimal(v)


def number(value):
    """As binary64 has it: what is too large for it is infinite."""
    value = float(value)
    return value if math.isfinite(value) else str(value).replace("inf", "Infinity").replace("nan", "NaN")


def pairs(g, c):
    return [(a, b) for a, b in zip(g, c) if finite(a) and finite(b)]


def norm(values):
    return (dec(sum((v * v for v in values), Fraction(0)))).sqrt()


def relative_l2(both):
    d = norm([b - a for a, b in both])
    size = norm([a for a, _ in both])
    return Decimal(0) if d == 0 else (d / size if size else INFINITY)


def cosine(both):
    g, c = norm([a for a, _ in both]), norm([b for _, b in both])
    if g == 0 or c == 0:
        return Decimal(1 if g == c else 0)
    return dec(sum((a * b for a, b in both), Fraction(0))) / (g * c)


def errors(both):
    return sorted(abs(b - a) for a, b in both)


def allclose(both, rtol, atol):
    outside = sum(1 for a, b in both if abs(b - a) > Fraction(atol) + Fraction(rtol) * abs(a))
    return Decimal(outside) / len(both)


def data_range(both, dtype):
    # Of bytes it is agreed; the range of a golden may be more than binary64 holds; then its largest number stands for it.
    if dtype == "uint8":
        return Fraction(255)
    values = [a for a, _ in both]
    return min(max(values) - min(values), Fraction(float(np.finfo(np.float64).max)))


def psnr(both, dtype):
    d = [b - a for a, b in both]
    if not any(d):
        return INFINITY
    r = data_range(both, dtype)
    mse = sum((v * v for v in d), Fraction(0)) / len(d)
    return 20 * dec(r).log10() - 10 * dec(mse).log10() if r else -INFINITY


def rows(values):
    return [values[i * CLASSES:(i + 1) * CLASSES] for i in range(ROWS)]


def best(row, k):
    return sorted(range(len(row)), key=lambda i: (-row[i], i))[:k]


def top_k(g, c, k):
    same = sum(set(best(a, k)) == set(best(b, k)) for a, b in zip(rows(g), rows(c)))
    return Decimal(same) / ROWS


def softmax(row):
    """Equal shares for infinite logits, as in the limit."""
    peak = max(row)
    if not finite(peak):
        powers = [Decimal(v == peak) for v in row]
    else:
        # e^-20000 is 0 in binary64, and stays so beside everything else; Decimal's exponents do end.
        powers = [max(dec(v - peak), Decimal(-20000)).exp() if finite(v) else Decimal(0) for v in row]
    total = sum(powers)
    return [p / total for p in powers], [dec(v - peak) - total.ln() if finite(v) and finite(peak) else ((p / total).ln() if p else -INFINITY) for v, p in zip(row, powers)]


def kl_row(g, c):
    (p, lp), (_, lq) = softmax(g), softmax(c)
    return sum((INFINITY if b == -INFINITY else x * (a - b)) for x, a, b in zip(p, lp, lq) if x and a != b)


def mean_rows(g, c, of):
    return sum(of(a, b) for a, b in zip(rows(g), rows(c))) / ROWS


def ssim(g, c, dtype):
    """Uniform 7 × 7 windows with sample covariance, over one plane of ROWS × CLASSES."""
    r = data_range(list(zip(g, c)), dtype)
    c1, c2 = (r / 100) ** 2, (3 * r / 100) ** 2
    scores = []
    for top in range(ROWS - 6):
        for left in range(CLASSES - 6):
            at = [(top + i) * CLASSES + left + j for i in range(7) for j in range(7)]
            x, y = [g[i] for i in at], [c[i] for i in at]
            mx, my = sum(x) / 49, sum(y) / 49
            vx, vy = sum((v - mx) ** 2 for v in x) / 48, sum((v - my) ** 2 for v in y) / 48
            vxy = sum((a - mx) * (b - my) for a, b in zip(x, y)) / 48
            part = lambda over, under: Fraction(1) if over == under else over / under
            scores.append(part(2 * mx * my + c1, mx * mx + my * my + c1) * part(2 * vxy + c2, vx + vy + c2))
    return dec(sum(scores) / len(scores))


def similarities(values):
    vectors = [[dec(v) if finite(v) else Decimal(0) for v in row] for row in rows(values)]
    lengths = [sum(v * v for v in row).sqrt() or Decimal(1) for row in vectors]
    dot = lambda i, j: sum(a * b for a, b in zip(vectors[i], vectors[j])) / (lengths[i] * lengths[j])
    return [[dot(i, j) for j in range(ROWS)] for i in range(ROWS)]


def neighbours(g, c, k):
    """None where the choice hangs on less than binary64 tells apart, and not on a tie."""
    def ranked(table, i):
        return sorted((j for j in range(ROWS) if j != i), key=lambda j: (-table[i][j], j))
    def near(table, i):
        return set(ranked(table, i)[:k])
    a, b = similarities(g), similarities(c)
    for table in (a, b):
        for i in range(ROWS):
            last, after = ranked(table, i)[k - 1:k + 1]
            if 0 < abs(table[i][last] - table[i][after]) < Decimal("1e-12"):
                return None
    return sum(Decimal(len(near(a, i) & near(b, i))) / k for i in range(ROWS)) / ROWS


def rank_agreement(g, c):
    """Mean of Spearman's correlations; None where two are nearer than binary64 tells apart."""
    def ranks(values):
        ordered = sorted(values)
        if any(b - a < Decimal("1e-12") for a, b in zip(ordered, ordered[1:])):
            return None
        return [Decimal(ordered.index(v)) for v in values]
    scores = []
    for i, (a, b) in enumerate(zip(similarities(g), similarities(c))):
        x, y = ranks(a[:i] + a[i + 1:]), ranks(b[:i] + b[i + 1:])
        if x is None or y is None:
            return None
        middle = Decimal(len(x) - 1) / 2
        x, y = [v - middle for v in x], [v - middle for v in y]
        scores.append(sum(v * w for v, w in zip(x, y)) / (sum(v * v for v in x) * sum(v * v for v in y)).sqrt())
    return sum(scores) / ROWS


def masks(g, c):
    """Of what is above 0.5: IoU and the share of pixels that differ."""
    a, b = [v > Fraction(1, 2) for v in g], [v > Fraction(1, 2) for v in c]
    both, either = sum(x and y for x, y in zip(a, b)), sum(x or y for x, y in zip(a, b))
    differing = Decimal(sum(x != y for x, y in zip(a, b))) / len(a)
    return (Decimal(both) / either if either else 1, differing)


def values_of(dtype, g, c, labels):
    eg, ec = exact(g), exact(c)
    both = pairs(eg, ec)
    integer = dtype in INTS
    out = {
        "relative-l2": relative_l2(both), "max-abs": dec(errors(both)[-1]), "allclose": allclose(both, 1 / 1024, 0),
        "cosine": cosine(both), "psnr": psnr(both, dtype),
        "top-k": top_k(eg, ec, 3), "kl": mean_rows(eg, ec, kl_row),
        "recall-at-k": neighbours(eg, ec, 3), "rank-agreement": rank_agreement(eg, ec),
    }
    out["miou"], out["pixel-disagreement"] = masks(eg, ec)
    first = lambda values: [best(row, 1)[0] for row in rows(values)]
    if integer:
        out["token-agreement"] = Decimal(sum(a == b for a, b in zip(eg, ec))) / len(eg)
    else:
        out["token-agreement"] = Decimal(sum(a == b for a, b in zip(first(eg), first(ec)))) / ROWS
        out["accuracy"] = Decimal(sum(a == b for a, b in zip(labels, first(ec)))) / ROWS
    if all(map(finite, eg)):
        out["ssim"] = ssim(eg, ec, dtype)
    return {kind: number(value) for kind, value in out.items() if value is not None}


def entry(name, dtype, g, c):
    g, c = (np.ascontiguousarray(x.reshape(ROWS, CLASSES)) for x in (g, c))
    labels = [best(row, 1)[0] for row in rows(exact(g))]
    b64 = lambda x: base64.b64encode(x.tobytes()).decode()
    return {"name": f"{dtype}, {name}", "dtype": dtype, "expected": b64(g), "got": b64(c), "labels": labels, "values": values_of(dtype, g, c, labels)}


def normal():
    return random.normal(size=ROWS * CLASSES)


def cast(dtype, values):
    with np.errstate(over="ignore"):
        return values.astype(FLOATS[dtype])


def float_cases(dtype):
    info = ml_dtypes.finfo(FLOATS[dtype])
    most, least = float(info.max), float(info.smallest_subnormal)
    near = lambda g: g * (1 + 0.01 * normal())
    plain = normal()
    huge = plain / np.abs(plain).max() * most * 0.9
    tiny = plain * least * 2.0 ** 12
    few = np.round(plain * 3) * least
    mixed = plain * np.exp2(np.linspace(math.log2(least) + 3, math.log2(most) - 3, plain.size))
    masked = plain.copy()
    masked[::5] = -np.inf
    masked[8:16] = -np.inf
    open_end = plain.copy()
    open_end[[3, 20, 21]] = np.inf
    opposite = np.where(plain > 0, most, -most)
    sparse = np.where(np.arange(plain.size) % 9 == 0, least, huge / 16)
    kinds = {
        "plain": (plain, near(plain)), "huge": (huge, near(huge)), "tiny": (tiny, near(tiny)), "denormal": (few, few + np.round(normal()) * least),
        "mixed": (mixed, near(mixed)), "huge against tiny": (huge, tiny), "tiny against huge": (tiny, huge), "small engine": (plain, normal() * 2.0 ** -20),
        "masked": (masked, np.where(np.isinf(masked), masked, near(plain))), "infinite": (open_end, np.where(np.isinf(open_end), open_end, near(plain))),
        "opposite ends": (opposite, -opposite), "zero engine": (plain, plain * 0), "denormal beside huge": (sparse, np.where(np.arange(plain.size) % 9 == 0, 3 * least, sparse)),
        "itself": (huge, huge),
    }
    return [entry(name, dtype, cast(dtype, g), cast(dtype, c)) for name, (g, c) in kinds.items()]


def int_cases(dtype):
    info = np.iinfo(INTS[dtype])
    count = ROWS * CLASSES
    wide = random.integers(info.min, info.max, count, dtype=INTS[dtype], endpoint=True)
    middle = max(info.max // 2, 2 ** 53 if info.max > 2 ** 53 else 0)
    close = np.array([middle + int(v) for v in random.integers(0, 40, count)], INTS[dtype])
    moved = np.array([int(v) + int(d) for v, d in zip(close, random.integers(0, 4, count))], INTS[dtype])
    ends = np.where(np.arange(count) % 2 == 0, INTS[dtype](info.min), INTS[dtype](info.max)).astype(INTS[dtype])
    other = random.integers(info.min, info.max, count, dtype=INTS[dtype], endpoint=True)
    kinds = {"whole range": (wide, other), "close together": (close, moved), "opposite ends": (ends, ends[::-1].copy()), "itself": (wide, wide)}
    return [entry(name, dtype, g, c) for name, (g, c) in kinds.items()]


def one_class_far_below():
    """Row 0 of the golden is all zeros, the engine's too but for class 3, at -730."""
    g = np.zeros(ROWS * CLASSES)
    c = g.copy()
    c[3] = -730
    return entry("one class far below", "float64", g, c)


def far_smaller():
    g, c = normal(), normal() * 1e-20
    return entry("engine of 1e-20", "float64", g, c)


# No engine computes in float64, whose squares may leave binary64.
cases = [case for dtype in FLOATS if dtype != "float64" for case in float_cases(dtype)] + [case for dtype in INTS for case in int_cases(dtype)]
cases += [one_class_far_below(), far_smaller()]
text = ",\n".join("\t\t" + json.dumps(case) for case in cases)
(here / "golden-extremes.json").write_text('{\n\t"shape": [%d, %d],\n\t"cases": [\n%s\n\t]\n}\n' % (ROWS, CLASSES, text))
