"""Checks the worker's open-loop loader against formulas, replays and MLPerf's LoadGen.

    python bench/load.py [--service-ms 5] [--requests 20000] [--real] [--loadgen]      pip install mlcommons-loadgen
    python bench/load.py --device [--runs 13]      on a GPU with TensorRT and trtexec, after npm run build; pip install onnx

The engine is a stand-in that is busy for a stated time. --device gates real engines through dist/cli.js: base and head the same
(A/A, 8 pairs a run), then a head with 103 layers in place of 100 (+3 % at 80 % load).
"""

import argparse
import importlib.util
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

root = pathlib.Path(__file__).resolve().parent.parent
spec = importlib.util.spec_from_file_location("worker", root / "worker/tensorrt.py")
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
sys.setswitchinterval(1e-4)


def poisson(rate, count, seed=1):
    draw, now, arrivals = random.Random(seed), 0.0, []
    for _ in range(count):
        now += draw.expovariate(rate)
        arrivals.append(now)
    return arrivals


def engine(service, stall=None):
    runs = [0]

    def serve(_):
        runs[0] += 1
        worker.wait_until(time.perf_counter() + service + (stall[1] if stall and runs[0] == stall[0] else 0))

    return serve


def sleeper(service):
    """Leaves the processor to LoadGen's own threads."""
    return lambda _: time.sleep(service)


def replay(arrivals, service, stall=None):
    free, latencies = 0.0, []
    for run, at in enumerate(arrivals, 1):
        free = max(free, at) + service + (stall[1] if stall and run == stall[0] else 0)
        latencies.append(free - at)
    return latencies


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def mean(values):
    return sum(values) / len(values)


def row(what, got, expected):
    print("%-44s %10.3f ms %10.3f ms %+7.2f %%" % (what, 1e3 * got, 1e3 * expected, 100 * (got / expected - 1)))


def run(arrivals, serve):
    latencies, lateness = worker.serve_arrivals(arrivals, 1, 0.0, serve)
    return list(latencies), list(lateness)


def use_virtual_clock():
    """On which only sleeping and reading it take time, 1 µs a read."""
    place = importlib.util.spec_from_file_location("clock", root / "test/support/fake-tensorrt/tensorrt/clock.py")
    clock = importlib.util.module_from_spec(place)
    place.loader.exec_module(clock)
    clock.install()


def check_formulas(service, count):
    print("%-44s %13s %13s" % ("", "measured", "expected"))
    latencies, lateness = run([n / (0.8 / service) for n in range(count // 4)], engine(service))
    row("constant arrivals, 80 % load: median", quantile(latencies, 0.5), service)
    print("%-44s %10.3f ms" % ("sent late, P99", 1e3 * quantile(lateness, 0.99)))
    for load in (0.5, 0.7, 0.8, 0.9):
        arrivals = poisson(load / service, count)
        latencies, _ = run(arrivals, engine(service))
        expected = replay(arrivals, service)
        row("Poisson, %d %% load: mean, replayed" % (100 * load), mean(latencies), mean(expected))
        row("Poisson, %d %% load: P99, replayed" % (100 * load), quantile(latencies, 0.99), quantile(expected, 0.99))
        # The replay takes out what these arrivals differ from the average of all.
        formula = service * (1 + load / (2 * (1 - load)))
        row("Poisson, %d %% load: mean, Pollaczek-Khinchine" % (100 * load), mean(latencies) - mean(expected) + formula, formula)


def check_stall(service, count):
    arrivals = [n * service / 0.6 for n in range(count)]
    stall = (count // 3, 1.0)
    latencies, _ = run(arrivals, engine(service, stall))
    expected = replay(arrivals, service, stall)
    for name, share in (("P99", 0.99), ("longest", 1)):
        row("halted for 1 s: " + name, quantile(latencies, share), quantile(expected, share))
    closed, serve = [], engine(service, stall)
    for _ in range(count):
        began = time.perf_counter()
        serve(1)
        closed.append(time.perf_counter() - began)
    row("the same in a closed loop: P99", quantile(closed, 0.99), quantile(expected, 0.99))


def check_overhead():
    rate, count = 2000, 10_000
    latencies, lateness = run(poisson(rate, count), lambda _: None)
    late = quantile(lateness, 0.99)
    print("%-44s %10.3f ms, sent late %.3f ms (P99)" % ("no engine: mean", 1e3 * mean(latencies), 1e3 * late))
    print("%-44s %10.3f ms" % ("shortest service time at 5 %", 1e3 * 20 * late))


# MLPerf's LoadGen


def loadgen_server(rate, seconds, service, folder):
    """P99 that LoadGen reports for its Server scenario, and the arrivals that it drew."""
    import mlperf_loadgen as lg

    waiting, ready, issued = [], threading.Condition(), []

    def issue(samples):
        issued.append(time.perf_counter())
        with ready:
            waiting.extend(sample.id for sample in samples)
            ready.notify()

    def serve_all():
        serve = sleeper(service)
        while True:
            with ready:
                while not waiting:
                    ready.wait()
                one = waiting.pop(0)
            if one is None:
                return
            serve(1)
            lg.QuerySamplesComplete([lg.QuerySampleResponse(one, 0, 0)])

    settings = lg.TestSettings()
    settings.scenario, settings.mode = lg.TestScenario.Server, lg.TestMode.PerformanceOnly
    settings.server_target_qps = rate
    settings.server_target_latency_ns = int(1e9)
    settings.server_target_latency_percentile = 0.99
    settings.min_duration_ms = int(1e3 * seconds)
    settings.min_query_count = settings.max_query_count = int(rate * seconds)
    output = lg.LogOutputSettings()
    output.outdir, output.copy_summary_to_stdout = folder, False
    log = lg.LogSettings()
    log.log_output, log.enable_trace = output, False
    thread = threading.Thread(target=serve_all)
    thread.start()
    sut, qsl = lg.ConstructSUT(issue, lambda: None), lg.ConstructQSL(8, 8, lambda _: None, lambda _: None)
    lg.StartTestWithLogSettings(sut, qsl, settings, log)
    lg.DestroyQSL(qsl)
    lg.DestroySUT(sut)
    with ready:
        waiting.append(None)
        ready.notify()
    thread.join()
    text = pathlib.Path(folder, "mlperf_log_summary.txt").read_text()
    line = next(line for line in text.splitlines() if "99.00 percentile latency" in line)
    return int(line.split(":")[1]) / 1e9, [at - issued[0] for at in issued]


def check_loadgen(service, seconds, steps=6):
    """The highest rate whose P99 stays below five service times, by bisection, for either; ours gets LoadGen's arrivals."""
    limit = 5 * service
    with tempfile.TemporaryDirectory() as folder:
        ends = {"loadgen": [0.4 / service, 0.95 / service], "ours": [0.4 / service, 0.95 / service]}
        drawn = {}
        for _ in range(steps):
            for name, (low, high) in ends.items():
                rate = (low + high) / 2
                if rate not in drawn:
                    drawn[rate] = loadgen_server(rate, seconds, service, folder)
                theirs, arrivals = drawn[rate]
                p99 = theirs if name == "loadgen" else quantile(run(arrivals, sleeper(service))[0], 0.99)
                print("%-10s %8.1f / s: P99 %.3f ms" % (name, rate, 1e3 * p99))
                ends[name] = [rate, high] if p99 <= limit else [low, rate]
    (theirs, _), (ours, _) = ends["loadgen"], ends["ours"]
    if 0.4 / service in (theirs, ours):
        print("no figure: this machine misses the limit already at the lowest rate tried; run it where nothing else runs")
        return
    print("highest rate with P99 <= %.1f ms: LoadGen %.1f / s, ours %.1f / s (%+.2f %%)" % (1e3 * limit, theirs, ours, 100 * (ours / theirs - 1)))


# Real engines


def write_chain(path, layers, width=1024):
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = [numpy_helper.from_array(np.random.default_rng(n).normal(0, width**-0.5, (width, width)).astype("f4"), "w%d" % n) for n in range(layers)]
    nodes = []
    for n in range(layers):
        nodes.append(helper.make_node("MatMul", ["x" if n == 0 else "r%d" % (n - 1), "w%d" % n], ["m%d" % n]))
        nodes.append(helper.make_node("Relu", ["m%d" % n], ["y" if n == layers - 1 else "r%d" % n]))
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])
    graph = helper.make_graph(nodes, "chain", [value("x")], [value("y")], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


config = """version: 1
backend: tensorrt
models: { chain: { onnx: chain.onnx, dims: { batch: 64 } } }
measure: { pairs: [5, 8], unchanged-models: rebuild, identical-engines: measure, start-up: off, memory-growth: off, load: { when: always, duration: 5s } }
probes: off
"""


def check_device(runs):
    found = {}
    for name, layers in (("A/A", 100), ("+3 %", 103)):
        verdicts = found[name] = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as folder:
                for side, count in (("base", 100), ("head", layers)):
                    pathlib.Path(folder, side).mkdir()
                    pathlib.Path(folder, side, "trtgate.yml").write_text(config)
                    write_chain("%s/%s/chain.onnx" % (folder, side), count)
                command = ["node", str(root / "dist/cli.js"), "run", "--base", "base", "--head", "head", "--out", "out"]
                subprocess.run(command, cwd=folder, check=False)
                result = json.loads(pathlib.Path(folder, "out/result.json").read_text())
                for load in result.get("measuredLoads", []):
                    verdicts += [point["comparison"]["verdict"] for point in load["points"]]
        print(name, {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))})
    false = sum(verdict in ("regressed", "improved") for verdict in found["A/A"])
    print("false alarms %d of %d; +3 %% found %d of %d" % (false, len(found["A/A"]), found["+3 %"].count("regressed"), len(found["+3 %"])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--service-ms", type=float, default=5)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--real", action="store_true", help="on this machine's clock, for which it has to be idle")
    parser.add_argument("--loadgen", action="store_true")
    parser.add_argument("--seconds", type=float, default=20, help="of LoadGen at one rate")
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--runs", type=int, default=13)
    options = parser.parse_args()
    service = options.service_ms / 1e3
    if options.device:
        check_device(options.runs)
    elif options.loadgen:
        check_loadgen(service, options.seconds)
    else:
        check_overhead()
        if not options.real:
            use_virtual_clock()
        check_formulas(service, options.requests)
        check_stall(service, options.requests)


if __name__ == "__main__":
    main()
