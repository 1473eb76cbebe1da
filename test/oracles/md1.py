# Writes md1.json: quantiles of waiting plus service in M/D/1, by Crommelin's alternating sum in 400 digits.
# A. K. Erlang 1909; C. D. Crommelin, Post Office Electrical Engineers Journal 25 (1932).
import json
import pathlib
from decimal import Decimal, getcontext

getcontext().prec = 400


def at_most(load, wait):
    sum_, factorial = Decimal(0), Decimal(1)
    for k in range(int(wait) + 1):
        factorial *= k or 1
        x = load * (k - wait)
        sum_ += (x**k if k else Decimal(1)) / factorial * (-x).exp()
    return (1 - load) * sum_


def sojourn(load, share):
    if at_most(load, Decimal(0)) >= share:
        return Decimal(1)
    low, high = Decimal(0), Decimal(1)
    while at_most(load, high) < share:
        low, high = high, 2 * high
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(load, middle) < share else (low, middle)
    return 1 + high


rows = [
    [float(load), float(share), float(sojourn(load, share))]
    for load in map(Decimal, ("0.1", "0.5", "0.7", "0.8", "0.9", "0.95"))
    for share in map(Decimal, ("0.5", "0.9", "0.99", "0.999"))
]
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({"sojourn": rows}, indent=1).replace("\n   ", " ").replace("\n  ]", " ]") + "\n")
