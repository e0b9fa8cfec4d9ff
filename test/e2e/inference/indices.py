"""Indices computed at run time: lookups and updates, with negative indices, compiled and evaluated; an index out of range is an error with node, index,
and limit, in a run, in training, and on a (simulated) GPU; and training has the same bits with any number of threads.

    indices.py
"""
import array
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, folder, path
from bar import BIN, events, gradc, program, run, write_npy
from onnx_writer import FLOAT, INT64, Model

VOCABULARY, LENGTH, WIDTH, CLASSES, BATCH = 70, 5, 19, 4, 6
HEIGHT, UPDATES = 12, 200
SETS, TARGETS = 20, 150
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


def check_updates(*options):
    """Many updates: of rows of a plane, at two indices each; of elements, each at its own index; and of elements of many sets."""
    model = Model("updates", opset=18)
    plane = model.initializer("plane", FLOAT, [HEIGHT, VOCABULARY, 3], [1.0] * (HEIGHT * VOCABULARY * 3))
    matrix = model.initializer("matrix", FLOAT, [VOCABULARY * HEIGHT, 3], [1.0] * (VOCABULARY * HEIGHT * 3))
    at, each = model.input("at", INT64, [UPDATES, 2]), model.input("each", INT64, [UPDATES, 3])
    values = model.input("values", FLOAT, [UPDATES, 3])
    model.output(model.node("ScatterND", [plane, at, values], ["of_rows"], reduction="add"), FLOAT, [HEIGHT, VOCABULARY, 3])
    model.output(model.node("ScatterElements", [matrix, each, values], ["of_elements"], axis=0, reduction="add"), FLOAT, [VOCABULARY * HEIGHT, 3])
    sets = model.initializer("sets", FLOAT, [SETS, TARGETS], [1.0] * (SETS * TARGETS))
    of_set, more = model.input("of_set", INT64, [SETS, UPDATES]), model.input("more", FLOAT, [SETS, UPDATES])
    model.output(model.node("ScatterElements", [sets, of_set, more], ["of_sets"], axis=1, reduction="add"), FLOAT, [SETS, TARGETS])
    model.save(path("updates.onnx"))
    rows = [(numbers.randrange(-HEIGHT, HEIGHT), numbers.choice([1, numbers.randrange(-VOCABULARY, VOCABULARY)])) for _ in range(UPDATES)]
    elements = [numbers.randrange(-VOCABULARY * HEIGHT, VOCABULARY * HEIGHT) for _ in range(UPDATES * 3)]
    added = [float(numbers.randrange(-9, 9)) for _ in range(UPDATES * 3)]
    write_npy(path("at.npy"), array.array("q", (i for pair in rows for i in pair)), (UPDATES, 2))
    write_npy(path("each.npy"), array.array("q", elements), (UPDATES, 3))
    write_npy(path("values.npy"), array.array("f", added), (UPDATES, 3))
    targets = [numbers.randrange(-TARGETS, TARGETS) for _ in range(SETS * UPDATES)]
    terms = [float(numbers.randrange(-9, 9)) for _ in targets]
    write_npy(path("of_set.npy"), array.array("q", targets), (SETS, UPDATES))
    write_npy(path("more.npy"), array.array("f", terms), (SETS, UPDATES))
    feeds = "at", "each", "values", "of_set", "more"
    gradc("run", path("updates.onnx"), *(part for name in feeds for part in ("--input", f"{name}={path(name + '.npy')}")),
          "--output-dir", folder, *options)
    of_rows, of_elements = array.array("f", [1] * (HEIGHT * VOCABULARY * 3)), array.array("f", [1] * (HEIGHT * VOCABULARY * 3))
    for i, value in enumerate(added):
        y, x = rows[i // 3]
        of_rows[(y % HEIGHT * VOCABULARY + x % VOCABULARY) * 3 + i % 3] += value
        of_elements[elements[i] % (VOCABULARY * HEIGHT) * 3 + i % 3] += value
    of_sets = array.array("f", [1] * (SETS * TARGETS))
    for i, (target, term) in enumerate(zip(targets, terms)):
        of_sets[i // UPDATES * TARGETS + target % TARGETS] += term
    expect(f"updates of sets {options}", read_npy("of_sets.npy") == of_sets)
    expect(f"updates of rows {options}", read_npy("of_rows.npy") == of_rows)
    expect(f"updates of elements {options}", read_npy("of_elements.npy") == of_elements)


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
check_updates()
check_updates("--reference")
check_training()
print("indices: lookups, updates, errors and training hold")
