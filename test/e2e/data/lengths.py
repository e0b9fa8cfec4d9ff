"""Batches of rows of similar length: losses and the weight follow the formula over the unpadded rows, batch by batch; shuffled epochs visit
each row once; a resume in the middle of an epoch has the same bits.

    lengths.py FOLDER
"""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../bars"), os.path.join(HERE, "../..")]
from bar import events, gradc, write_ragged
from onnx_writer import FLOAT, Model

ROWS, LONGEST, RATE, MOMENTUM = 61, 12, 0.05, 0.5
BUCKETS = ((3, 8), (7, 4), (LONGEST, 5))  # a length, and rows of a batch
folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
path = lambda name: os.path.join(folder, name)

numbers = random.Random(11)
rows = [[(numbers.gauss(0, 1), numbers.gauss(0, 1)) for _ in range(numbers.randrange(0 if i == 5 else 1, LONGEST + 1))] for i in range(ROWS)]
write_ragged(path("rows.npz"), rows, ("x", "y"))

model = Model("scaled")
p = model.node("Mul", [model.input("x", FLOAT, ["N", "T"]), model.initializer("w", FLOAT, [1], [0.5])], ["p"], "scale")
model.output(p, FLOAT, ["N", "T"])
model.save(path("model.onnx"))

SPEC = """model: "model.onnx"
loss {{ mean_squared_error {{ predictions: "p"  targets: "y" }} sample_weights: "mask" }}
optimizer {{ momentum {{ learning_rate: {rate}  momentum: {momentum} }} }}
data {{ {data} }}
evaluation {{ data {{ {evaluation} }} }}
{more}
"""
SOURCE = 'source { npz { path: "rows.npz"  ragged { field: "x"  offsets: "ends" } ragged { field: "y"  offsets: "ends" } } }\n'
PAD = "".join(f'stage {{ map {{ field: "{name}"  pad {{ shape: {LONGEST}  value: 3 {mask} }} }} }}\n' for name, mask in (("x", 'mask: "mask"'), ("y", "")))


def batch_stage(drop=False):
    (first, second, last) = BUCKETS
    buckets = "".join(f" bucket {{ length: {length}  size: {size} }}" for length, size in (first, second))
    return f"stage {{ batch {{ size: {last[1]}{buckets} {'drop_remainder: true' if drop else ''} }} }}\n"


def train(name, more, drop=False, shuffle=False, options=()):
    data = SOURCE + PAD + ("stage { shuffle {} }\n" if shuffle else "") + batch_stage(drop)
    with open(path(f"{name}.textproto"), "w") as file:
        file.write(SPEC.format(rate=RATE, momentum=MOMENTUM, data=data, evaluation=SOURCE + PAD + batch_stage(), more=more))
    gradc("train", path(f"{name}.textproto"), "--log", path(f"{name}.jsonl"), "--quiet", *options)
    return [step["loss"] for step in events(path(f"{name}.jsonl"), "step")]


def batches(drop):
    """The rows of an epoch's batches, in the order of the file."""
    waiting, found = [[] for _ in BUCKETS], []
    for row in rows:
        bucket = next(i for i, (length, _) in enumerate(BUCKETS) if len(row) <= length)
        waiting[bucket].append(row)
        if len(waiting[bucket]) == BUCKETS[bucket][1]:
            found.append(waiting[bucket])
            waiting[bucket] = []
    return found + ([] if drop else [rest for rest in waiting if rest])


def mean_loss(w, batch):
    pairs = [pair for row in batch for pair in row]
    return sum((w * x - y) ** 2 for x, y in pairs) / len(pairs), sum(2 * (w * x - y) * x for x, y in pairs) / len(pairs)


def expected(epochs, drop):
    w, velocity, found = 0.5, 0.0, []
    for batch in batches(drop) * epochs:
        loss, gradient = mean_loss(w, batch)
        found.append(loss)
        velocity = MOMENTUM * velocity + gradient
        w -= RATE * velocity
    return found, mean_loss(w, rows)[0]


off = lambda found, wanted: max(abs(a - b) / b for a, b in zip(found, wanted, strict=True))
for drop in False, True:
    name = "dropped" if drop else "whole"
    wanted, evaluation = expected(3, drop)
    found = train(name, "epochs: 3", drop)
    print(f"{name}: {len(found)} steps, {'follow' if off(found, wanted) < 1e-5 else 'DIFFER'}")
    last = events(path(f"{name}.jsonl"), "eval")[-1]["loss"]
    print(f"{name}: evaluation {'follows' if off([last], [evaluation]) < 1e-5 else 'DIFFERS'}")

# The order of a shuffled epoch is not known here: the uninterrupted and the interrupted run are equal.
perEpoch = len(batches(False))
stop = perEpoch + 4
whole = train("one", "epochs: 3", shuffle=True)
begun = train("two", "epochs: 3", shuffle=True, options=("--checkpoint", path("run"), "--steps", str(stop)))
gradc("train", path("two.textproto"), "--log", path("resumed.jsonl"), "--quiet", "--checkpoint", path("run"), "--resume")
resumed = begun + [step["loss"] for step in events(path("resumed.jsonl"), "step")]
print(f"shuffled: {'the same' if resumed == whole else 'ANOTHER'} after a resume, {'others' if whole[:perEpoch] != whole[perEpoch:2 * perEpoch] else 'THE SAME'} each epoch")
