"""Shared by the bars: paths of built programs and examples, running them, and reporting a figure."""
import array
import ast
import atexit
import json
import math
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BIN = os.environ.get("GRADC_BIN", os.path.join(ROOT, "build/release/bin"))
os.environ.setdefault("GRADC_TARGET", "cpu")  # figures are of one level
sys.path.insert(0, os.path.join(ROOT, "test"))
from onnx_writer import FLOAT, Model

REFERENCES = os.path.join(ROOT, "test/e2e/references")
NETWORKS = os.path.join(ROOT, "test/e2e/networks")
PEERS = os.path.join(ROOT, "test/bench/peers")
DIGITS = os.path.join(ROOT, "examples/digits")

# A shell starts background jobs with these signals ignored, and their children inherit that.
for stop in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(stop) == signal.SIG_IGN:
        signal.signal(stop, signal.SIG_DFL)


os.environ["GRADC_CACHE_DIR"] = ""  # compiling is measured, too


def program(name):
    path = os.path.join(BIN, name)
    if not os.path.exists(path):
        sys.exit(f"{path} is not built: run tools/check first")
    return path


def run(*command, **options):
    """Runs a command and returns its output; ends the bar with its messages if it fails."""
    command = [str(part) for part in command]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def machine_limits(threads):
    """(GFLOP/s of f32 FMA, GB/s) of so many threads. One thread is measured on one CPU, as the peers are."""
    pinned = ["taskset", "-c", str(max(os.sched_getaffinity(0)))] if threads == 1 else []
    peak = json.loads(run(*pinned, program("machine-peak"), threads))
    return max(peak["avx2_gflops"], peak.get("avx512_gflops", 0)), max(peak["triad_gb_per_s"], peak["streaming_triad_gb_per_s"])


def gradc(*arguments, **options):
    return run(program("gradc"), *arguments, **options)


def compile_spec(spec, folder, emit="exe"):
    """Compiles a training spec into the folder; returns the path of the result."""
    name = os.path.splitext(os.path.basename(spec))[0]
    output = os.path.join(folder, name + (".so" if emit == "so" else ""))
    gradc("compile", spec, "-o", output, f"--emit={emit}")
    return output


def scratch():
    """A folder that is removed when the bar ends."""
    folder = tempfile.mkdtemp(prefix="gradc-bar-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def events(log, kind):
    """The log's events of one kind, in order."""
    with open(log) as file:
        return [event for event in map(json.loads, file) if event["event"] == kind]


def read_safetensors(path):
    """The type ("F32") and the bytes of each tensor, by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        body = file.read()
    return {name: (tensor["dtype"], body[slice(*tensor["data_offsets"])]) for name, tensor in header.items() if name != "__metadata__"}


def read_npy(data):
    """The shape and values of a .npy file's bytes."""
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:end].decode())
    code = {"<f4": "f", "<i8": "q", "|u1": "B", "<f8": "d"}[header["descr"]]
    return header["shape"], array.array(code, data[end:])


def write_npy(path, values, shape):
    """Writes an array from the standard library as a .npy file."""
    dtype = {"f": "<f4", "q": "<i8"}[values.typecode]
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        values.tofile(file)


def write_ragged(path, rows, names):
    """Writes rows of varying length, tuples of floats, as an .npz: one array per name, and "ends", where each row begins and ends."""
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(row))
    arrays = {name: array.array("f", (entry[i] for row in rows for entry in row)) for i, name in enumerate(names)}
    with zipfile.ZipFile(path, "w") as archive:
        for name, values in (arrays | {"ends": array.array("q", ends)}).items():
            write_npy(f"{path}.{name}.npy", values, (len(values),))
            archive.write(f"{path}.{name}.npy", f"{name}.npy")


def write_mlp_job(folder, widths, batch, batches, activation="Relu", **attributes):
    """Writes a multilayer perceptron with random weights and random data; returns the path of its spec."""
    numbers = random.Random(3)
    model = Model("mlp", opset=20)
    value = model.input("x", FLOAT, ["N", widths[0]])
    for layer, (rows, columns) in enumerate(zip(widths, widths[1:]), 1):
        scale, last = math.sqrt(2 / rows), layer == len(widths) - 1
        weight = model.initializer(f"fc{layer}.weight", FLOAT, [rows, columns],
                                   [numbers.gauss(0, scale) for _ in range(rows * columns)])
        bias = model.initializer(f"fc{layer}.bias", FLOAT, [columns], [0.0] * columns)
        value = model.node("Gemm", [value, weight, bias], ["logits" if last else f"fc{layer}.out"], f"fc{layer}")
        if not last:
            name = f"{activation.lower()}{layer}"
            value = model.node(activation, [value], [f"{name}.out"], name, **attributes)
    model.output("logits", FLOAT, ["N", widths[-1]])
    model.save(os.path.join(folder, "mlp.onnx"))
    rows = batch * batches
    write_npy(os.path.join(folder, "x.npy"), array.array("f", (numbers.random() for _ in range(rows * widths[0]))),
              (rows, widths[0]))
    labels = array.array("q", (numbers.randrange(widths[-1]) for _ in range(rows)))
    write_npy(os.path.join(folder, "labels.npy"), labels, (rows,))
    spec = os.path.join(folder, "mlp.textproto")
    with open(spec, "w") as file:
        file.write(f"""model: "mlp.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ adam {{}} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x.npy" }} field {{ name: "labels"  path: "labels.npy" }} }} }}
  stage {{ batch {{ size: {batch}  drop_remainder: true }} }}
}}
""")
    return spec


def report(text, reached):
    """Ends the bar: prints its figure last, and exits with code 1 if it falls short."""
    print(text if reached else f"{text}: SHORT")
    sys.exit(0 if reached else 1)
