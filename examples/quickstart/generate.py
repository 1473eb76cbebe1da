#!/usr/bin/env python3
"""Makes the quickstart's models and goldens again: base/, and head/ as it looks after a change.

Needs onnx, numpy and onnxruntime. The same versions on the same kind of processor write the same bytes.
"""

import shutil
from pathlib import Path

from generator import classifier, detector, segmenter, superres
from generator.golden import write_golden
from generator.reexport import reexported

HERE = Path(__file__).resolve().parent
NETS = {"classifier": classifier, "detector": detector, "segmenter": segmenter, "superres": superres}
# Weights from SEED + 0, 1, 2, 3, golden inputs from SEED + 10 …, the pictures of the printed scores from SEED + 20 ….
SEED = 7


def build_models():
    """The models of both arms by name: (base, head)."""
    seeds = dict(zip(NETS, range(SEED, SEED + len(NETS))))
    named = classifier.build(seeds["classifier"])
    large = superres.build(seeds["superres"])
    return {
        "classifier": (named, reexported(named)),
        "detector": detector.build(seeds["detector"]),
        "segmenter": segmenter.build(seeds["segmenter"]),
        "superres": (large, large),
    }


def write_arm(root, models):
    shutil.rmtree(root / "models", ignore_errors=True)
    (root / "models").mkdir(parents=True)
    for name, model in models.items():
        (root / "models" / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))


def main():
    base, head = HERE / "base", HERE / "head"
    shutil.rmtree(base / "golden", ignore_errors=True)
    shutil.rmtree(head, ignore_errors=True)
    models = build_models()
    write_arm(base, {name: arms[0] for name, arms in models.items()})
    write_arm(head, {name: arms[1] for name, arms in models.items()})
    for index, (name, net) in enumerate(NETS.items()):
        seed = SEED + 10 + index
        write_golden(base, name, models[name][0], {"cases": net.cases(seed), "seed": seed})
        scores = [net.accuracy(model, SEED + 20 + index) for model in models[name]]
        print(f"{name}: base {scores[0]}, head {scores[1]}")
    shutil.copytree(base / "golden", head / "golden")
    shutil.copyfile(base / "trtgate.yml", head / "trtgate.yml")


if __name__ == "__main__":
    main()
