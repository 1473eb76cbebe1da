"""Writes test/fixtures/decoder/: a small decoder, three with a planted fault, and what ONNX Runtime in Python computes for a
sequence of tokens, step by step with the cache fed back. decoder.json has the answer after the beginning and after each step.
"""

import json
import pathlib
import subprocess
import sys

import numpy as np
import onnxruntime

root = pathlib.Path(__file__).parents[2]
folder = root / "test/fixtures/decoder"
sizes = "--masked --layers 1 --dim 32 --heads 2 --kv-heads 2 --vocab 32".split()
folder.mkdir(exist_ok=True)
for fault in (None, "scale", "rope", "kv-head"):
    more = [] if fault is None else ["--fault", fault]
    path = folder / f"{fault or 'base'}.onnx"
    subprocess.run([sys.executable, root / "bench/decoder.py", path, *sizes, *more], check=True)

rows, length, steps = 2, 24, 7
tokens = np.random.default_rng(7).integers(0, 32, (rows, length))
session = onnxruntime.InferenceSession(folder / "base.onnx", providers=["CPUExecutionProvider"])
names = [one.name for one in session.get_inputs() if one.name.startswith("past")]


def run(start, end, cache):
    places = np.tile(np.arange(start, end), (rows, 1))
    feeds = {"input_ids": tokens[:, start:end], "attention_mask": np.ones((rows, end), np.int64), "position_ids": places, **cache}
    logits, *present = session.run(None, feeds)
    return logits[:, -1:], dict(zip(names, present))


cache = {name: np.zeros((rows, 2, 0, 16), np.float32) for name in names}
answers, cache = run(0, length - steps, cache)
for position in range(length - steps, length):
    answer, cache = run(position, position + 1, cache)
    answers = np.concatenate([answers, answer], axis=1)
table = {"shape": [rows, length], "steps": steps, "tokens": tokens.ravel().tolist(), "logits": answers.ravel().astype(float).round(6).tolist()}
(root / "test/oracles/decoder.json").write_text(json.dumps(table) + "\n")
