"""Checks the consistency of the output of `gradc plan --json`: tensors that are alive at the same time do not overlap, lie within the
arena, and reach the peak.

    check_plan.py FILE [--time]        with --time, also that every kernel has a predicted time
"""
import json
import sys


def taken(tensors, node):
    """The number of bytes that tensors occupy at a node."""
    bytes, last = 0, 0
    for begin, end in sorted((tensor["begin"], tensor["end"]) for tensor in tensors if tensor["first"] <= node <= tensor["last"]):
        bytes += max(0, end - max(begin, last))
        last = max(last, end)
    return bytes


def check(entry):
    tensors, nodes = entry["tensors"], entry["nodes"]
    assert tensors and nodes and entry["launches"] <= len(nodes), entry["entry"]
    for tensor in tensors:
        assert 0 <= tensor["begin"] < tensor["end"] <= entry["arena"], tensor
        assert 0 <= tensor["first"] <= tensor["last"] <= len(nodes) and 0 < tensor["bytes"] <= tensor["end"] - tensor["begin"], tensor
    by_node = [taken(tensors, node) for node in range(len(nodes))]
    assert max(by_node) == entry["peak"]["bytes"] == by_node[entry["peak"]["node"]] <= entry["arena"], (by_node, entry["peak"])


with open(sys.argv[1]) as file:
    plan = json.load(file)
for level in plan["levels"]:
    assert level["states"] > 0 and level["kernels"] > 0
    for entry in level["entries"]:
        check(entry)
        for node in entry["nodes"] if "--time" in sys.argv else []:
            assert not node["flops"] or node["seconds"] > 0 and node["threads"] >= 1 and node["bound"] in ("cpu", "memory"), node
    print(f"{level['level']}: {' '.join(entry['entry'] for entry in level['entries'])}")
