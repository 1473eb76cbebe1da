"""Segmenter: colour and smoothing convolutions, a read-out at half size, Resize, and the best class of each pixel."""

import numpy as np
from onnx import TensorProto

from .graph import Graph, mixing, patches, ridge, rounded, run
from .images import LABELS, scene_picture

SIZE, HALF = 48, 24
COLOURS, SMOOTH, DEEP = 24, 32, 32
RIGHT, WRONG = 4.0, -4.0
# How far the faulty export is off in one weight tensor.
FAULT = 1.04


def features(graph, weights):
    image = graph.input("image", [1, 3, SIZE, SIZE])
    colours = graph.conv_relu("/colour", image, weights["colour"])
    smooth = graph.conv_relu("/smooth", colours, weights["smooth"])
    return graph.conv_relu("/context", smooth, weights["context"], stride=2)


def fit(rng, weights):
    probe = Graph("features")
    probe.output(features(probe, weights), [1, DEEP, HALF, HALF])
    model, rows, wanted = probe.model(), [], []
    for _ in range(120):
        image, label = scene_picture(rng, SIZE)
        (value,) = run(model, {"image": image[None]}).values()
        share = (label[..., None] == np.arange(len(LABELS))).reshape(HALF, 2, HALF, 2, -1).mean((1, 3))
        rows.append(patches(value[0]))
        wanted.append((WRONG + (RIGHT - WRONG) * share).reshape(-1, len(LABELS)))
    weight, bias = ridge(np.concatenate(rows), np.concatenate(wanted), 1e-5)
    return weight.reshape(len(LABELS), DEEP, 3, 3), bias


def finish(weights, readout):
    graph = Graph("segmenter")
    small = graph.conv("/readout", features(graph, weights), *readout)
    scales = graph.constant("/resize.scales", np.float32([1, 1, 2, 2]))
    graph.node("Resize", "/resize/Resize", [small, "", scales], "logits", mode="linear", coordinate_transformation_mode="half_pixel")
    best = graph.node("ArgMax", "/best/ArgMax", ["logits"], axis=1, keepdims=0)
    graph.node("Cast", "/best/Cast", [best], "mask", to=TensorProto.INT32)
    graph.output("logits", [1, len(LABELS), SIZE, SIZE])
    graph.output("mask", [1, SIZE, SIZE], TensorProto.INT32)
    return graph.model(doc="Labels of 48 x 48 colour pictures: " + ", ".join(LABELS) + ".")


def build(seed):
    """The segmenter, and one whose smoothing weights are 4 % too large."""
    rng = np.random.default_rng(seed)
    weights = {
        "colour": mixing(rng, (COLOURS, 3, 1, 1)),
        "smooth": mixing(rng, (SMOOTH, COLOURS, 3, 3)),
        "context": mixing(rng, (DEEP, SMOOTH, 3, 3)),
    }
    readout = fit(rng, weights)
    weight, bias = weights["smooth"]
    faulty = {**weights, "smooth": (rounded(weight * FAULT, 16), bias)}
    return [finish(each, readout) for each in (weights, faulty)]


def cases(seed):
    rng = np.random.default_rng(seed)
    return {f"scene-{index}": {"image": scene_picture(rng, SIZE)[0][None]} for index in (1, 2, 3)}


def accuracy(model, seed):
    """Mean intersection over union of the four labels in fresh pictures."""
    rng, inter, union = np.random.default_rng(seed), np.zeros(len(LABELS)), np.zeros(len(LABELS))
    for _ in range(40):
        image, label = scene_picture(rng, SIZE)
        mask = run(model, {"image": image[None]})["mask"][0]
        for kind in range(len(LABELS)):
            inter[kind] += ((mask == kind) & (label == kind)).sum()
            union[kind] += ((mask == kind) | (label == kind)).sum()
    return float((inter / union).mean())
