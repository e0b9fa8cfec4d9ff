"""Compares the forecast traffic and memory of ranks that divide parameters with those of ranks that do not.

    rank_forecasts.py FOLDER
"""
import json
import os
import sys

MOMENTS = 2 * 4 * (64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10)


def forecasts(name, strategy):
    with open(os.path.join(sys.argv[1], name + ".json")) as file:
        return {f["ranks"]: f for f in json.load(file)["forecasts"] if f["strategy"] == strategy}


def close(found, expected, share=0.05):
    assert abs(found - expected) <= share * expected, f"{found}, expected {expected}"


mirrored, sharded = forecasts("mirrored", "multi_worker"), forecasts("sharded", "sharded_optimizer")
server = forecasts("server", "parameter_server")[3]
for ranks in (2, 4):
    close(sharded[ranks]["sent_bytes"], mirrored[ranks]["sent_bytes"])
    close(sharded[ranks]["sums_ms"], mirrored[ranks]["sums_ms"], 0.2)
    close(sharded[1]["memory_bytes"] - sharded[ranks]["memory_bytes"], MOMENTS * (ranks - 1) / ranks)
    assert sharded[ranks]["rows"] == 32 // ranks
# Two workers send their gradients; the server sends all parameters to both.
assert server["rows"] == 16, server
close(server["sent_bytes"], MOMENTS)
close(server["memory_bytes"], sharded[1]["memory_bytes"])
