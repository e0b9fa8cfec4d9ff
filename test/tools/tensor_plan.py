"""Checks the forecasts for ranks that share products: of one replica of the model, and of two that sum their gradients.

    tensor_plan.py FOLDER
"""
import json
import os
import sys

SUM = 32 * 64 * 4  # of the second product, over the ranks of a replica
ALL = 64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10  # parameters, of which the first two products and the first bias are in shards
GRADIENTS = 4 * (ALL - (64 * 128 + 128 + 128 * 64) // 2)


def forecasts(name):
    with open(os.path.join(sys.argv[1], name + ".json")) as file:
        plan = json.load(file)
    assert plan["one_rank_ms"] > 0, plan
    return {f["ranks"]: f for f in plan["forecasts"]}


(two,), replicas = forecasts("two").values(), forecasts("replicas")
assert (two["strategy"], two["rows"], two["sent_bytes"]) == ("tensor", 32, SUM), two
# A millisecond for each half of the sum, and 8 of them for its bytes; nothing runs meanwhile.
assert 10 < two["sums_ms"] < 11 and two["hidden"] < 0.02, two
assert abs(two["step_ms"] - two["kernels_ms"] - two["sums_ms"]) < 0.02 * two["step_ms"], two
# Parameters and two moments.
assert 3 * GRADIENTS <= two["memory_bytes"] < 3 * 4 * ALL, two
# One replica sums over no rows.
assert replicas[2]["sent_bytes"] == SUM and replicas[2]["rows"] == 32, replicas
assert replicas[4]["rows"] == 16 and abs(replicas[4]["sent_bytes"] - SUM - GRADIENTS) < 0.02 * GRADIENTS, replicas
assert replicas[4]["step_ms"] > replicas[2]["step_ms"] + 1e-3 * GRADIENTS, replicas
