"""Succeeds if the output of `gradc bench --json` is consistent.

    check_bench.py FILE
"""
import json
import sys

with open(sys.argv[1]) as file:
    bench = json.load(file)
ms, kernels, machine = bench["ms"], bench["kernels"], bench["machine"]
assert 0 < ms["p10"] <= ms["median"] <= ms["p90"], ms
assert bench["steps"] >= 5 and kernels, bench
assert all(value > 0 for value in bench["start_up_ms"].values()), bench["start_up_ms"]
assert bench["memory"]["arena"] > 0 and bench["memory"]["states"] > 0, bench["memory"]
for rate in machine["flops"], machine["int8_flops"], machine["bytes"]:
    assert rate["one_thread"] > 1e8 and rate["all_threads"] > 1e8, machine
for kernel in kernels:
    assert kernel["ms"] >= 0 and 1 <= kernel["threads"] <= bench["threads"] and kernel["kernel"], kernel
assert [kernel["ms"] for kernel in kernels] == sorted((kernel["ms"] for kernel in kernels), reverse=True)
gflops = sum(kernel["flops"] for kernel in kernels) / ms["median"] / 1e6
assert abs(gflops - bench["gflops"]) < 1e-6 * gflops, (gflops, bench["gflops"])
