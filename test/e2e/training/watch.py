"""Norms and histograms of parameters and gradients: with a rate of 1 and plain SGD the step is the gradient, so the weights before and
after determine it; a watch changes no bit of the run, and unwatched steps launch nothing more.

    watch.py ROOT
"""
import math
import os
import re
import struct
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
from case import expect, folder, path
from bar import events, gradc, read_safetensors, report, run, write_mlp_job

spec = write_mlp_job(folder, (6, 8, 3), 4, 6)
with open(spec) as file:
    text = file.read().replace("adam {}", "sgd { learning_rate: 1 }").replace("size: 4  drop_remainder: true", "size: 5")
WATCH = 'watch { pattern: "fc1.*"  every: 2  histogram_bins: 4 } watch { pattern: "*.bias"  weights: false  every: 3 }'


def build(name, more):
    with open(path(f"{name}.textproto"), "w") as file:
        file.write(f"{text}\n{more}\n")
    gradc("compile", path(f"{name}.textproto"), "-o", path(name))


def train(name, log, steps, *options):
    run(path(name), "--data-dir", folder, "--log", path(log), "--steps", steps, "--checkpoint", path(log + ".run"), "--quiet", *options)
    return events(path(log), "step"), events(path(log), "watch")


def weights(log, steps):
    """The parameters of the checkpoint after the given number of steps."""
    gradc("export", path("watched"), "--checkpoint", path(f"{log}.run"), "-o", path("weights.safetensors"))
    return {name: struct.unpack(f"<{len(values) // 4}f", values)
            for name, (_, values) in read_safetensors(path("weights.safetensors")).items()}


def norm(values):
    return math.sqrt(sum(value * value for value in values))


def close(a, b):
    return abs(a - b) <= 2e-5 * abs(b)


more = "clip { value: 1000 } regularizer { l2: 0.01 }"
build("plain", more)
build("watched", f"{more} {WATCH}")
plain, none = train("plain", "plain.jsonl", 9)
steps, watched = train("watched", "watched.jsonl", 9)
expect("a run without a watch says something", not none)
same = [(step["loss"], step["grad_norm"]) for step in plain] == [(step["loss"], step["grad_norm"]) for step in steps]
expect("the watch changes the run's bits", same)
shown = [(event["step"], event["parameter"], "weight_norm" in event, "gradient_norm" in event) for event in watched]
wanted = [(step, f"fc1.{kind}", True, True) for step in (2, 4, 6, 8) for kind in ("weight", "bias")]
wanted += [(step, f"{layer}.bias", False, True) for step in (3, 6, 9) for layer in ("fc1", "fc2")]
expect(f"other lines than wanted: {shown}", sorted(shown) == sorted(wanted))
for step in (4, 5):
    train("watched", f"to{step}.jsonl", step - 1)
    train("watched", f"at{step}.jsonl", step)
before, after = weights("to4.jsonl", 3), weights("at4.jsonl", 4)
for event in watched:
    if event["step"] != 4:
        continue
    old, new = before[event["parameter"]], after[event["parameter"]]
    gradient = [a - b for a, b in zip(old, new)]
    expect(f"{event['parameter']} has norm {norm(old)}", close(event["weight_norm"], norm(old)))
    expect(f"the gradient of {event['parameter']} has norm {norm(gradient)}", abs(event["gradient_norm"] - norm(gradient)) <= 1e-4 * norm(gradient))
    least, largest, counts = (event[f"weight_{what}"] for what in ("least", "largest", "histogram"))
    bins = [min(int((value - least) / (largest - least) * 4), 3) for value in old]
    expect("the histogram counts otherwise", (least, largest) == (min(old), max(old)) and counts == [bins.count(i) for i in range(4)])
    expect("the gradient's histogram lacks elements", sum(event["gradient_histogram"]) == len(old))

again, resumed = train("watched", "to4.jsonl", 9, "--resume", path("to4.jsonl.run"))
expect("a resume watches otherwise", [e for e in resumed if e["step"] > 3] == [e for e in watched if e["step"] > 3])
launches = [dict(re.findall(r"^(\S+): (\d+ launches)", gradc("plan", path(f"{name}.textproto")), re.M)) for name in ("plain", "watched")]
expect("the step itself has become another", launches[0]["train"] == launches[1]["train"] and "train.watch" in launches[1])
report(f"watch: {len(watched)} lines are the weights' and gradients' norms, {launches[1]['train']} a step with and without", True)
