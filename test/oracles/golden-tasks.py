# Writes golden-tasks.json: what scipy, scikit-image, scikit-learn, pycocotools and numpy say of task metrics.
# python3 test/oracles/golden-tasks.py   (numpy 2.4.6, scipy 1.17.1, scikit-image 0.26.0, scikit-learn 1.9.1, pycocotools 2.0.11, ml_dtypes 0.6.0)
import base64
import contextlib
import io
import json
import pathlib

import ml_dtypes
import numpy as np
import scipy.optimize
import scipy.spatial.distance
import scipy.special
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from skimage.metrics import peak_signal_noise_ratio, structural_similarity
from sklearn.metrics import f1_score, jaccard_score, top_k_accuracy_score

here = pathlib.Path(__file__).parent
random = np.random.default_rng(11)


def b64(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def pair(g, c, dtype=None):
    return {"dtype": dtype or str(g.dtype), "shape": list(g.shape), "expected": b64(g), "got": b64(c)}


def js():
    out = []
    wide = random.normal(size=(4, 9)) * 3
    for name, g, c in (
        ("logits", wide, wide + random.normal(size=wide.shape)), ("logits", wide, wide + 1e-6 * random.normal(size=wide.shape)),
        ("logits", np.array([[2., 1, 0, -1]]), np.array([[1.9, 1.1, .05, -1.2]])),
        ("probabilities", np.array([[.1, .4, .5]]), np.array([[.8, .15, .05]])), ("probabilities", np.array([[1., 0]]), np.array([[0., 1]])),
    ):
        p, q = (scipy.special.softmax(x, axis=-1) if name == "logits" else x for x in (g, c))
        value = float(np.mean(scipy.spatial.distance.jensenshannon(p, q, axis=-1) ** 2))
        out.append(pair(g, c) | {"input": name, "value": value})
    return out


KINDS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64,
         "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e5m2": ml_dtypes.float8_e5m2}


def ordered(x):
    bits = x.view({1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}[x.dtype.itemsize])
    low = -(1 << (8 * x.dtype.itemsize - 1))
    return [int(b) if b >= 0 else low - int(b) for b in bits.ravel()]


def ulp():
    out = []
    for name, kind in KINDS.items():
        g = (random.normal(size=(3, 40)) * 2).astype(kind)
        c = (g.astype(np.float64) * (1 + 0.01 * random.normal(size=g.shape))).astype(kind)
        c.ravel()[:2], g.ravel()[:2] = [kind(-0.0), kind(-0.0156)], [kind(0.0), kind(0.0156)]
        distances = [abs(a - b) for a, b in zip(ordered(g), ordered(c))]
        out.append(pair(g, c, name) | {"value": float(max(distances)), "at": int(np.argmax(distances))})
    return out


def quantile():
    out = []
    for n, q in ((100, 0.99), (100, 0.9), (101, 0.5), (7, 1.0), (10, 0.9), (1000, 0.001), (3, 0.34)):
        g = random.normal(size=n)
        c = g + random.standard_t(2, size=n) * 1e-3
        out.append(pair(g, c) | {"quantile": q, "value": float(np.quantile(np.abs(c - g), q, method="inverted_cdf"))})
    return out


def images():
    out = []
    i, j = np.mgrid[0:16, 0:16]
    a = ((37 * i + 17 * j) % 101) / 100
    sets = [("written", a, np.clip(a + 0.02 * ((i + j) % 3 - 1), 0, 1), 1.0)]
    smooth = np.cumsum(np.cumsum(random.normal(size=(3, 20, 31)), axis=1), axis=2)
    sets.append(("planes", smooth, smooth + random.normal(size=smooth.shape) * 3, float(np.ptp(smooth))))
    sets.append(("shifted far", a + 1e5, a + 1e5 + 0.01 * random.normal(size=a.shape), 1.0))
    for name, g, c, data_range in sets:
        planes = [(g, c)] if g.ndim == 2 else list(zip(g, c))
        mean = lambda **kw: float(np.mean([structural_similarity(x, y, data_range=data_range, **kw) for x, y in planes]))
        out.append(pair(g, c) | {
            "name": name, "dataRange": data_range, "psnr": float(peak_signal_noise_ratio(g, c, data_range=data_range)),
            "gaussian": mean(gaussian_weights=True, sigma=1.5, use_sample_covariance=False), "uniform": mean(),
        })
    return out


def segments():
    out = []
    logits = random.normal(size=(2, 5, 6, 7))
    noisy = logits + random.normal(size=logits.shape)
    noisy[:, 4] -= 9
    a, b = logits.argmax(1).ravel(), noisy.argmax(1).ravel()

    def scores(a, b, labels=None):
        labels = sorted(set(a) | set(b)) if labels is None else labels
        return {"miou": float(jaccard_score(a, b, average="macro", labels=labels)), "dice": float(f1_score(a, b, average="macro", labels=labels)),
                "pixels": float(np.mean(a != b))}

    out.append(pair(logits, noisy) | {"name": "argmax"} | scores(a, b))
    ids, other = (x.reshape(2, 6, 7).astype(np.int64) for x in (a, b))
    out.append(pair(ids, other) | {"name": "ids"} | scores(a, b))
    keep = a != 2
    out.append(pair(ids, other) | {"name": "ids", "ignore": 2} | scores(a[keep], b[keep]))
    g, c = random.random((3, 30)).astype(np.float32), random.random((3, 30)).astype(np.float32)
    out.append(pair(g, c) | {"name": "mask", "threshold": 0.5} | scores((g > .5).ravel().astype(int), (c > .5).ravel().astype(int), [1]))
    return out


def neighbours():
    out = []
    for n, k, noise in ((12, 3, 0.1), (30, 5, 1.0), (4, 10, 1.0)):
        g = random.normal(size=(n, 8))
        c = g + noise * random.normal(size=g.shape)

        def near(x):
            unit = x / np.linalg.norm(x, axis=1, keepdims=True)
            s = unit @ unit.T
            np.fill_diagonal(s, -np.inf)
            return np.argsort(-s, axis=1, kind="stable")[:, : min(k, n - 1)]
        value = float(np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(near(g), near(c))]))
        out.append(pair(g, c) | {"k": k, "value": value})
    return out


def labelled():
    logits = random.normal(size=(50, 6))
    noisy = logits + random.normal(size=logits.shape) * 0.5
    labels = np.where(random.random(50) < 0.7, logits.argmax(1), random.integers(0, 6, 50))
    tokens = {"tokens": float(np.mean(logits.argmax(1) == noisy.argmax(1)))}
    return pair(logits, noisy) | tokens | {"labels": labels.tolist(), "top": [
        {"k": k, "value": float(top_k_accuracy_score(labels, noisy, k=k, labels=range(6)))} for k in (1, 2, 3)]}


def assignments():
    out = []
    for n, m in ((1, 1), (3, 3), (4, 9), (12, 12), (20, 33)):
        gains = np.round(random.random((n, m)), 3) * (random.random((n, m)) < 0.6)
        rows, columns = scipy.optimize.linear_sum_assignment(gains, maximize=True)
        out.append({"gains": gains.tolist(), "sum": float(gains[rows, columns].sum())})
    return out


def boxes_of(count):
    corner, size = random.random((count, 2)) * 80, 5 + random.random((count, 2)) * 40
    return np.concatenate([corner, corner + size], axis=1)


def coco():
    out = []
    for count, noise, lost in ((8, 2.0, 0.2), (30, 5.0, 0.1), (5, 0.0, 0.0), (120, 3.0, 0.3), (6, 40.0, 0.5)):
        images = []
        for _ in range(3):
            g = np.column_stack([boxes_of(count), random.random(count) * .8 + .2, random.integers(0, 3, count)])
            c = g.copy()
            c[:, :4] += noise * random.normal(size=(count, 4))
            # pycocotools leaves out boxes of a negative area; ours count as extra.
            c[:, 2:4] = np.maximum(c[:, 2:4], c[:, :2])
            c[:, 4] = np.clip(c[:, 4] + 0.05 * random.normal(size=count), 0.06, 1)
            c = c[random.random(count) >= lost]
            images.append((g, c))
        out.append({"images": [{"expected": g.tolist(), "got": c.tolist()} for g, c in images], "map": coco_map(images)})
    return out


def coco_map(images):
    xywh = lambda box: [box[0], box[1], box[2] - box[0], box[3] - box[1]]
    truth, answers = [], []
    for image, (g, c) in enumerate(images):
        truth += [{"image_id": image, "category_id": int(b[5]), "bbox": xywh(b), "area": max(0, b[2] - b[0]) * max(0, b[3] - b[1]), "iscrowd": 0} for b in g]
        answers += [{"image_id": image, "category_id": int(b[5]), "bbox": xywh(b), "score": float(b[4])} for b in c]
    for index, entry in enumerate(truth):
        entry["id"] = index + 1
    with contextlib.redirect_stdout(io.StringIO()):
        gt = COCO()
        gt.dataset = {"images": [{"id": i} for i in range(len(images))], "annotations": truth, "categories": [{"id": i} for i in range(3)]}
        gt.createIndex()
        evaluation = COCOeval(gt, gt.loadRes(answers), "bbox")
        evaluation.params.areaRng = [[0, 1e10]]
        evaluation.params.areaRngLbl = ["all"]
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, :, 0, 2]
    return float(np.mean(precision[precision > -1]))


result = {"js": js(), "ulp": ulp(), "quantile": quantile(), "images": images(), "segments": segments(), "neighbours": neighbours(),
          "labelled": labelled(), "assignments": assignments(), "coco": coco()}
(here / "golden-tasks.json").write_text(json.dumps(result) + "\n")
