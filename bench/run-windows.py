"""Writes run-windows.json: medians of consecutive 100 ms of recorded runs of trtexec, and the P99 of their first 0.5 s.

python bench/run-windows.py ITERATIONS.npz     one array of latencies in ms for each run, named ORDER-SERIES-ARM+BUILD
"""
import json
import sys

import numpy as np

WINDOW_MS = 100
SHORT_MS = 500
series: dict[str, list[dict[str, object]]] = {}
iterations = np.load(sys.argv[1])
for name in iterations.files:
    _, label = name.split("-", 1)
    latencies = iterations[name].astype(float)
    starts = np.cumsum(latencies) - latencies
    windows = [latencies[(starts >= at) & (starts < at + WINDOW_MS)] for at in range(0, int(starts[-1]) - WINDOW_MS, WINDOW_MS)]
    run = {
        "windowMedianMs": [round(float(np.median(window)), 6) for window in windows],
        "shortP99Ms": round(float(np.quantile(latencies[starts < SHORT_MS], 0.99)), 6),
    }
    series.setdefault(label, []).append(run)
kept = {label: runs for label, runs in series.items() if len(runs) >= 8}
with open("bench/run-windows.json", "w", encoding="utf-8") as out:
    out.write("{\n" + ",\n".join(f"{json.dumps(label)}: {json.dumps(runs)}" for label, runs in kept.items()) + "\n}\n")
