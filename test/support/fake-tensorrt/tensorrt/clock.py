# A clock on which only sleeping and reading it take time, 1 µs a read.
import time

read_takes = 1e-6
state = {"now": None}


def perf_counter():
    state["now"] += read_takes
    return state["now"]


def sleep(seconds):
    state["now"] += seconds


def install():
    state["now"] = time.perf_counter()
    time.perf_counter, time.sleep = perf_counter, sleep


def wait_until(moment):
    """On the real clock as CUDA waits: in a loop, because a sleep would end late."""
    if state["now"] is not None:
        state["now"] = max(state["now"], moment)
        return
    left = moment - time.perf_counter()
    if left > 1e-3:
        time.sleep(left - 1e-3)
    while time.perf_counter() < moment:
        pass


def pass_by(seconds):
    """What a call of the driver takes, where only the virtual clock would not tell."""
    if state["now"] is not None:
        state["now"] += seconds
