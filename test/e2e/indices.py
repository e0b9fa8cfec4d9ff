"""Indices computed at run time: lookups, with negative indices, compiled and evaluated; an index out of range is an error with node, index,
and limit, in a run, in training, and on a (simulated) GPU; and training has the same bits with any number of threads.

    indices.py
"""
import array
import os
import random
import struct
import subprocess

from case import expect, folder, path
from bar import BIN, events, gradc, program, run, write_npy
from onnx_writer import FLOAT, INT64, Model

VOCABULARY, LENGTH, WIDTH, CLASSES, BATCH = 70, 5, 19, 4, 6
SIMULATED = dict(os.environ, GRADC_LIBCUDA=os.path.join(BIN, "../test/gradc-simulated-cuda.so"))
numbers = random.Random(4)
table = [numbers.gauss(0, 1) for _ in range(VOCABULARY * WIDTH)]


def read_npy(name):
    with open(path(name), "rb") as file:
        data = file.read()
    size = struct.unpack("<H", data[8:10])[0]
    return array.array("f", data[10 + size:])


def embedding(model):
    model.initializer("table", FLOAT, [VOCABULARY, WIDTH], table)
    return model.node("Gather", ["table", model.input("tokens", INT64, ["N", LENGTH])], ["rows"], "embed")


def write_models():
    lookup = Model("lookup")
    lookup.output(embedding(lookup), FLOAT, ["N", LENGTH, WIDTH])
    lookup.save(path("lookup.onnx"))
    classifier = Model("classifier")
    mean = classifier.node("ReduceMean", [embedding(classifier)], ["mean"], "mean", axes=[1], keepdims=0)
    weight = classifier.initializer("w", FLOAT, [WIDTH, CLASSES], [numbers.gauss(0, 0.3) for _ in range(WIDTH * CLASSES)])
    classifier.output(classifier.node("MatMul", [mean, weight], ["logits"], "fc"), FLOAT, ["N", CLASSES])
    classifier.save(path("classifier.onnx"))
    with open(path("job.textproto"), "w") as file:
        file.write(f"""model: "classifier.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ adam {{ learning_rate: 0.01 }} }}
data {{
  source {{ npy {{ field {{ name: "tokens"  path: "tokens.npy" }} field {{ name: "labels"  path: "labels.npy" }} }} }}
  stage {{ batch {{ size: {BATCH}  drop_remainder: true }} }}
}}
""")


def write_tokens(rows, bad=None):
    """Random tokens, of which half are at most 3; the last one is `bad`."""
    tokens = array.array("q", (numbers.choice([numbers.randrange(4), numbers.randrange(-VOCABULARY, VOCABULARY)])
                               for _ in range(rows * LENGTH)))
    if bad is not None:
        tokens[-1] = bad
    write_npy(path("tokens.npy"), tokens, (rows, LENGTH))
    write_npy(path("labels.npy"), array.array("q", (numbers.randrange(CLASSES) for _ in range(rows))), (rows,))
    return tokens


def refused(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    expect(f"{command} succeeded", result.returncode == 1)
    return result.stderr + result.stdout


def check_lookups(*options):
    for rows in (BATCH, 1):
        tokens = write_tokens(rows)
        gradc("run", path("lookup.onnx"), "--input", f"tokens={path('tokens.npy')}", "--output-dir", folder, *options)
        wanted = array.array("f", (table[t % VOCABULARY * WIDTH + i] for t in tokens for i in range(WIDTH)))
        expect(f"lookups of {rows} rows {options}", read_npy("rows.npy") == wanted)
    for bad in (VOCABULARY, -VOCABULARY - 1, 2 ** 63 - 1, -2 ** 63):
        write_tokens(BATCH, bad)
        said = refused(program("gradc"), "run", path("lookup.onnx"), "--input", f"tokens={path('tokens.npy')}", "--output-dir", folder,
                       *options)
        wanted = f'node "embed": index {bad} is out of range, expected {-VOCABULARY} to {VOCABULARY - 1}'
        expect(f"{said!r} instead of {wanted!r}", wanted in said)


def losses(name, *command, **options):
    run(*command, "--log", path(name), "--quiet", **options)
    return [step["loss"] for step in events(path(name), "step")]


def check_training():
    write_tokens(4 * BATCH)
    gradc("compile", path("job.textproto"), "-o", path("trainer"))
    gradc("compile", path("job.textproto"), "-o", path("gpu"), "--target=cuda:sm_90", "--llvm-image")
    one, three = (losses(f"{n}.jsonl", path("trainer"), "--threads", n) for n in (1, 3))
    expect(f"threads change losses: {one} and {three}", one == three and len(one) == 4)
    gpu = losses("gpu.jsonl", path("gpu"), env=SIMULATED)
    expect(f"the GPU's losses are {gpu}, not {one}", all(abs(a - b) <= 1e-5 * abs(a) for a, b in zip(one, gpu)))
    reversed_order = losses("reversed.jsonl", path("gpu"), env=dict(SIMULATED, GRADC_SIMULATED="order=reverse"))
    expect("the order of threads changes losses", gpu == reversed_order)
    write_tokens(4 * BATCH, bad=VOCABULARY)
    for command, environment in (([program("gradc"), "train", path("job.textproto")], os.environ), ([path("gpu")], SIMULATED)):
        said = refused(*command, "--log", path("log.jsonl"), env=environment)
        expect(f"{said!r} does not name the node", f'node "embed": index {VOCABULARY} is out of range' in said)
        expect("the steps before are in the log", len(events(path("log.jsonl"), "step")) == 3)


write_models()
check_lookups()
check_lookups("--reference")
check_training()
print("indices: lookups, errors and training hold")
