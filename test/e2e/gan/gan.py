"""A WGAN whose critic and generator train in turns follows PyTorch. The log names the entry of each step. A run stopped in the middle of a
cycle and resumed has the same bits. The exported model makes PyTorch's samples.

    gan.py ROOT
"""
import json
import os
import sys
import zipfile

ROOT, HERE = os.path.abspath(sys.argv[1]), os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
from case import expect, folder, path
from bar import compile_spec, events, gradc, read_npy, report, run, write_npy

TOLERANCE, STEPS, BATCH = 1e-5, 120, 16
trainer = compile_spec(os.path.join(HERE, "gan.textproto"), folder)


def train(name, *options):
    run(trainer, "--data-dir", HERE, "--log", path(name + ".jsonl"), "--export", path(name + ".onnx"), "--quiet", *options)
    with open(path(name + ".onnx"), "rb") as file:
        return events(path(name + ".jsonl"), "step"), file.read()


with open(os.path.join(HERE, "expected.json")) as file:
    expected = json.load(file)
steps, exported = train("whole")
expect("the log does not name each step's entry",
       [step["entry"] for step in steps] == (["critic"] * 5 + ["generator"]) * (STEPS // 6))
expect("rates are not the entries' own", [step["lr"] for step in steps[4:6]] == [0.002, 0.004])
worst = max(abs(step["loss"] - loss) / abs(loss) for step, loss in zip(steps, expected, strict=True))
expect("the comparison cannot fail", abs(steps[0]["loss"] - expected[1]) > TOLERANCE)

# Inside the steps of the critic, and between those of critic and generator.
for stop in (50, 53, 54):
    before, _ = train(f"to{stop}", "--steps", stop, "--checkpoint", path(f"run{stop}"))
    after, again = train(f"from{stop}", "--resume", path(f"run{stop}"), "--steps", STEPS)
    losses = [step["loss"] for step in before + after]
    expect(f"a resume at step {stop} has other bits", losses == [step["loss"] for step in steps] and again == exported)
expect("two threads have other bits", train("threads", "--threads", "2")[1] == exported)

# --learning-rate replaces the first rate, and the second keeps its ratio.
rates = [step["lr"] for step in train("rate", "--learning-rate", "0.001", "--steps", "6")[0]]
expect("the rates' shares are not kept", [round(rate, 9) for rate in rates[4:]] == [0.001, 0.002])

with zipfile.ZipFile(os.path.join(HERE, "gan.npz")) as file:
    for field in ("real", "noise", "share"):
        shape, values = read_npy(file.read(f"{field}.npy"))
        write_npy(path(f"{field}.npy"), values[:BATCH * shape[1]], (BATCH, shape[1]))
write_npy(path("slope.npy"), read_npy(open(path("real.npy"), "rb").read())[1], (BATCH, 2))
gradc("run", path("whole.onnx"), *(part for field in ("real", "noise", "share", "slope") for part in ("--input", f"{field}={path(field)}.npy")),
      "--output-dir", folder)
samples, wanted = (read_npy(open(name, "rb").read())[1] for name in (path("fake.npy"), os.path.join(HERE, "samples.npy")))
off = max(abs(a - b) for a, b in zip(samples, wanted, strict=True))
expect(f"samples are off by {off:.1e}", off <= 1e-4)
report(f"gan: losses of 20 cycles within {worst:.1e} of PyTorch's, samples within {off:.1e}", worst <= TOLERANCE)
