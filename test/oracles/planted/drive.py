"""Builds, profiles and times the planted pairs until a deadline, and continues where the last call stopped. STATE=FOLDER drive.py SECONDS OUT"""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time

start = time.monotonic()
deadline, out = float(sys.argv[1]), sys.argv[2]
here = os.path.dirname(os.path.abspath(__file__))
state = os.environ["STATE"]
models, plans, caches, logs, kept = (f"{state}/{one}" for one in ("models", "plans", "caches", "logs", "out"))
for folder in (models, plans, caches, logs, kept, f"{kept}/layers"):
    os.makedirs(folder, exist_ok=True)
left = lambda: deadline - (time.monotonic() - start)
lanes, rounds, timed_rounds, chunk_size, pack_s = 4, 4, 3, 8, 22
level = os.environ.get("LEVEL", "2")
own_models, torch_models = ["res", "int8", "enc", "unet", "half", "dw"], ["resnet", "bert", "unet", "vit", "mobilenet"]
groups = os.environ.get("GROUPS", "").split() or own_models + [f"torch-{name}" for name in torch_models]


def note(*parts):
    line = f"{time.monotonic() - start:.0f} " + " ".join(map(str, parts))
    print(line, flush=True)
    with open(f"{kept}/log.txt", "a") as file:
        file.write(line + "\n")


def plain_env():
    return {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "PYTHONPATH")} | {"CUDA_VISIBLE_DEVICES": ""}


def make_models():
    """All beside the first builds."""
    running = []
    for name in groups:
        if not os.path.exists(f"{models}/truth-{name}.json"):
            script, which = ("exports.py", name[6:]) if name.startswith("torch-") else ("make.py", name)
            with open(f"{logs}/models-{name}.log", "w") as log:
                argv = [sys.executable, f"{here}/{script}", models, which]
                running.append(subprocess.Popen(argv, env=plain_env(), stdout=log, stderr=subprocess.STDOUT))
    return running


def engines():
    rows = []
    for file in [f"plan-{name}.tsv" for name in groups]:
        if os.path.exists(f"{models}/{file}"):
            with open(f"{models}/{file}") as text:
                rows += [dict(zip(("arm", "base", "file", "flags", "kind"), line.rstrip("\n").split("\t"))) for line in text]
    ranks = {}
    for row in rows:
        if row["kind"] == "head":
            row["rank"] = ranks[row["base"]] = ranks.get(row["base"], 0) + 1
        else:
            row["rank"] = {"base": 0, "again": 3.5, "cold": 8.5}[row["kind"]]
    return sorted(rows, key=lambda row: row["rank"])


def is_built(arm):
    return os.path.exists(f"{plans}/{arm}.plan")


def is_failed(arm):
    return os.path.exists(f"{plans}/{arm}.failed")


def build(row):
    arm, base = row["arm"], row["base"]
    cache = f"{caches}/{arm}.cache"
    if row["kind"] in ("head", "again") and os.path.exists(f"{caches}/{base}.cache"):
        shutil.copy(f"{caches}/{base}.cache", cache)
    own = "1" if base.startswith("torch") else level
    argv = ["trtexec", f"--onnx={models}/{row['file']}.onnx", f"--saveEngine={plans}/{arm}.tmp", "--skipInference", *row["flags"].split(),
            f"--timingCacheFile={cache}", f"--builderOptimizationLevel={own}", "--profilingVerbosity=detailed"]
    began = time.monotonic()
    with open(f"{logs}/build-{arm}.log", "w") as log:
        try:
            code = subprocess.run(argv, stdout=log, stderr=subprocess.STDOUT, timeout=max(5, min(150, left() - pack_s))).returncode
        except subprocess.TimeoutExpired:
            code = "timeout"
    size = os.path.getsize(f"{plans}/{arm}.tmp") if os.path.exists(f"{plans}/{arm}.tmp") else 0
    note("built", arm, "rc", code, f"in {time.monotonic() - began:.1f} s,", size, "bytes")
    if code == 0 and size > 0:
        os.rename(f"{plans}/{arm}.tmp", f"{plans}/{arm}.plan")
    elif code != "timeout" or left() > 60:
        open(f"{plans}/{arm}.failed", "w").close()
        with open(f"{logs}/build-{arm}.log", errors="replace") as log:
            lines = [line for line in log.read().splitlines() if "[E]" in line]
        note("FAILED", arm, lines[:2])


def build_all(until, exporting):
    """Each lane takes the next that may be built: bases first, heads once their base is there."""
    lock, taken = threading.Lock(), set()

    def next_row():
        with lock:
            for row in engines():
                arm, base = row["arm"], row["base"]
                if arm in taken or is_built(arm) or is_failed(arm) or is_failed(base):
                    continue
                if row["kind"] == "base" or is_built(base):
                    taken.add(arm)
                    return row
        return None

    def lane():
        while left() > until:
            row = next_row()
            if row is not None:
                build(row)
            elif exporting and any(one.poll() is None for one in exporting) or any(not (is_built(arm) or is_failed(arm)) for arm in list(taken)):
                time.sleep(0.5)
            else:
                return

    threads = [threading.Thread(target=lane) for _ in range(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run(arm, extra, seconds=25):
    inputs = [f"--loadInputs=ids:{models}/ids.raw,mask:{models}/mask.raw"] if arm.startswith("torch-bert") else []
    argv = ["trtexec", f"--loadEngine={plans}/{arm}.plan", *inputs, "--useSpinWait", "--noDataTransfers", *extra]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def summary(text):
    line = next((one for one in (text or "").splitlines() if "GPU Compute Time: min" in one), "")
    pairs = [part.split(" = ") for part in line.split("Time: ")[-1].split(", ") if " = " in part]
    return {key: float(value.split()[0]) for key, value in pairs}


def time_once(chunk, arm, number):
    folder = f"{kept}/{chunk}/{arm}"
    os.makedirs(folder, exist_ok=True)
    text = run(arm, ["--separateProfileRun", "--profilingVerbosity=detailed", "--warmUp=200", "--duration=0", "--iterations=200",
                     f"--exportProfile={folder}/profile-{number}.json", f"--exportLayerInfo={kept}/layers/{arm}.json"])
    if text is None:
        note("profile failed", arm)
    if number > timed_rounds:
        return
    times = summary(run(arm, ["--useCudaGraph", "--warmUp=200", "--duration=0.3", "--percentile=90"]))
    with open(f"{kept}/times.jsonl", "a") as file:
        file.write(json.dumps({"chunk": chunk, "round": number, "arm": arm, "mean": times.get("mean"), "median": times.get("median")}) + "\n")


def chunks():
    """What is built and not timed yet: a base with at most `chunk_size` heads; those of high rank first."""
    done = set()
    if os.path.exists(f"{kept}/chunks.json"):
        with open(f"{kept}/chunks.json") as file:
            done = {arm for one in json.load(file).values() for arm in one[1:]}
    by_base = {}
    for row in engines():
        if row["kind"] != "base" and is_built(row["arm"]) and row["arm"] not in done:
            by_base.setdefault(row["base"], []).append(row)
    found = []
    for base, rows in by_base.items():
        for at in range(0, len(rows), chunk_size):
            some = rows[at : at + chunk_size]
            found.append((at, [base, *(row["arm"] for row in some)]))
    found.sort(key=lambda one: one[0])
    return [arms for _, arms in found]


def time_all():
    file = f"{kept}/chunks.json"
    known = json.load(open(file)) if os.path.exists(file) else {}
    last_round_s, each_s = 12.0, 2.9
    for arms in chunks():
        fits = int((left() - pack_s) / (rounds * each_s)) - 1
        if fits < 1:
            return
        arms = arms[: 1 + fits]
        chunk = f"{arms[0]}.{sum(one.split('.')[0] == arms[0] for one in known)}"
        for number in range(1, rounds + 1):
            if left() - pack_s < last_round_s * 1.1:
                note("stopped in", chunk, "round", number)
                break
            began = time.monotonic()
            for arm in arms if number % 2 == 1 else reversed(arms):
                time_once(chunk, arm, number)
            last_round_s = time.monotonic() - began
            each_s = last_round_s / len(arms) if number == 2 else each_s
            if number >= 3:
                known[chunk] = arms
                with open(file, "w") as text:
                    json.dump(known, text)
        note("timed", chunk, len(arms), "engines", f"{last_round_s:.1f} s a round")


def pack():
    for name in [f"{kind}-{one}" for one in groups for kind in ("truth", "plan")]:
        name += ".json" if name.startswith("truth") else ".tsv"
        if os.path.exists(f"{models}/{name}"):
            shutil.copy(f"{models}/{name}", kept)
    for row in engines():
        text = ""
        if os.path.exists(f"{logs}/build-{row['arm']}.log"):
            with open(f"{logs}/build-{row['arm']}.log", errors="replace") as log:
                text = "".join(line for line in log if "[W]" in line or "[E]" in line)[:6000]
        if text:
            os.makedirs(f"{kept}/warnings", exist_ok=True)
            with open(f"{kept}/warnings/{row['arm']}.txt", "w") as file:
                file.write(text)
    for name in groups:
        if os.path.exists(f"{logs}/models-{name}.log"):
            with open(f"{logs}/models-{name}.log", errors="replace") as log, open(f"{kept}/models-{name}.txt", "w") as file:
                file.write(log.read()[-3000:])
    with tarfile.open(f"{out}/planted.tar.xz", "w:xz", preset=2) as tar:
        tar.add(kept, "out")
    note("packed", os.path.getsize(f"{out}/planted.tar.xz"), "bytes")


gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm", "--format=csv"], capture_output=True, text=True).stdout if shutil.which("nvidia-smi") else ""
note("start", gpu.replace("\n", "; "))
exporting = make_models()
first = not os.path.exists(f"{kept}/times.jsonl")
build_all(deadline * (0.5 if first else 0.72), exporting)
for one in exporting:
    if one.poll() is None:
        one.terminate()
note("engines built", sum(is_built(row["arm"]) for row in engines()), "of", len(engines()))
time_all()
pack()
