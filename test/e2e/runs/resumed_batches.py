"""A resumed run with batches of another size ends with its last epoch, and a schedule without a length of its own is as long as the run.

    resumed_batches.py
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, folder, path
from bar import DIGITS, compile_spec, events, run

BATCHES = {"whole": 32, "half": 32, "rest": 64, "one": 32, "others": 50, "tens": 10, "last": 32}  # rows of each run's batches
LENGTH = {10: 143, 32: 44, 50: 28, 64: 22}  # batches of an epoch


def trainer(size, data=""):
    """The trainer for batches of `size` rows, with further fields of the data block."""
    with open(os.path.join(DIGITS, "train.textproto")) as file:
        spec = file.read()
    for old, new in (('"mlp.onnx"', f'"{DIGITS}/mlp.onnx"'), ('"digits.npz"', f'"{DIGITS}/digits.npz"'), ("size: 32", f"size: {size}"),
                     ("\ndata {", "\ndata {" + data),
                     ("epochs: 20", "epochs: 4  schedule { unit: EPOCHS cosine {} }"), ("every_epochs: 5", "every_epochs: 1"),
                     ('export { onnx: "trained.onnx" }', "")):
        expect(f"{old} is not in the spec", old in spec)
        spec = spec.replace(old, new)
    name = path(f"of{size}{'-skipping' * bool(data)}.textproto")
    with open(name, "w") as file:
        file.write(spec)
    return compile_spec(name, folder)


def rates(name, *options):
    log = path(name + ".jsonl")
    run(trainers[BATCHES[name]], "--quiet", "--log", log, *options, cwd=folder)
    return [step["lr"] for step in events(log, "step")]


trainers = {size: trainer(size) for size in LENGTH}
whole = rates("whole", "--checkpoint", path("whole"))
expect(f"4 epochs have {len(whole)} steps", len(whole) == 4 * LENGTH[32])
rates("half", "--checkpoint", path("run"), "--steps", 2 * LENGTH[32])
rest = rates("rest", "--checkpoint", path("run"), "--resume")
expect(f"2 epochs have {len(rest)} steps", len(rest) == 2 * LENGTH[64])
for epoch in 0, 1:
    found, expected = rest[epoch * LENGTH[64]], whole[(2 + epoch) * LENGTH[32]]
    expect(f"epoch {epoch + 2} has a rate of {found}, not {expected}", found == expected)
print("a schedule by epochs keeps its length")

# Batches of 50 leave out other rows of the 1,437 than those of 32. Behind row 32, as many of them are left as in a whole epoch.
rates("one", "--checkpoint", path("odd"), "--steps", 1)
others = rates("others", "--checkpoint", path("odd"), "--resume")
expect(f"4 epochs but for a batch of 32 have {len(others)} steps", len(others) == 4 * LENGTH[50])
expect("the last epoch is whole", events(path("others.jsonl"), "done")[0]["epochs"] == 4)
print("a resumed run ends with its last epoch")

# 142 batches of 10 end in the rows that batches of 32 leave out: the next batch is the first of the next epoch.
rates("tens", "--checkpoint", path("end"), "--steps", 142)
last = rates("last", "--checkpoint", path("end"), "--resume")
expect(f"3 epochs have {len(last)} steps", len(last) == 3 * LENGTH[32])
expect("3 epochs follow the first one", events(path("last.jsonl"), "done")[0]["epochs"] == 4)
print("an epoch ends where only rows are left that fill no batch")

# Rows that are skipped cost batches that are not known in advance. A run of batches of one size, though, is as long as all its epochs.
skipping = {size: trainer(size, data=" on_error: SKIP ") for size in (32, 64)}
RUN = ("--quiet", "--checkpoint", path("skipping"))
run(skipping[64], *RUN, "--steps", 2 * LENGTH[64], cwd=folder)
expected = 2 * LENGTH[64] + 2 * LENGTH[32]
for stop in 60, None:
    log = path(f"to{stop}.jsonl")
    run(skipping[32], *RUN, "--resume", "--log", log, *(["--steps", stop] if stop else ["--epochs", 4]), cwd=folder)
    steps = events(log, "resume")[0]["steps"]
    expect(f"the run's length is {steps}, not {stop or expected}", steps == (stop or expected))
print("skipped rows do not change that")
