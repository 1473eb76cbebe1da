"""Detector: finds bright blobs on a grid of cells; one score and one box a cell, so no shape depends on the data."""

import numpy as np

from .graph import Graph, filter_bank, mixing, patches, ridge, rounded, run
from .images import blob_picture

SIZE, STRIDE = 64, 4
CELLS = SIZE // STRIDE
FILTERS, MIXED, NARROW, DEEP = 16, 20, 16, 24
# How a cell's five raw values become a score and a box.
SHARPNESS, THRESHOLD, PEAK = 12.0, 0.5, 60.0


def features(graph, weights, late_stride=False):
    image = graph.input("image", [1, 1, SIZE, SIZE])
    edges = graph.conv_relu("/stem/edges", image, weights["edges"])
    mixed = graph.conv_relu("/stem/mix", edges, weights["mix"])
    if late_stride:
        # The same numbers for four times the work: three of four are thrown away afterwards.
        dense = graph.conv_relu("/neck/reduce", mixed, weights["reduce"])
        narrow = graph.node("MaxPool", "/neck/subsample/MaxPool", [dense], kernel_shape=[1, 1], strides=[2, 2])
    else:
        narrow = graph.conv_relu("/neck/reduce", mixed, weights["reduce"], stride=2)
    return graph.conv_relu("/neck/deep", narrow, weights["deep"], stride=2)


def centres():
    """Centre of each cell in pixels, shape (1, 2, CELLS, CELLS)."""
    axis = np.arange(CELLS, dtype=np.float32) * STRIDE + STRIDE / 2
    return np.stack(np.meshgrid(axis, axis))[None].astype(np.float32)


def targets(boxes):
    """For one picture: heat, offset of the nearest blob's centre and its half size, for each cell; in cells' order."""
    middle, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2
    away = middle[:, :, None, None] - centres()
    nearest = np.hypot(away[:, 0], away[:, 1]).argmin(0)
    rows, columns = np.indices(nearest.shape)
    offset = away[nearest, :, rows, columns]
    heat = np.exp(-((offset / (0.6 * half[nearest])) ** 2).sum(-1) / 2)
    return np.concatenate([heat[..., None], offset, half[nearest]], -1).reshape(-1, 5)


def fit(rng, weights):
    """The read-out of the neck's features around each cell: heat from all cells, boxes from the cells on a blob."""
    probe = Graph("features")
    probe.output(features(probe, weights), [1, DEEP, CELLS, CELLS])
    model, rows, wanted = probe.model(), [], []
    for _ in range(150):
        image, boxes = blob_picture(rng, SIZE, rng.integers(2, 5))
        (value,) = run(model, {"image": image[None]}).values()
        rows.append(patches(value[0]))
        wanted.append(targets(boxes))
    rows, wanted = np.concatenate(rows), np.concatenate(wanted)
    on_blob = wanted[:, 0] > 0.3
    heat, box = ridge(rows, wanted[:, :1], 1e-4), ridge(rows[on_blob], wanted[on_blob, 1:], 1e-4)
    return [(weight.reshape(-1, DEEP, 3, 3), bias) for weight, bias in (heat, box)]


def decode(graph, neck, head):
    """Scores and boxes. A score is high where the heat is high and the highest of its neighbours."""
    heat = graph.conv("/head/heat", neck, *head[0])
    top = graph.node("MaxPool", "/head/top/MaxPool", [heat], kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4)
    logit = graph.node("Sub", "/score/Sub", [heat, graph.constant("/score.threshold", np.float32([THRESHOLD]))])
    sharp = graph.node("Mul", "/score/Mul", [logit, graph.constant("/score.sharpness", np.float32([SHARPNESS]))])
    likely = graph.node("Sigmoid", "/score/Sigmoid", [sharp])
    below = graph.node("Sub", "/peak/Sub", [heat, top])
    steep = graph.node("Mul", "/peak/Mul", [below, graph.constant("/peak.steepness", np.float32([PEAK]))])
    peak = graph.node("Exp", "/peak/Exp", [steep])
    score = graph.node("Mul", "/score/peaks/Mul", [likely, peak])
    graph.node("Reshape", "/score/Reshape", [score, graph.constant("/score.shape", np.int64([1, -1]))], "scores")
    raw = graph.conv("/head/box", neck, *head[1])
    offset, half = graph.split("/box/Split", raw, [2, 2])
    middle = graph.node("Add", "/box/middle/Add", [offset, graph.constant("/box.centres", centres())])
    low = graph.node("Sub", "/box/low/Sub", [middle, half])
    high = graph.node("Add", "/box/high/Add", [middle, half])
    corners = graph.node("Concat", "/box/Concat", [low, high], axis=1)
    flat = graph.node("Reshape", "/box/Reshape", [corners, graph.constant("/box.shape", np.int64([1, 4, -1]))])
    graph.node("Transpose", "/box/Transpose", [flat], "boxes", perm=[0, 2, 1])
    graph.output("boxes", [1, CELLS * CELLS, 4])
    graph.output("scores", [1, CELLS * CELLS])


def build(seed):
    """The detector, and the same one with a stride of the neck moved behind its convolution."""
    rng = np.random.default_rng(seed)
    weights = {
        "edges": (filter_bank(5, FILTERS) * 4, rounded(0.05 * rng.standard_normal(FILTERS), 12)),
        "mix": mixing(rng, (MIXED, FILTERS, 3, 3)),
        "reduce": mixing(rng, (NARROW, MIXED, 3, 3)),
        "deep": mixing(rng, (DEEP, NARROW, 3, 3)),
    }
    head = fit(rng, weights)
    models = []
    for late_stride in (False, True):
        graph = Graph("detector")
        decode(graph, features(graph, weights, late_stride), head)
        models.append(graph.model(doc="Bright blobs in 64 x 64 grey pictures; boxes are x1 y1 x2 y2 in pixels."))
    return models


def cases(seed):
    rng = np.random.default_rng(seed)
    return {f"{count}-blobs": {"image": blob_picture(rng, SIZE, count)[0][None]} for count in (2, 3, 4, 5)}


def overlap(a, b):
    """Intersection over union of two boxes."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    inter = np.prod(np.maximum(sides, 0))
    return inter / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - inter)


def accuracy(model, seed):
    """Share of blobs in fresh pictures with a box that overlaps by half or more, and boxes over blobs."""
    rng, found, blobs, shown = np.random.default_rng(seed), 0, 0, 0
    for _ in range(40):
        image, truth = blob_picture(rng, SIZE, rng.integers(2, 5))
        result = run(model, {"image": image[None]})
        boxes = result["boxes"][0][result["scores"][0] > 0.5]
        found += sum(any(overlap(box, blob) >= 0.5 for box in boxes) for blob in truth)
        blobs, shown = blobs + len(truth), shown + len(boxes)
    return found / blobs, shown / blobs
