"""Classifier: fixed filters, random mixing, pooling, and a linear read-out fitted to eight kinds of shapes."""

import numpy as np

from .graph import Graph, filter_bank, mixing, ridge, rounded, run
from .images import CLASSES, shape_picture

SIZE = 48
FILTERS, MIXED, POOL = 20, 32, 12
# Logits of the right class and of the others that the read-out is fitted to.
RIGHT, WRONG = 6.0, -2.0


def features(graph, weights):
    image = graph.input("image", ["batch", 1, SIZE, SIZE])
    edges = graph.conv_relu("/features/edges", image, weights["edges"])
    mixed = graph.conv_relu("/features/mix", edges, weights["mix"])
    pooled = graph.node("AveragePool", "/features/pool/AveragePool", [mixed], kernel_shape=[POOL] * 2, strides=[POOL] * 2)
    return graph.node("Flatten", "/features/Flatten", [pooled], axis=1)


def draw(rng, per_class):
    kinds = np.tile(np.arange(len(CLASSES)), per_class)
    return np.stack([shape_picture(rng, CLASSES[kind], SIZE) for kind in kinds]), kinds


def build(seed):
    rng = np.random.default_rng(seed)
    weights = {
        "edges": (filter_bank(7, FILTERS) * 4, rounded(0.05 * rng.standard_normal(FILTERS), 12)),
        "mix": mixing(rng, (MIXED, FILTERS, 3, 3)),
    }
    images, kinds = draw(rng, 60)
    probe = Graph("features")
    probe.output(features(probe, weights), ["batch", None])
    (values,) = run(probe.model(), {"image": images}).values()
    targets = np.where(np.arange(len(CLASSES)) == kinds[:, None], RIGHT, WRONG)
    weight, bias = ridge(values, targets, 1e-4)

    graph = Graph("classifier")
    flat = features(graph, weights)
    graph.node(
        "Gemm", "/readout/Gemm", [flat, graph.constant("/readout.weight", weight), graph.constant("/readout.bias", bias)], "logits", transB=1
    )
    graph.output("logits", ["batch", len(CLASSES)])
    return graph.model(doc="Eight kinds of shapes in 48 x 48 grey pictures: " + ", ".join(CLASSES) + ".")


def cases(seed):
    """Single pictures of every class but two, and one batch of four that has those."""
    rng = np.random.default_rng(seed)
    pictures = {kind: shape_picture(rng, kind, SIZE) for kind in CLASSES}
    singles = {kind: pictures[kind][None] for kind in CLASSES[:6]}
    batch = np.stack([pictures["triangle"], pictures["cross"], pictures["disc"], shape_picture(rng, "checker", SIZE)])
    return {**{kind: {"image": image} for kind, image in singles.items()}, "batch-of-4": {"image": batch}}


def accuracy(model, seed):
    """Share of fresh pictures that it names rightly."""
    images, kinds = draw(np.random.default_rng(seed), 20)
    return float((run(model, {"image": images})["logits"].argmax(1) == kinds).mean())
