"""Writes the node lists of the networks that make.py made: graphs.py FOLDER OUT.json.gz"""
import glob
import gzip
import json
import os
import sys
import onnx

folder, out = sys.argv[1:]
graphs = {}
for path in sorted(glob.glob(f"{folder}/*.onnx")):
    nodes = onnx.load(path, load_external_data=False).graph.node
    graphs[os.path.basename(path)[:-5]] = [[n.name, n.op_type, list(n.input), list(n.output)] for n in nodes]
with open(out, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
    file.write(json.dumps(graphs, separators=(",", ":")).encode())
