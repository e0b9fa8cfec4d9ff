"""Reads the JSON that `gradc plan --ranks 2` prints of a pipeline and checks it against itself.

    gradc plan SPEC --ranks 2 --json | stage_plan.py
"""
import json
import sys

plan = json.load(sys.stdin)
first, second = plan["stages"]
whole = plan["one_process_ms"]
assert plan["parts"] == 4 and abs(plan["bubble"] - 0.2) < 1e-9, plan
assert abs(first["kernels_ms"] + second["kernels_ms"] - whole) < 1e-6 * whole, plan
(forecast,) = plan["forecasts"]
assert (forecast["ranks"], forecast["replicas"], forecast["rows"], forecast["sums_ms"]) == (2, 1, 32, 0), plan
assert abs(forecast["step_ms"] - max(first["kernels_ms"], second["kernels_ms"]) / 0.8) < 1e-6 * whole, plan
# Each sends activations or gradients of all rows, and the parameters and moments of the three layers (22.4 thousand numbers) are divided.
assert min(first["sent_bytes"], second["sent_bytes"]) >= 32 * 64 * 4, plan
assert 3 * 4 * 17000 <= first["state_bytes"] + second["state_bytes"] <= 3 * 4 * 30000 and min(first["state_bytes"], second["state_bytes"]) > 0, plan
