"""A group that is frozen for some steps: its gradients are not computed before; a resume on either side of that step has the same bits; and
so has a run whose later steps start from a checkpoint.

    unfreeze.py ROOT
"""
import os
import re
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
from case import expect, folder, path
from bar import events, gradc, report, run, write_mlp_job

FROZEN, STEPS = 9, 20
spec = write_mlp_job(folder, (6, 8, 8, 3), 4, 5)
with open(spec, "a") as file:
    file.write(f'group {{ pattern: "fc1.*"  pattern: "fc2.weight"  frozen_until_step: {FROZEN} }}\n'
               f"schedule {{ cosine {{ length: {STEPS} }} }} ema {{ decay: 0.9 }} clip {{ global_norm: 1 }} steps: {STEPS}\n")
trainer = os.path.join(folder, "trainer")
gradc("compile", spec, "-o", trainer)


def train(name, *options):
    run(trainer, "--data-dir", folder, "--log", path(name + ".jsonl"), "--export", path(name + ".onnx"), "--quiet", *options)
    with open(path(name + ".onnx"), "rb") as file:
        return events(path(name + ".jsonl"), "step"), file.read()


def facts(steps):
    return [(step["step"], step["loss"], step["lr"], step["grad_norm"]) for step in steps]


steps, exported = train("whole")
thaw = events(path("whole.jsonl"), "thaw")
expect("the log does not say when groups thaw", [(event["step"], event["groups"]) for event in thaw] == [(FROZEN, "'fc1.*', 'fc2.weight'")])
for stop in (FROZEN - 3, FROZEN, FROZEN + 1):
    before, _ = train(f"to{stop}", "--steps", stop, "--checkpoint", path(f"run{stop}"))
    after, again = train(f"from{stop}", "--resume", path(f"run{stop}"), "--steps", STEPS)
    expect(f"a resume at step {stop} has other bits", facts(before + after) == facts(steps) and again == exported)
    said = [event["step"] for event in events(path(f"from{stop}.jsonl"), "thaw")]
    expect("a resume says what has thawn before", said == ([FROZEN] if stop < FROZEN else []))

# Frozen parameters have no gradients: only the last layer's gradients reach back to the activation before it.
plan = gradc("plan", spec)
launches = {name: (int(count), body) for name, count, body in re.findall(r"^(\S+): (\d+) launches(.*?)^  peak", plan, re.M | re.S)}
frozen, whole = launches[f"train.until.{FROZEN}"], launches["train"]
expect(f"the frozen part has launches: {frozen[0]} of {whole[0]}", frozen[0] <= whole[0] - 6)
expect("fc1 has launches besides its forward", len(re.findall(r"\bfc1\b", frozen[1])) == 1 < len(re.findall(r"\bfc1\b", whole[1])))

with open(os.path.join(folder, "mlp.onnx"), "rb") as file:
    initial = file.read()
_, late = train("late", "--steps", FROZEN)
changed = sum(a != b for a, b in zip(initial, late))
expect(f"{changed} bytes changed, more than those of what trains", 0 < changed <= 4 * (8 + 8 * 3 + 3))
expect("nothing has thawn", sum(a != b for a, b in zip(initial, exported)) > 4 * (8 + 8 * 3 + 3))
report(f"unfreeze: three resumes around step {FROZEN} with the same bits, {frozen[0]} launches before and {whole[0]} after", True)
