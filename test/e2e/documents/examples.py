"""Trains the examples about the training loop, for fewer steps than in their READMEs, and checks that they reach the results promised
there; and compresses a network, whose export holds zeros and codes and is compiled to integer arithmetic.

    examples.py
"""
import array
import glob
import os
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bars"))
from bar import DIGITS, ROOT, compile_spec, events, gradc, read_npy, run, scratch, write_npy
from onnx_writer import FLOAT, INT8, fields


def train(example, spec, *options):
    """The run's log: its evaluations, and the event that ends it."""
    folder, source = scratch(), os.path.join(ROOT, "examples", example)
    trainer = compile_spec(os.path.join(source, spec), folder)
    log = os.path.join(folder, "log.jsonl")
    run(trainer, "--data-dir", source, "--log", log, "--checkpoint", os.path.join(folder, "run"),
        "--export", os.path.join(folder, "trained.onnx"), "--quiet", *options, cwd=folder)
    return events(log, "eval"), events(log, "done")[0], os.path.join(folder, "trained.onnx")


def expect(name, holds, found):
    print(f"{name}: {found}", flush=True)
    if not holds:
        sys.exit(f"{name} falls short")


evaluations, _, model = train("gpt", "train.textproto", "--steps", "150")
found = evaluations[-1]["perplexity"]
expect("gpt", found < 30, f"perplexity {found:.1f} after 150 steps")  # 128 characters
said = subprocess.run([sys.executable, os.path.join(ROOT, "examples/gpt/write.py"), model, "This Lic", "3"],
                      stdout=subprocess.PIPE, text=True, check=True).stdout
expect("gpt writes", said.startswith("This Lic") and len(said) == 12, repr(said))

evaluations, _, _ = train("pinn", "train.textproto", "--epochs", "100")
found = evaluations[-1]["root_mean_squared_error"]
expect("pinn", found < 0.1, f"off by {found:.4f} after 100 epochs")  # the solution's own is 0.6

for spec in "sampled.textproto", "weighted.textproto":
    evaluations, done, _ = train("imbalanced", spec)
    last, best = evaluations[-1], max(e["auc"] for e in evaluations)
    expect(spec, best > 0.975 and last["recall"] > 0.8 and 0.2 < last["f1"] < 1 and done["reason"] != "finished",
           f"AUC {best:.3f}, recall {last['recall']:.2f}, F1 {last['f1']:.2f}, {done['reason']}")

WEIGHTS = {"conv1.weight": 16 * 25, "conv2.weight": 32 * 16 * 9, "fc1.weight": 64 * 128, "fc2.weight": 10 * 64}
SPARSITY = 0.8


def weights(model):
    """The elements of each weight that a model holds: floats or, in "w_quantized", codes."""
    with open(model, "rb") as file:
        graph = next(value for number, value in fields(file.read()) if number == 7)
    tensors = [dict(fields(value)) for number, value in fields(graph) if number == 5]
    codes = {FLOAT: "f", INT8: "b"}
    return {name: array.array(codes[tensor[2]], tensor[9]) for tensor in tensors
            if (name := tensor[8].decode()).removesuffix("_quantized") in WEIGHTS}


def test_pictures(folder):
    """Writes the pictures of the test set as the network takes them; returns the file and their labels."""
    with zipfile.ZipFile(os.path.join(DIGITS, "digits.npz")) as archive:
        pixels, labels = (read_npy(archive.read(name))[1] for name in ("images.npy", "labels.npy"))
    rows = range(0, len(labels), 5)
    pictures = array.array("f", (value / 16 for row in rows for value in pixels[64 * row:64 * row + 64]))
    write_npy(os.path.join(folder, "pictures.npy"), pictures, (len(rows), 8, 8))
    return os.path.join(folder, "pictures.npy"), [labels[row] for row in rows]


def accuracy(model, pictures, labels, folder):
    """Of an exported model."""
    gradc("run", model, "--input", f"x={pictures}", "--output-dir", folder)
    with open(os.path.join(folder, "logits.npy"), "rb") as file:
        logits = read_npy(file.read())[1]
    rows = [logits[i:i + 10] for i in range(0, len(logits), 10)]
    return sum(row.index(max(row)) == label for row, label in zip(rows, labels)) / len(labels)


def products(model, folder):
    """The types of the factors of each product and convolution of a compiled model, as the pass that looks for codes leaves them."""
    gradc("compile", model, "--shape", "x=1x8x8", "-o", os.path.join(folder, "net.so"), "--dump-after-each", os.path.join(folder, "dump"))
    with open(glob.glob(os.path.join(folder, "dump/graph-*-gradc-integer-products.mlir"))[0]) as file:
        return re.findall(r"grad\.(?:convolution|matmul) .* : tensor<(?:\d+x)*(\w+)>, tensor<(?:\d+x)*(\w+)>", file.read())


folder = scratch()
pictures, labels = test_pictures(folder)
dense = os.path.join(ROOT, "examples/compression/dense.onnx")
size, before = os.path.getsize(dense), accuracy(dense, pictures, labels, folder)
for spec, largest, factors in ("prune", size, ("f32", "f32")), ("quantize", 0.4 * size, ("ui8", "i8")):
    evaluations, done, model = train("compression", spec + ".textproto")
    judged, found = evaluations[-1]["accuracy"], accuracy(model, pictures, labels, folder)
    expect(spec, before > 0.975 and judged > 0.965 and found > 0.965, f"accuracy {judged:.4f}, exported {found:.4f}, of the dense one {before:.4f}")
    held, suffix = weights(model), "" if spec == "prune" else "_quantized"
    expect(f"{spec} holds", {name: len(held.get(name + suffix, [])) for name in WEIGHTS} == WEIGHTS and len(held) == len(WEIGHTS), sorted(held))
    share = {name: sum(value == 0 for value in values) / len(values) for name, values in held.items()}
    expect(f"{spec} has zeros", all(SPARSITY - 0.005 <= part < SPARSITY + 0.05 for part in share.values()), share)
    expect(f"{spec} is small", os.path.getsize(model) <= largest, f"{os.path.getsize(model)} of {size} bytes")
    types = products(model, folder)
    expect(f"{spec} multiplies", types == [factors] * len(WEIGHTS), types)
