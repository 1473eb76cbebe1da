"""Checks the worker's open-loop loader against formulas, replays and MLPerf's LoadGen.

    python bench/load.py [--service-ms 5] [--requests 20000] [--real] [--loadgen]      pip install mlcommons-loadgen
    python bench/load.py --project FOLDER --layers 33 34 --pairs 40      writes a project for bench/load-pairs.ts; pip install numpy onnx
    python bench/load.py --loadgen --plan PLAN      drives an engine of TensorRT

Without --plan, the engine is a stand-in that is busy for a stated time.
"""

import argparse
import importlib.util
import pathlib
import random
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


def plan_server(plan):
    """One inference of zeros after the other, as the worker serves requests."""
    options = worker.parse_options(["--engine=" + plan, "--mode=load"])
    trt, cuda = worker.import_tensorrt(), worker.Cuda(options.device)
    cuda.start()
    loaded = worker.Engine(trt, cuda, options)
    feeds, size = {}, 0
    for name, port in loaded.inputs.items():
        shape = tuple(loaded.engine.get_tensor_profile_shape(name, 0)[1])
        feeds[name] = worker.Feed(shape, size, worker.byte_count(port.dtype, shape))
        size += feeds[name].size
    zeros = worker.HostBuffer(cuda)
    zeros.reserve(size)
    loaded.kept.append((feeds, zeros))
    serve = worker.make_graph_server(loaded, [], 1, 1)
    for _ in range(20):
        serve(1)
    return serve


def closed_loop(serve, count=200):
    began = time.perf_counter()
    for _ in range(count):
        serve(1)
    return (time.perf_counter() - began) / count


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


def loadgen_server(rate, seconds, serve, folder):
    """P99 that LoadGen reports for its Server scenario, and the arrivals that it drew."""
    import mlperf_loadgen as lg

    waiting, ready, issued = [], threading.Condition(), []

    def issue(samples):
        issued.append(time.perf_counter())
        with ready:
            waiting.extend(sample.id for sample in samples)
            ready.notify()

    # Here, as CUDA's context is this thread's.
    def serve_all():
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
    sut, qsl = lg.ConstructSUT(issue, lambda: None), lg.ConstructQSL(8, 8, lambda _: None, lambda _: None)

    def drive():
        lg.StartTestWithLogSettings(sut, qsl, settings, log)
        with ready:
            waiting.append(None)
            ready.notify()

    driver = threading.Thread(target=drive)
    driver.start()
    serve_all()
    driver.join()
    lg.DestroyQSL(qsl)
    lg.DestroySUT(sut)
    text = pathlib.Path(folder, "mlperf_log_summary.txt").read_text()
    line = next(line for line in text.splitlines() if "99.00 percentile latency" in line)
    return int(line.split(":")[1]) / 1e9, [at - issued[0] for at in issued]


def check_loadgen(serve, service, seconds, steps=6):
    """The highest rate whose P99 stays below five service times, by bisection, for either; ours gets LoadGen's arrivals."""
    limit = 5 * service
    with tempfile.TemporaryDirectory() as folder:
        ends = {"loadgen": [0.4 / service, 0.95 / service], "ours": [0.4 / service, 0.95 / service]}
        drawn = {}
        for _ in range(steps):
            for name, (low, high) in ends.items():
                rate = (low + high) / 2
                if rate not in drawn:
                    drawn[rate] = loadgen_server(rate, seconds, serve, folder)
                theirs, arrivals = drawn[rate]
                p99 = theirs if name == "loadgen" else quantile(run(arrivals, serve)[0], 0.99)
                print("%-10s %8.1f / s: P99 %.3f ms" % (name, rate, 1e3 * p99))
                ends[name] = [rate, high] if p99 <= limit else [low, rate]
    (theirs, _), (ours, _) = ends["loadgen"], ends["ours"]
    if 0.4 / service in (theirs, ours):
        print("no figure: this machine misses the limit already at the lowest rate tried; run it where nothing else runs")
        return
    print("highest rate with P99 <= %.1f ms: LoadGen %.1f / s, ours %.1f / s (%+.2f %%)" % (1e3 * limit, theirs, ours, 100 * (ours / theirs - 1)))


# Real engines


# Rows of the network for each row of its input, so that copies take next to no time.
TILES = 64


def write_chain(path, layers, width=512):
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = [numpy_helper.from_array(np.random.default_rng(n).normal(0, width**-0.5, (width, width)).astype("f4"), "w%d" % n) for n in range(layers)]
    weights.append(numpy_helper.from_array(np.array([TILES, 1]), "tiles"))
    nodes = [helper.make_node("Tile", ["x", "tiles"], ["r"])]
    for n in range(layers):
        nodes.append(helper.make_node("MatMul", ["r" if n == 0 else "r%d" % (n - 1), "w%d" % n], ["m%d" % n]))
        nodes.append(helper.make_node("Relu", ["m%d" % n], ["r%d" % n]))
    nodes.append(helper.make_node("ReduceMean", ["r%d" % (layers - 1)], ["y"], axes=[0]))
    value = lambda name, first: helper.make_tensor_value_info(name, TensorProto.FLOAT, [first, width])
    graph = helper.make_graph(nodes, "chain", [value("x", "batch")], [value("y", 1)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


config = """version: 1
backend: tensorrt
models: { chain: { onnx: chain.onnx, dims: { batch: %d } } }
measure:
  pairs: [%d]
  warm-up: 100ms
  duration: 300ms
  unchanged-models: rebuild
  identical-engines: measure
  start-up: off
  load: { when: always, duration: %dms }
probes: off
"""


def write_project(folder, options):
    for side, count in zip(("base", "head"), options.layers):
        path = pathlib.Path(folder, side)
        path.mkdir(parents=True)
        (path / "trtgate.yml").write_text(config % (options.rows // TILES, options.pairs, 1e3 * options.load_seconds))
        write_chain(str(path / "chain.onnx"), count)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--service-ms", type=float, default=5)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--real", action="store_true", help="on this machine's clock, for which it has to be idle")
    parser.add_argument("--loadgen", action="store_true")
    parser.add_argument("--seconds", type=float, default=20, help="of LoadGen at one rate")
    parser.add_argument("--project", metavar="FOLDER")
    parser.add_argument("--layers", type=int, nargs=2, default=[33, 34])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--rows", type=int, default=4096, help="of the network")
    parser.add_argument("--load-seconds", type=float, default=6, help="of requests in each process; P99 of fewer than 3,000 shows +3 %% less often")
    parser.add_argument("--plan")
    options = parser.parse_args()
    service = options.service_ms / 1e3
    if options.project:
        write_project(options.project, options)
    elif options.loadgen:
        serve = plan_server(options.plan) if options.plan else sleeper(service)
        check_loadgen(serve, closed_loop(serve), options.seconds)
    else:
        check_overhead()
        if not options.real:
            use_virtual_clock()
        check_formulas(service, options.requests)
        check_stall(service, options.requests)


if __name__ == "__main__":
    main()
