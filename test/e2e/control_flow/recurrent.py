"""An LSTM, a GRU, a neural ODE (a Loop that contains an If), and a Loop around a Scan, compiled: kernels in loops are verified; the
simulated GPU and the reference give the same numbers; any number of rows; gradients against differences.

    recurrent.py
"""
import array
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, folder, path
from bar import BIN, REFERENCES, gradc, run, write_npy

SIMULATED = dict(os.environ, GRADC_LIBCUDA=os.path.join(BIN, "../test/gradc-simulated-cuda.so"))
LENGTH, WIDTH, BATCH = 9, 6, 4
numbers = random.Random(3)


def logits(name):
    """Elements of the output's .npy file in a folder."""
    with open(os.path.join(folder, name, "logits.npy"), "rb") as file:
        data = file.read()
    return array.array("f", data[10 + int.from_bytes(data[8:10], "little"):])


def off_by(a, b):
    return max(abs(x - y) for x, y in zip(a, b)) if len(a) == len(b) and a else float("inf")


def check(case):
    model = os.path.join(REFERENCES, f"{case}.onnx")
    shape = f"x={BATCH}x{LENGTH}x{WIDTH}"
    verified = run(os.path.join(BIN, "gradc"), "verify", model, "--shape", shape, "--target=cpu")
    expect(f"{case}: verify said {verified[-200:]}", " checks, 0 wrong" in verified)

    data = array.array("f", [numbers.gauss(0, 1) for _ in range(BATCH * LENGTH * WIDTH)])
    write_npy(path("x.npy"), data, [BATCH, LENGTH, WIDTH])
    give = ("--shape", shape, "--input", f"x={path('x.npy')}")
    gradc("run", model, *give, "--output-dir", path(f"{case}-cpu"))
    gradc("run", model, *give, "--reference", "--output-dir", path(f"{case}-reference"))
    gradc("compile", model, "--shape", shape, "--target=cpu,cuda:sm_90", "--llvm-image", "-o", path(case))
    run(os.path.join(BIN, "gradc"), "run", path(case), "--input", f"x={path('x.npy')}", "--output-dir", path(f"{case}-gpu"), env=SIMULATED)
    found = logits(f"{case}-cpu")
    for other in ("reference", "gpu"):
        error = off_by(found, logits(f"{case}-{other}"))
        expect(f"{case}: off the {other} by {error:.1e}", error < 2e-6)
    return found


def check_rows(case, batch=16, few=5):
    """Steps of whole cache lines hold any number of rows, whose bits do not depend on their neighbours."""
    gradc("compile", os.path.join(REFERENCES, f"{case}.onnx"), "--shape", f"x={batch}x{LENGTH}x{WIDTH}", "-o", path("rows"))
    data = array.array("f", [numbers.gauss(0, 1) for _ in range(batch * LENGTH * WIDTH)])
    for rows in (batch, few):
        write_npy(path("x.npy"), data[:rows * LENGTH * WIDTH], [rows, LENGTH, WIDTH])
        gradc("run", path("rows"), "--input", f"x={path('x.npy')}", "--output-dir", path(f"rows-{rows}"))
    whole, part = logits(f"rows-{batch}"), logits(f"rows-{few}")
    expect(f"{case}: {few} rows are not those of {batch}", len(part) == len(whole) * few // batch and part == whole[:len(part)])


def main():
    for case in ("lstm-tagger", "gru", "ode", "nested"):
        check(case)
    for case in ("lstm-tagger", "gru"):
        check_rows(case)
    # Gradients through a loop around a loop with a branch, against differences.
    verified = gradc("verify", os.path.join(REFERENCES, "nested.textproto"))
    expect(f"nested: verify said {verified[-300:]}", "gradient w " in verified and " checks, 0 wrong" in verified)


main()
