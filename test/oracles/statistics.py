# Writes statistics.json: what numpy and scipy say, for the tests of src/core/stats.
import json
import pathlib

import numpy as np
import scipy
from scipy import special, stats
from scipy.stats import mstats

rng = np.random.default_rng(20250101)


def t_cdf():
    ts = [-1e4, -300.0, -40.0, -12.5, -5.823, -3.589, -2.0, -1.0, -0.3, -1e-3, 0.0, 1e-3, 0.3, 1.0, 2.0, 3.589, 5.823, 40.0]
    return [[t, df, float(stats.t.cdf(t, df))] for df in (1, 2, 3, 4, 5, 7, 9, 11, 15, 30, 100, 200) for t in ts]


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


def trimmed():
    rows = []
    for n in (2, 3, 5, 6, 7, 8, 9, 10, 12, 16, 19, 20, 25, 40):
        x = np.round(rng.normal(0.01, 0.02, n), 12)
        cut = 0 if n < 6 else max(1, n // 10)
        share = cut / n
        mean = float(stats.trim_mean(x, (cut + 0.5) / n)) if cut else float(x.mean())
        w = np.asarray(mstats.winsorize(x, limits=(share, share)))
        error = float(mstats.trimmed_stde(x, limits=(share, share))) if cut else float(stats.sem(x))
        rows.append({"values": x.tolist(), "cut": cut, "mean": mean, "winsorisedSd": float(w.std(ddof=1)), "standardError": error, "df": n - 2 * cut - 1})
    return rows


def paired():
    # A whole verdict by scipy alone: ratios, trimmed mean, winsorised error, t at the calibrated nominal p of the look.
    looks = {5: 2 * stats.t.sf(5.823, 4), 8: 2 * stats.t.sf(4.610, 7), 12: 2 * stats.t.sf(3.856, 11), 16: 2 * stats.t.sf(3.589, 15)}
    rows = []
    for effect in (0.0, 0.01, 0.05, -0.05):
        for n, p in looks.items():
            base = np.round(2 * np.exp(rng.normal(0, 0.005, n)), 9)
            head = np.round(2 * (1 + effect) * np.exp(rng.normal(0, 0.005, n)), 9)
            d = np.log(head / base)
            cut = 0 if n < 6 else max(1, n // 10)
            mean = stats.trim_mean(d, (cut + 0.5) / n) if cut else d.mean()
            w = np.asarray(mstats.winsorize(d, limits=(cut / n, cut / n)))
            half = stats.t.isf(p / 2, n - 2 * cut - 1) * w.std(ddof=1) / ((1 - 2 * cut / n) * np.sqrt(n))
            pairs = [{"base": float(b), "head": float(h)} for b, h in zip(base, head)]
            rows.append({"pairs": pairs, "estimate": float(np.expm1(mean)), "interval": [float(np.expm1(mean - half)), float(np.expm1(mean + half))]})
    return rows


if __name__ == "__main__":
    oracle = {
        "made": {"numpy": np.__version__, "scipy": scipy.__version__},
        "logGamma": log_gamma(),
        "regularisedBeta": beta(),
        "tCdf": t_cdf(),
        "tQuantile": t_quantile(),
        "samples": {name: describe(values) for name, values in samples().items()},
        "large": large(),
        "trimmed": trimmed(),
        "paired": paired(),
    }
    path = pathlib.Path(__file__).with_name("statistics.json")
    path.write_text(json.dumps(oracle, separators=(",", ":")) + "\n")
