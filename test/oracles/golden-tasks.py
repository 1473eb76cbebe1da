# Writes golden-tasks.json: what scipy, scikit-image, scikit-learn, pycocotools and numpy say of task metrics.
# python3 test/oracles/golden-tasks.py   (numpy 2.4.6, scipy 1.17.1, scikit-image 0.26.0, scikit-learn 1.9.1, pycocotools 2.0.11)
import base64
import contextlib
import io
import json
import pathlib

import numpy as np
import scipy.optimize
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from skimage.metrics import peak_signal_noise_ratio, structural_similarity
from sklearn.metrics import jaccard_score, top_k_accuracy_score

here = pathlib.Path(__file__).parent
random = np.random.default_rng(11)


def b64(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def pair(g, c, dtype=None):
    return {"dtype": dtype or str(g.dtype), "shape": list(g.shape), "expected": b64(g), "got": b64(c)}


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
        return {"miou": float(jaccard_score(a, b, average="macro", labels=labels)), "pixels": float(np.mean(a != b))}

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
            # No two scores are equal, because readers order equal ones differently.
            c[:, 4] = np.clip(c[:, 4] + 0.05 * random.normal(size=count), 0.06, 0.99) + 0.01 * random.random(count)
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


result = {"images": images(), "segments": segments(), "neighbours": neighbours(),
          "labelled": labelled(), "assignments": assignments(), "coco": coco()}
(here / "golden-tasks.json").write_text(json.dumps(result) + "\n")
