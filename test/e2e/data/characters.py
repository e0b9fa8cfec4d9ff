"""Checks the log of two epochs of examples/characters: the model is far from chance.

    characters.py LOG
"""
import json
import sys

with open(sys.argv[1]) as file:
    events = [json.loads(line) for line in file]
evaluations = [event for event in events if event["event"] == "eval"]
assert len(evaluations) == 2, evaluations
assert evaluations[1]["loss"] < evaluations[0]["loss"], evaluations
# The most frequent character alone would give 0.17.
assert evaluations[1]["accuracy"] > 0.30, evaluations
