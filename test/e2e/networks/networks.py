"""Networks exported by PyTorch compute in evaluation what PyTorch computed in f64, within 1e-4 of the largest output.

    networks.py ROOT
"""
import math
import os
import sys
import zipfile

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "test/bars"))
from bar import NETWORKS, compile_spec, gradc, read_npy, scratch, write_npy

BATCH, TOLERANCE = 5, 1e-4
INPUTS = {
    "bert": ["tokens", "mask"], "llama": ["tokens"], "experts": ["tokens"], "lstm": ["tokens"], "translator": ["tokens", "previous"],
    "vit": ["picture"], "swin": ["picture"], "mobilenet": ["picture"], "unet": ["picture"], "vae": ["picture", "noise"], "dlrm": ["numbers", "categories"],
}


# Networks with gradients in the loss, from specs that say of what.
COMPILED = {"burgers": ["points", "known", "values"], "critic": ["picture", "fake", "share"]}


def off_by(found, expected):
    """The largest difference divided by the largest expected number."""
    if found[0] != expected[0]:
        return math.inf
    error = max(abs(a - b) for a, b in zip(found[1], expected[1], strict=True))
    return error / max(map(abs, expected[1])) if error == error else math.inf


def main():
    folder, worst = scratch(), 0.0
    with zipfile.ZipFile(os.path.join(NETWORKS, "batches.npz")) as batches:
        for field in {field for fields in (INPUTS | COMPILED).values() for field in fields}:
            shape, values = read_npy(batches.read(f"{field}.npy"))
            shape = (BATCH, *shape[1:])
            write_npy(os.path.join(folder, f"{field}.npy"), values[:math.prod(shape)], shape)
    with zipfile.ZipFile(os.path.join(NETWORKS, "outputs.npz")) as outputs:
        expected = {name[:-len(".npy")]: read_npy(outputs.read(name)) for name in outputs.namelist()}
    for name, fields in (INPUTS | COMPILED).items():
        program = os.path.join(NETWORKS, f"{name}.onnx")
        if name in COMPILED:
            program = compile_spec(os.path.join(NETWORKS, f"{name}.textproto"), folder, emit="so")
        feeds = [part for field in fields for part in ("--input", f"{field}={folder}/{field}.npy")]
        gradc("run", program, *feeds, "--output-dir", os.path.join(folder, name))
    for value, numbers in expected.items():
        name, output = value.split(".")
        with open(os.path.join(folder, name, f"{output}.npy"), "rb") as file:
            error = off_by(read_npy(file.read()), numbers)
        print(f"{value}: within {error:.1e}")
        worst = max(worst, error)
    # The comparison can fail: outputs of different networks differ.
    assert off_by(expected["vit.logits"], expected["swin.logits"]) > TOLERANCE
    sys.exit(0 if worst <= TOLERANCE else f"WRONG: off by {worst:.1e}, {TOLERANCE:.0e} wanted")


main()
