"""Reads a trace, and checks it against the trace-event format and gradc's guarantees about steps and their kernels.

    trace_events.py FILE        prints how many spans of each category there are, and the kernels' share of the steps
"""
import collections
import json
import statistics
import sys


def load(path):
    """The complete events of a trace, in order; fails if an event violates the format."""
    with open(path) as file:
        trace = json.load(file)
    assert trace["displayTimeUnit"] in ("ms", "ns"), trace["displayTimeUnit"]
    events = []
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str) and event["name"], event
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int), event
        assert event["ph"] in ("X", "M"), event
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"], event
            continue
        assert isinstance(event["cat"], str) and event["cat"], event
        assert isinstance(event.get("args", {}), dict), event
        assert event["ts"] >= 0 and event["dur"] >= 0, event
        events.append(event)
    return events


def steps(events):
    """(step, its wait for input, its kernels) for each step; kernels lie within their step, in sequence."""
    found, slack = [], 0.0015  # times are rounded to nanoseconds
    for event in events:
        if event["cat"] == "step":
            found.append((event, [], []))
        elif event["cat"] in ("input", "kernel"):
            step, waits, kernels = found[-1]
            (waits if event["cat"] == "input" else kernels).append(event)
            end = event["ts"] + event["dur"]
            assert step["ts"] - slack <= event["ts"] and end <= step["ts"] + step["dur"] + slack, (step, event)
            assert len(kernels) < 2 or kernels[-2]["ts"] + kernels[-2]["dur"] <= kernels[-1]["ts"] + slack, event
    for step, waits, kernels in found:
        assert len(waits) <= 1 and kernels, step
    return [(step, waits[0] if waits else None, kernels) for step, waits, kernels in found]


def kernel_share(events):
    """The sum of the kernels' times as a fraction of their step's time without the wait for input; the median over all steps."""
    return statistics.median(sum(kernel["dur"] for kernel in kernels) / (step["dur"] - (wait["dur"] if wait else 0))
                             for step, wait, kernels in steps(events))


if __name__ == "__main__":
    all_events = load(sys.argv[1])
    for category, count in sorted(collections.Counter(event["cat"] for event in all_events).items()):
        print(f"{category}: {count}")
    share = kernel_share(all_events)
    assert 0 < share <= 1.001, share
