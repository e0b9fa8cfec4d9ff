"""Steps in several parts, and steps in 16 bits: the losses are those of the plain step up to roundings; a scale of the loss
comes down after overflows, which change nothing else; a resume has the same bits."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bars"))
from bar import REFERENCES, events, gradc, run, scratch

folder = scratch()


def build(case, name, more="", changes=()):
    """A stored spec with changes, compiled; the executable."""
    with open(os.path.join(REFERENCES, f"{case}.textproto")) as file:
        text = file.read()
    for old, new in changes:
        assert old in text, f"{case} has no '{old}'"
        text = text.replace(old, new)
    text = re.sub(r'((?:model|path): ")', rf"\1{REFERENCES}/", text) + more + "\n"
    program = os.path.join(folder, f"{case}-{name}")
    with open(program + ".textproto", "w") as file:
        file.write(text)
    gradc("compile", program + ".textproto", "-o", program)
    return program


def losses(program, *options):
    log = program + ".jsonl"
    run(program, "--log", log, "--quiet", *options)
    return [step["loss"] for step in events(log, "step")]


def expect(what, expected, found, limit):
    same = len(expected) == len(found) and found
    error = max(abs(f - e) / abs(e) for e, f in zip(expected, found)) if same else float("inf")
    print(f"{what}: {len(found)} losses within {error:.1e}", flush=True)
    if not error <= limit:
        sys.exit(f"WRONG: {what}: at most {limit:.0e} expected")


def check(what, holds):
    if not holds:
        sys.exit(f"WRONG: {what}")


# 1. In parts: up to the order of sums. 20 steps of 30 rows leave others for a smaller batch at the end of each pass.
plain = {case: losses(build(case, "whole")) for case in ("adam", "lenet", "gpt", "gru")}
for case, parts in ("adam", 4), ("lenet", 8), ("gpt", 2), ("gru", 2):
    expect(f"{case} in {parts} parts", plain[case], losses(build(case, "parts", f"micro_batches: {parts}")), 1e-5)
smaller = [("size: 32  drop_remainder: true", "size: 30"), ("epochs: 1", "epochs: 2")]
whole = losses(build("adam", "rest", changes=smaller))
check("batches that are left over", len(whole) % 2 == 0 and len(whole) > 40)
expect("adam in 3 parts, with batches left over", whole,
       losses(build("adam", "rest-parts", "micro_batches: 3", smaller)), 1e-5)

# 2. In 16 bits: other roundings, and the losses show that there are any.
for case, precision, limit in (("adam", "BF16", 1e-2), ("lenet", "BF16", 1e-2), ("gpt", "BF16", 2e-3), ("gru", "BF16", 1e-2),
                               ("adam", "FP16", 1e-3), ("gpt", "FP16", 5e-4)):
    found = losses(build(case, precision, f"precision: {precision}"))
    expect(f"{case} in {precision}", plain[case], found, limit)
    check(f"{case} in {precision} has the bits of f32", found != plain[case])
expect("gpt in FP16 and 2 parts", plain["gpt"], losses(build("gpt", "both", "precision: FP16  micro_batches: 2")), 5e-4)
every = losses(build("adam", "kept", 'precision: BF16  keep_fp32: "*"'))
check("keep_fp32 of all nodes", every == plain["adam"])

# 3. A scale that overflows comes down, a power of two a step, and what was skipped changed nothing.
start = 2.0**24
scaled = build("adam", "scaled", f"precision: FP16  loss_scaling {{ initial: {start}  growth_interval: 1000 }}")
found = losses(scaled)
skipped = events(scaled + ".jsonl", "skipped")
steps = events(scaled + ".jsonl", "step")
print(f"scale from {start:.0f} to {steps[-1]['scale']:.0f}: {len(skipped)} steps skipped")
check("skipped steps", 2 <= len(skipped) <= 15 and [s["step"] for s in skipped] == list(range(1, len(skipped) + 1)))
check("a skipped step names the node", all(s["node"] and s["kernel"] for s in skipped))
check("the scale is halved", [s["scale"] for s in skipped] == [start / 2 ** (i + 1) for i in range(len(skipped))])
check("the step log's scale and count", steps[-1]["scale"] == skipped[-1]["scale"] and steps[-1]["skipped"] == len(skipped))
again = losses(scaled)
check("the same bits", again == found)

# 4. At the floor the training ends.
floor = build("adam", "floor", f"precision: FP16  loss_scaling {{ initial: {start}  floor: {start} }}")
result = subprocess.run([floor, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
check("an error at the floor", result.returncode == 1 and "the gradient norm is" in result.stderr)

# 5. A resume goes on with the scale, and with the number of steps that the optimizer counts.
half = len(found) // 2
kept = os.path.join(folder, "kept")
losses(scaled, "--checkpoint", kept, "--steps", str(half))
run(scaled, "--resume", kept, "--log", scaled + ".rest", "--quiet", "--epochs", "1")
rest = [step["loss"] for step in events(scaled + ".rest", "step")]
check(f"a resume at step {half}", rest == found[half:])
print("all hold")
