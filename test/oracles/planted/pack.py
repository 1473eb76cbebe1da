"""Packs what drive.py recorded into one small file for each base network: pack.py RECORDED FIXTURES"""
import glob
import gzip
import json
import os
import sys

recorded, fixtures = sys.argv[1:3]


def read(path):
    with open(path, errors="replace") as file:
        return json.loads(file.read(), strict=False)


class Table:
    def __init__(self):
        self.rows, self.places = [], {}

    def place(self, row):
        key = json.dumps(row, sort_keys=True)
        if key not in self.places:
            self.places[key] = len(self.rows)
            self.rows.append(row)
        return self.places[key]


with open(f"{recorded}/times.jsonl") as file:
    times = [json.loads(line) for line in file]
truth = {}
for path in glob.glob(f"{recorded}/truth-*.json"):
    truth.update(read(path))
bases = sorted({one["base"] for one in truth.values()})
os.makedirs(fixtures, exist_ok=True)
for base in bases:
    layers, names, engines, groups = Table(), Table(), {}, []
    for folder in sorted(glob.glob(f"{recorded}/{base}.*")):
        chunk = os.path.basename(folder)
        if chunk.split(".")[0] != base:
            continue
        arms = {}
        for arm in sorted(os.listdir(folder)):
            found = sorted(glob.glob(f"{folder}/{arm}/profile-*.json"))
            medians = [one["median"] for one in times if one["chunk"] == chunk and one["arm"] == arm and one["median"]]
            profiles = [read(path) for path in found]
            if len(profiles) < 3 or len(medians) < 2:
                continue
            info = read(f"{recorded}/layers/{arm}.json")
            engines[arm] = {"layers": [layers.place(one) for one in info["Layers"]], "bindings": info.get("Bindings", [])}
            timed = [[one for one in profile if "name" in one] for profile in profiles]
            arms[arm] = {
                "mediansMs": medians,
                "names": [names.place(one["name"]) for one in timed[0]],
                "averagesMs": [[round(one["averageMs"], 7) for one in profile] for profile in timed],
            }
        if base in arms and len(arms) > 1:
            groups.append({"name": chunk, "arms": arms})
    if not groups:
        continue
    own = {arm: {key: value for key, value in one.items() if key != "scopes"} for arm, one in truth.items() if one["base"] == base and arm in engines}
    text = json.dumps({"layers": layers.rows, "names": names.rows, "engines": engines, "groups": groups, "truth": own}, separators=(",", ":"))
    with open(f"{fixtures}/{base}.json.gz", "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=9) as file:
        file.write(text.encode())
    print(base, len(own), "heads", os.path.getsize(f"{fixtures}/{base}.json.gz"), "bytes")
