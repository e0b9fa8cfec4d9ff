"""Succeeds if the losses in two logs differ by at most a fraction of them.

    compare_losses.py LOG LOG TOLERANCE
"""
import json
import sys


def losses(path):
    with open(path) as file:
        return [event["loss"] for event in map(json.loads, file) if "loss" in event]


first, second = losses(sys.argv[1]), losses(sys.argv[2])
if not first or len(first) != len(second):
    sys.exit(f"expected as many losses in each log, found {len(first)} and {len(second)}")
for step, (a, b) in enumerate(zip(first, second), 1):
    if abs(a - b) > float(sys.argv[3]) * abs(a):
        sys.exit(f"step {step}: losses {a} and {b}")
