"""Several processes share a loss that the model computes as one process has it, be it a mean or a sum over rows, however the mean is written, also in parts of a
batch, and if its gradient is the same for all rows, as that of a critic's mean score is; a loss that is both is refused.

    ranks_scalars.py ROOT
"""
import array
import os
import random
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars")]
from bar import compile_spec, program, scratch, write_npy
from onnx_writer import FLOAT, INT64, Model
from rank_runs import logs_of_ranks, losses

ROWS, BATCH = 23, 5  # the last batch has 3 rows
numbers = random.Random(3)


def error_of(model):
    """Squares of an output with a row for each of the batch, [N, 4]."""
    value = model.node("Tanh", [model.node("MatMul", [model.input("x", FLOAT, ["N", 6]), model.weight(numbers, "w", 6, 4)], ["y"], "fc")], ["t"], "t")
    return model.node("Mul", [value, value], ["squares"], "squares")


def total(model, value, name):
    return model.node("ReduceSum", [value], [name], name, keepdims=0)


def penalty(model):
    return total(model, model.node("Mul", ["w", "w"], ["weights"], "weights"), "penalty")


def rows_of(model):
    size = model.node("Gather", [model.node("Shape", ["x"], ["shape"], "shape"), model.initializer("first", INT64, [], [0])], ["size"], "size")
    return model.node("Cast", [size], ["rows"], "rows", to=FLOAT)


def mean(model, value):
    return [model.node("ReduceMean", [value], ["loss"], "loss", keepdims=0)]


def divided(model, value):
    return [model.node("Div", [total(model, value, "sum"), rows_of(model)], ["loss"], "loss")]


def scaled(model, value):
    half = model.initializer("half", FLOAT, [], [0.5])
    return [model.node("Mul", [total(model, value, "sum"), half], ["loss"], "loss"), penalty(model)]


def scores(model, value):
    """The mean score of a critic with two heads, less that of its second one."""
    score, other = (model.node("Gemm", [value, model.weight(numbers, f"{name}.weight", 4, 1), "bias"], [name], name) for name in ("score", "other"))
    model.initializer("bias", FLOAT, [1], [0.1])
    flat = model.node("Squeeze", [other, model.initializer("last", INT64, [1], [1])], ["flat"], "flat")
    both = [model.node("ReduceMean", [one], [f"mean.{one}"], f"mean.{one}", keepdims=0) for one in (score, flat)]
    return [model.node("Sub", both, ["loss"], "loss"), both[0]]


def both(model, value):
    return [model.node("Add", [total(model, value, "sum"), penalty(model)], ["loss"], "loss")]


def write_job(name, build, batch):
    """The path of the spec of a job in a folder of its own."""
    folder = os.path.join(scratch(), name)
    os.mkdir(folder)
    model = Model(name, opset=20)
    terms = build(model, error_of(model))
    for term in terms:
        model.output(term, FLOAT, [])
    model.save(os.path.join(folder, "model.onnx"))
    write_npy(os.path.join(folder, "x.npy"), array.array("f", (numbers.gauss(0, 1) for _ in range(ROWS * 6))), (ROWS, 6))
    spec = os.path.join(folder, "job.textproto")
    with open(spec, "w") as file:
        file.write('model: "model.onnx"\n' + "".join(f'loss {{ scalar: "{term}" }}\n' for term in terms) + f"""optimizer {{ sgd {{ learning_rate: 0.05 }} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x.npy" }} }} }}
  {batch}
}}
distribution {{}}
""")
    return folder, spec


for build in mean, divided, scaled, scores:
    for kind, batch in ("whole", f"stage {{ batch {{ size: {BATCH} }} }}"), ("parts", None):
        folder, spec = write_job(f"{build.__name__}-{kind}", build, batch or "stage { batch { size: 8  drop_remainder: true } }")
        if not batch:
            with open(spec, "a") as file:
                file.write("micro_batches: 2\n")
        found = [losses(log) for log in logs_of_ranks(compile_spec(spec, folder), folder, steps=10)]
        worst = max(abs(a - b) / max(1, abs(a)) for other in found[1:] for a, b in zip(found[0], other, strict=True))
        assert len(found[0]) == 10 and worst <= 1e-6, (build.__name__, kind, worst, found)
        print(f"{build.__name__}, {kind}: 1, 2 and 3 ranks within {worst:.1e}")

folder, spec = write_job("idle", mean, f"stage {{ batch {{ size: {BATCH} }} }}")
trainer = compile_spec(spec, folder)
for ranks, said in (5, ""), (6, "1 of the 6 ranks that share batches of 5 rows has none"), (8, "3 of the 8 ranks that share batches of 5 rows have none"):
    done = subprocess.run([trainer, "--ranks", str(ranks), "--steps", "2"], cwd=folder, capture_output=True, text=True)
    warning = f"warning: {said}: start fewer ranks, or choose a larger batch.size\n"
    assert done.returncode == 0 and (warning in done.stderr if said else "warning" not in done.stderr), done
print("more ranks than rows: a warning")

folder, spec = write_job("both", both, f"stage {{ batch {{ size: {BATCH} }} }}")
refused = subprocess.run([program("gradc"), "check", spec], capture_output=True, text=True)
expected = ('node "loss": error: expected the loss and metrics of a step that ranks share to be sums or means over rows, found add of a sum over rows and '
            "what is none: make each an output with a loss { scalar } of its own")
assert refused.returncode == 3 and expected in refused.stderr + refused.stdout, refused
print("a sum and a penalty in one output: refused")
