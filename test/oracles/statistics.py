# Writes statistics.json: what numpy and scipy say, for the tests of src/core/stats.
import json
import pathlib

import numpy as np
import scipy
from scipy import special, stats
from scipy.stats import mstats

rng = np.random.default_rng(20250101)


def t_quantile():
    ps = [1e-12, 1e-6, 1e-4, 0.00125, 0.0025, 0.01, 0.05, 0.25, 0.4, 0.49, 0.51, 0.6, 0.9, 0.995, 0.999, 1 - 1e-6]
    return [[p, df, float(stats.t.ppf(p, df))] for df in (1, 2, 3, 4, 5, 7, 9, 11, 13, 15, 30, 100, 150, 200) for p in ps]


def log_gamma():
    return [[x, float(special.gammaln(x))] for x in (1e-3, 0.1, 0.5, 1.5, 2.5, 5.0, 11.9, 12.0, 12.1, 50.5, 100.0, 1e4, 1e6)]


def beta():
    rows = []
    for a, b in ((0.5, 0.5), (2, 0.5), (100, 0.5), (3, 7), (20, 30), (99.99, 1.01), (990.99, 10.01), (9900.99, 100.01), (50000.5, 50000.5), (99000.99, 1000.01)):
        mean = a / (a + b)
        sd = np.sqrt(mean * (1 - mean) / (a + b + 1))
        for z in (-4, -1, 0, 1, 2):
            x = float(mean + z * sd)
            if 0 < x < 1:
                rows.append([a, b, x, float(special.betainc(a, b, x))])
    return rows


def samples():
    tied = np.repeat([0.0279541, 0.0279846, 0.0280151], [40, 50, 10])
    spiky = np.exp(rng.normal(0, 0.01, 400)) * np.where(rng.random(400) < 0.01, 1.4, 1.0)
    return {"one": [3.5], "two": [1.0, 2.0], "ten": rng.gamma(4, 1, 10).tolist(), "hundred": np.round(rng.lognormal(0, 0.3, 100), 6).tolist(), "tied": tied.tolist(), "spiky": spiky.tolist()}


def describe(values):
    x = np.asarray(values)
    ps = [0.0, 0.005, 0.1, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0]
    hd = [[p, float(mstats.hdquantiles(x, [p])[0])] for p in (0.05, 0.5, 0.9, 0.99)] if len(x) > 1 else []
    return {"values": list(values), "mean": float(x.mean()), "quantiles": [[p, float(np.quantile(x, p))] for p in ps], "harrellDavis": hd}


def large():
    # The test makes the same samples: 1 + fractional part of k·golden ratio, to the fourth power.
    k = np.arange(1, 100_001, dtype=np.float64)
    x = 1 + np.mod(k * 0.6180339887498949, 1.0) ** 4
    return {"n": len(x), "golden": 0.6180339887498949, "harrellDavis": [[p, float(mstats.hdquantiles(x, [p])[0])] for p in (0.5, 0.99)]}


def means():
    rows = []
    for n in (2, 3, 5, 6, 8, 12, 16, 40):
        x = np.round(rng.normal(0.01, 0.02, n), 12)
        rows.append({"values": x.tolist(), "mean": float(x.mean()), "sd": float(x.std(ddof=1)), "standardError": float(stats.sem(x)), "df": n - 1})
    return rows


def paired():
    # A whole verdict by numpy and scipy alone: which pairs count, log-ratios, t interval at the share of 0.01 that the look spends.
    looks = {5: 0.01 * 5 / 16, 8: 0.01 * 3 / 16, 12: 0.01 * 4 / 16, 16: 0.01 * 4 / 16}
    rows = []
    for effect, slow_runs in ((0.0, ()), (0.01, ()), (0.05, ()), (-0.05, ()), (0.03, (0,)), (0.0, (1, 3)), (0.03, (0, 1, 2, 3, 4, 5))):
        for n, p in looks.items():
            base = 2 * np.exp(rng.normal(0, 0.005, n))
            head = 2 * (1 + effect) * np.exp(rng.normal(0, 0.005, n))
            for k in slow_runs:
                (base, head)[k % 2][(5 * k) % n] *= 1.3
            base, head = np.round(base, 9), np.round(head, 9)
            centre = np.log(np.sqrt(base * head))
            limit = np.median(centre) + max(3 * stats.median_abs_deviation(centre, scale="normal"), 0.005)
            counts = centre <= limit
            if 3 * np.sum(~counts) > n:
                counts[:] = True
            d = np.log(head[counts] / base[counts])
            low, high = stats.t.interval(1 - p, len(d) - 1, d.mean(), stats.sem(d))
            pairs = [{"base": float(b), "head": float(h)} for b, h in zip(base, head)]
            levels = {"base": float(stats.gmean(base[counts])), "head": float(stats.gmean(head[counts]))}
            rows.append({"pairs": pairs, "estimate": float(np.expm1(d.mean())), "interval": [float(np.expm1(low)), float(np.expm1(high))], "setAside": int(np.sum(~counts)), **levels})
    return rows


def slopes():
    # Series as memory gives them: flat, a leak, steps of the driver, one jump and two, noise, and ties of all kinds.
    n = np.arange(12.0)
    series = [n * 0, n * 65536, np.floor(n / 4) * 2097152, (n > 5) * 2097152.0, np.floor(n / 3.9) * 2097152, n * 100 + np.round(rng.normal(0, 400, 12)), np.round(rng.normal(0, 5, 12))]
    series += [np.round(rng.normal(0, 3, k) + 0.4 * np.arange(k)) for k in (2, 3, 5, 24, 61)]
    rows = []
    for y in series:
        slope, _, low, high = stats.theilslopes(y, alpha=0.99)
        rows.append({"values": y.tolist(), "slope": float(slope), "interval": [float(low), float(high)]})
    return rows


if __name__ == "__main__":
    oracle = {
        "made": {"numpy": np.__version__, "scipy": scipy.__version__},
        "logGamma": log_gamma(),
        "regularisedBeta": beta(),
        "tQuantile": t_quantile(),
        "samples": {name: describe(values) for name, values in samples().items()},
        "large": large(),
        "means": means(),
        "paired": paired(),
        "slopes": slopes(),
    }
    path = pathlib.Path(__file__).with_name("statistics.json")
    path.write_text(json.dumps(oracle, separators=(",", ":")) + "\n")
