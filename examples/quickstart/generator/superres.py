"""Super-resolution: twice the size by Resize, plus the detail that a fitted convolution adds."""

import numpy as np

from .graph import Graph, filter_bank, mixing, patches, ridge, rounded, run
from .images import detailed_picture, eight_bits, halved

SMALL, LARGE = 48, 96
FILTERS, MIXED = 24, 32


def features(graph, weights):
    luma = graph.input("luma", [1, 1, SMALL, SMALL])
    edges = graph.conv_relu("/features/edges", luma, weights["edges"])
    return graph.conv_relu("/features/mix", edges, weights["mix"])


def resized(graph):
    scales = graph.constant("/resize.scales", np.float32([1, 1, 2, 2]))
    return graph.node("Resize", "/resize/Resize", ["luma", "", scales], mode="linear", coordinate_transformation_mode="half_pixel")


def fit(rng, weights):
    """The four sub-pixels' detail: what the true picture has more than the resized one."""
    probe = Graph("features")
    mixed = features(probe, weights)
    probe.output(mixed, [1, MIXED, SMALL, SMALL])
    probe.output(resized(probe), [1, 1, LARGE, LARGE])
    model, rows, wanted = probe.model(), [], []
    for _ in range(16):
        truth = detailed_picture(rng, LARGE)
        value, large = run(model, {"luma": halved(truth)[None, None]}).values()
        rows.append(patches(value[0]))
        detail = (truth - large[0, 0]).reshape(SMALL, 2, SMALL, 2).transpose(0, 2, 1, 3)
        wanted.append(detail.reshape(-1, 4))
    weight, bias = ridge(np.concatenate(rows), np.concatenate(wanted), 1e-6)
    return weight.reshape(4, MIXED, 3, 3), bias


def build(seed):
    rng = np.random.default_rng(seed)
    weights = {
        "edges": (filter_bank(5, FILTERS) * 4, rounded(0.05 * rng.standard_normal(FILTERS), 12)),
        "mix": mixing(rng, (MIXED, FILTERS, 3, 3)),
    }
    readout = fit(rng, weights)
    graph = Graph("superres")
    detail = graph.conv("/detail", features(graph, weights), *readout)
    fine = graph.node("DepthToSpace", "/detail/DepthToSpace", [detail], blocksize=2, mode="CRD")
    summed = graph.node("Add", "/sum/Add", [resized(graph), fine])
    limits = [graph.constant("/clip.low", np.float32(0)), graph.constant("/clip.high", np.float32(1))]
    graph.node("Clip", "/clip/Clip", [summed, *limits], "image")
    graph.output("image", [1, 1, LARGE, LARGE])
    return graph.model(doc="Brightness of a picture, 48 x 48 to 96 x 96.")


def cases(seed):
    """A common picture, and one with glare and deep shade, so that the last Clip has something to do."""
    rng = np.random.default_rng(seed)
    common, harsh = (detailed_picture(rng, LARGE) for _ in range(2))
    pictures = {"common": common, "harsh-light": eight_bits(0.5 + 2.5 * (harsh - harsh.mean()))}
    return {name: {"luma": halved(picture)[None, None]} for name, picture in pictures.items()}


def decibels(error):
    """Peak signal-to-noise ratio for pictures from 0 to 1."""
    return float(-10 * np.log10(np.mean(error**2)))


def accuracy(model, seed):
    """PSNR of fresh pictures, and of the resized ones without the detail."""
    probe, rng, errors, plain = Graph("resize"), np.random.default_rng(seed), [], []
    probe.input("luma", [1, 1, SMALL, SMALL])
    probe.output(resized(probe), [1, 1, LARGE, LARGE])
    only_resize = probe.model()
    for _ in range(12):
        truth = detailed_picture(rng, LARGE)
        small = {"luma": halved(truth)[None, None]}
        errors.append(run(model, small)["image"][0, 0] - truth)
        (large,) = run(only_resize, small).values()
        plain.append(large[0, 0] - truth)
    return decibels(np.stack(errors)), decibels(np.stack(plain))
