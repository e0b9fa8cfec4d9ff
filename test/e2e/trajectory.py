"""Compares the losses that `gradc train --log` wrote with the stored ones; exits 1 beyond 1e-5 relative.

    trajectory.py expected.json CASE LOG.jsonl
"""
import json
import sys

TOLERANCE = 1e-5


def main():
    expected_file, case, log = sys.argv[1:]
    with open(expected_file) as file:
        expected = json.load(file)[case]
    with open(log) as file:
        steps = [event for event in map(json.loads, file) if event["event"] == "step"]
    worst = 0.0
    for field, values in expected.items():
        found = [step[field] for step in steps]
        if len(found) != len(values):
            print(f"{case}: expected {len(values)} steps, found {len(found)}")
            return 1
        for number, (want, got) in enumerate(zip(values, found), 1):
            error = abs(got - want) / abs(want)
            worst = max(worst, error)
            if not error <= TOLERANCE:
                print(f"{case}: step {number}: expected {field} {want:.9g}, found {got:.9g}, off by {error:.1e}")
                return 1
    print(f"{case}: {len(steps)} steps within {worst:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
