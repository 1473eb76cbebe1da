# Writes golden-set.json: what numpy, scipy and scikit-learn say of metrics over all cases of a golden together.
# python3 test/oracles/golden-set.py   (numpy 2.4.6, scipy 1.17.1, scikit-learn 1.9.1)
import base64
import json
import pathlib

import numpy as np
import scipy.special
import scipy.stats
from sklearn.metrics import jaccard_score, top_k_accuracy_score

here = pathlib.Path(__file__).parent
random = np.random.default_rng(23)


def b64(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def cases(gs, cs):
    return [{"shape": list(g.shape), "dtype": str(g.dtype), "expected": b64(g), "got": b64(c)} for g, c in zip(gs, cs)]


def rows():
    gs = [random.normal(size=(n, 6)) for n in (1, 7, 3, 12)]
    cs = [g + 0.6 * random.normal(size=g.shape) for g in gs]
    g, c = np.concatenate(gs), np.concatenate(cs)
    labels = [np.where(random.random(len(x)) < 0.7, x.argmax(1), random.integers(0, 6, len(x))).tolist() for x in gs]
    flat = sum(labels, [])
    p, q = scipy.special.softmax(g, axis=1), scipy.special.softmax(c, axis=1)
    return {
        "cases": [entry | {"labels": own} for entry, own in zip(cases(gs, cs), labels)],
        "accuracy": {str(k): float(top_k_accuracy_score(flat, c, k=k, labels=range(6))) for k in (1, 2)},
        "golden": float(top_k_accuracy_score(flat, g, k=1, labels=range(6))),
        "top-k": float(np.mean(g.argmax(1) == c.argmax(1))),
        "kl": float(np.mean(scipy.stats.entropy(p, q, axis=1))),
        "allclose": float(np.mean(~np.isclose(c, g, rtol=0.1, atol=0.1))),
        "relative-l2": float(np.linalg.norm(c - g) / np.linalg.norm(g)),
    }


def maps():
    gs = [random.integers(0, 4 if i else 2, (5, 6)).astype(np.int32) for i in range(3)]
    cs = [np.where(random.random(g.shape) < 0.2, (g + 1) % 5, g).astype(np.int32) for g in gs]
    g, c = np.concatenate([x.ravel() for x in gs]), np.concatenate([x.ravel() for x in cs])
    labels = sorted(set(g) | set(c))
    return {"cases": cases(gs, cs), "miou": float(jaccard_score(g, c, average="macro", labels=labels)),
            "pixel-disagreement": float(np.mean(g != c))}


def embeddings():
    gs = [random.normal(size=(n, 8)) for n in (1, 1, 4, 1, 13, 1)]
    cs = [g + 0.5 * random.normal(size=g.shape) for g in gs]
    cs[2][0] = cs[2][1]

    def similarities(x):
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        return unit @ unit.T

    a, b = (similarities(np.concatenate(x)) for x in (gs, cs))
    n, k = len(a), 3
    near = lambda s: np.argsort(-(s - 9 * np.eye(n)), axis=1, kind="stable")[:, :k]
    recall = np.mean([len(set(x) & set(y)) / k for x, y in zip(near(a), near(b))])
    ranks = np.mean([scipy.stats.spearmanr(np.delete(a[i], i), np.delete(b[i], i)).statistic for i in range(n)])
    return {"cases": cases(gs, cs), "k": k, "recall-at-k": float(recall), "rank-agreement": float(ranks)}


(here / "golden-set.json").write_text(json.dumps({"rows": rows(), "maps": maps(), "embeddings": embeddings()}) + "\n")
