"""Synthetic pictures with a known truth. Each is rounded to 8 bits, as a camera would."""

import numpy as np

CLASSES = ["bars-across", "bars-up", "bars-slanted", "checker", "disc", "ring", "cross", "triangle"]


def grid(size):
    """Pixel centres, x to the right and y down, in pixels."""
    return np.meshgrid(np.arange(size) + 0.5, np.arange(size) + 0.5)


def eight_bits(image):
    return (np.round(np.clip(image, 0, 1) * 255) / 255).astype(np.float32)


def soft(distance, width=0.7):
    """1 inside (negative distance), 0 outside, with a soft edge of `width` pixels."""
    return 0.5 * (1 - np.tanh(distance / width))


def lighting(rng, size):
    """A background with light from one side and a slow swell."""
    x, y = (axis / size - 0.5 for axis in grid(size))
    angle, phase = rng.uniform(0, 2 * np.pi, 2)
    slope = 0.12 * (x * np.cos(angle) + y * np.sin(angle))
    return rng.uniform(0.2, 0.35) + slope + 0.04 * np.sin(6 * (x + y) + phase)


def pattern(rng, kind, size):
    """How much of `kind` is in each pixel, 0 to 1."""
    x, y = grid(size)
    x, y = x - size * rng.uniform(0.42, 0.58), y - size * rng.uniform(0.42, 0.58)
    period, radius, tilt = size * rng.uniform(0.17, 0.25), size * rng.uniform(0.22, 0.34), rng.uniform(-0.12, 0.12)
    u, v = x * np.cos(tilt) + y * np.sin(tilt), y * np.cos(tilt) - x * np.sin(tilt)
    wave = lambda axis: np.sin(2 * np.pi * axis / period)
    edge = 0.5
    shapes = {
        "bars-across": lambda: soft(-wave(v), edge),
        "bars-up": lambda: soft(-wave(u), edge),
        "bars-slanted": lambda: soft(-wave((u + v) / np.sqrt(2)), edge),
        "checker": lambda: soft(-wave(u) * wave(v), edge / 2),
        "disc": lambda: soft(np.hypot(u, v) - radius),
        "ring": lambda: soft(np.abs(np.hypot(u, v) - radius) - size * 0.06),
        "cross": lambda: soft(np.maximum(np.minimum(np.abs(u), np.abs(v)) - size * 0.06, np.maximum(np.abs(u), np.abs(v)) - radius)),
        "triangle": lambda: soft(np.maximum(v - 0.6 * radius, np.abs(u) * 0.87 - 0.5 * v - 0.6 * radius)),
    }
    return shapes[kind]()


def shape_picture(rng, kind, size):
    """One grey picture of one class, shape (1, size, size)."""
    strength = rng.uniform(0.35, 0.6)
    image = lighting(rng, size) + strength * pattern(rng, kind, size) + 0.02 * rng.standard_normal((size, size))
    return eight_bits(image)[None]


def blob_picture(rng, size, count):
    """Bright soft ellipses on a dim ground, shape (1, size, size), and their boxes as x1 y1 x2 y2 in pixels."""
    x, y = grid(size)
    image, boxes = lighting(rng, size), []
    while len(boxes) < count:
        half = rng.uniform(3.0, 6.5, 2)
        centre = rng.uniform(half + 1, size - half - 1)
        if any(np.hypot(*(centre - (np.array(b[:2]) + b[2:]) / 2)) < 16 for b in boxes):
            continue
        distance = np.hypot((x - centre[0]) / half[0], (y - centre[1]) / half[1]) - 1
        image = image + rng.uniform(0.4, 0.6) * soft(distance * half.mean(), 1.2)
        boxes.append(np.concatenate([centre - half, centre + half]))
    return eight_bits(image + 0.02 * rng.standard_normal(image.shape))[None], np.array(boxes)


LABELS = ["sky", "ground", "tree", "house"]


def scene_picture(rng, size):
    """A landscape in colour, shape (3, size, size), and the label of each pixel."""
    x, y = grid(size)
    horizon = size * rng.uniform(0.45, 0.6) + size * 0.04 * np.sin(x / size * rng.uniform(4, 9) + rng.uniform(0, 6))
    label = (y > horizon).astype(np.int64)
    for _ in range(rng.integers(2, 4)):
        centre, radius = rng.uniform(0.1, 0.9) * size, size * rng.uniform(0.09, 0.15)
        trunk = (np.abs(x - centre) < size * 0.025) & (np.abs(y - horizon) < size * 0.12)
        label[(np.hypot(x - centre, y - horizon + size * 0.16) < radius) | trunk] = 2
    left, width, tall = rng.uniform(0.15, 0.6) * size, size * rng.uniform(0.2, 0.3), size * rng.uniform(0.14, 0.22)
    label[(x > left) & (x < left + width) & (np.abs(y - size * 0.62) < tall)] = 3
    colours = np.array([[0.52, 0.70, 0.92], [0.58, 0.52, 0.36], [0.20, 0.45, 0.22], [0.72, 0.34, 0.30]])
    image = (colours + rng.uniform(-0.05, 0.05, colours.shape))[label].transpose(2, 0, 1)
    shade = 1 + 0.25 * (y / size - 0.5) + 0.08 * np.sin(x * 0.9) * (label == 2)
    return eight_bits(image * shade + 0.03 * rng.standard_normal(image.shape)), label


def detailed_picture(rng, size):
    """A grey picture of many edges at many scales, shape (size, size)."""
    x, y = grid(size)
    image = lighting(rng, size) + 0.15
    for _ in range(10):
        kind = CLASSES[rng.integers(len(CLASSES))]
        window = soft(np.hypot(x - rng.uniform(0, size), y - rng.uniform(0, size)) - size * rng.uniform(0.08, 0.25))
        image = image * (1 - window) + window * (rng.uniform(0.1, 0.5) + rng.uniform(0.2, 0.5) * pattern(rng, kind, size))
    return eight_bits(image)


def halved(image):
    """The picture at half its size: the mean of each 2 x 2 block."""
    height, width = image.shape
    return eight_bits(image.reshape(height // 2, 2, width // 2, 2).mean((1, 3)))
