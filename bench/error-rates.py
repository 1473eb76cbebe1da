# Writes error-rates.json: an independent simulation, in numpy and scipy, of the model in run-model.ts and of the rules of the verdict on latency.
import json
import pathlib

import numpy as np
from scipy import stats

LOOKS = (5, 8, 12, 16)
LATENCY_ERROR = 0.8 * 0.01
LIMIT = np.log(1.02)
REPLICATES = 40_000
USUAL, STRONG = (0.02, 0.02, 0.1), (0.05, 0.3, 0.3)
rng = np.random.default_rng(20260801)


def sessions(run_cv, effect, disturbance):
    n, runs = REPLICATES, 2 * LOOKS[-1]
    order = np.arange(runs)
    ramp = np.abs(rng.normal(0, 0.01, (n, 1))) * (1 - np.exp(-order / rng.uniform(3, 10, (n, 1))))
    walk = rng.normal(0, 0.001, (n, runs)).cumsum(axis=1)
    share, least, most = disturbance
    disturbed = (rng.random((n, runs)) < share) * np.log1p(rng.uniform(least, most, (n, runs)))
    logs = (ramp + walk + rng.normal(0, run_cv, (n, runs)) + disturbed).reshape(n, -1, 2)
    # Blocks of two pairs, ABBA or BAAB.
    head_first = np.repeat(rng.integers(0, 2, (n, LOOKS[-1] // 2)), 2, axis=1)
    head_first[:, 1::2] ^= 1
    first, second = logs[:, :, 0], logs[:, :, 1]
    return np.where(head_first, second, first), np.where(head_first, first, second) + np.log1p(effect)


def disturbed_pairs(base, head):
    centre = (base + head) / 2
    middle = np.median(centre, axis=1, keepdims=True)
    sd = stats.median_abs_deviation(centre, axis=1, scale="normal")[:, None]
    out = centre > middle + np.maximum(3 * sd, 0.005)
    out[3 * out.sum(axis=1) > base.shape[1]] = False
    return out


def verdicts(base, head, p):
    """1 regressed, 2 improved, 3 unchanged, 0 inconclusive."""
    aside = disturbed_pairs(base, head)
    d = np.ma.masked_array(head - base, aside)
    kept = d.count(axis=1)
    mean, sd = d.mean(axis=1).data, np.maximum(d.std(axis=1, ddof=1).data, 1e-4)
    half = stats.t.isf(p / 2, kept - 1) * sd / np.sqrt(kept)
    low, high = mean - half, mean + half
    # Pairs set aside that lean to one arm, and any at the first look, leave open what would be unchanged.
    lean = np.where(aside, np.where(head - base > mean[:, None], 1, -1), 0).sum(axis=1)
    open_ = (np.abs(lean) > max(1, base.shape[1] / 6)) | (aside.any(axis=1) & (base.shape[1] == LOOKS[0]))
    conditions = [(low > 0) & (mean >= LIMIT), (high < 0) & (mean <= -LIMIT), (low > -LIMIT) & (high < LIMIT) & ~open_]
    return np.select(conditions, [1, 2, 3], 0)


def rates(run_cv, effect, disturbance):
    base, head = sessions(run_cv, effect, disturbance)
    verdict, pairs = np.zeros(REPLICATES, int), np.full(REPLICATES, LOOKS[-1])
    for before, look in zip((0, *LOOKS), LOOKS):
        open_ = np.flatnonzero(verdict == 0)
        found = verdicts(base[open_, :look], head[open_, :look], LATENCY_ERROR * (look - before) / LOOKS[-1])
        verdict[open_] = found
        pairs[open_[found > 0]] = look
    shares = [round(float(np.mean(verdict == kind)), 5) for kind in (1, 3, 0)]
    return {"regressed": shares[0], "unchanged": shares[1], "inconclusive": shares[2], "meanPairs": round(float(pairs.mean()), 3)}


if __name__ == "__main__":
    cells = [(cv, effect, "usual") for cv in (0.002, 0.005, 0.01, 0.02, 0.03) for effect in (0, 0.01, 0.02, 0.03, 0.05)]
    cells += [(cv, effect, "strong") for cv in (0.002, 0.01, 0.03) for effect in (0, 0.03)]
    rows = [{"runCv": cv, "effect": effect, "disturbance": kind, **rates(cv, effect, STRONG if kind == "strong" else USUAL)} for cv, effect, kind in cells]
    path = pathlib.Path(__file__).with_name("error-rates.json")
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
