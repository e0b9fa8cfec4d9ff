"""Runs of a model evaluated, compiled for CPUs, and compiled for a simulated GPU, on arrays in the scratch folder."""
import array
import os
import subprocess

from case import expect, path
from bar import BIN, gradc, program, read_npy, write_npy

SIMULATED = dict(os.environ, GRADC_LIBCUDA=os.path.join(BIN, "../test/gradc-simulated-cuda.so"))


def write(name, values, shape, kind="f"):
    values = array.array(kind, values)
    write_npy(path(name + ".npy"), values, shape)
    return list(values)


def output(name):
    with open(path(f"out/{name}.npy"), "rb") as file:
        shape, values = read_npy(file.read())
    return list(shape), list(values)


def on_every_device(model, inputs, check):
    """Evaluated, compiled for CPUs, and for a simulated GPU."""
    feeds = [part for name in inputs for part in ("--input", f"{name}={path(name)}.npy")]
    onnx, cuda = path(model + ".onnx"), path(model + "-cuda.so")
    gradc("compile", onnx, "--target", "cuda:sm_90", "--llvm-image", "-o", cuda, "--emit=so")
    for file, *options in (onnx, "--reference"), (onnx,), (cuda,):
        result = subprocess.run([program("gradc"), "run", file, *options, *feeds, "--output-dir", path("out")], capture_output=True, text=True,
                                env=SIMULATED)
        expect(f"{file} {options}: {result.stderr}", result.returncode == 0)
        check()
