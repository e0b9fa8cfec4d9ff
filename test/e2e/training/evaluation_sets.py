"""Several data sets of an evaluation: each has the metrics of a run that evaluates it alone, and no step changes. Sets whose batches the
entry `evaluate` takes share it. One of them may end the run and choose the best checkpoint.

    evaluation_sets.py ROOT
"""
import os
import re
import shutil
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."), os.path.join(ROOT, "test/bars")]
from case import expect, folder, path
from bar import DIGITS, compile_spec, events, gradc, run

EPOCHS = 3
# The rows of a set, and the size of its batches. Those of the test set are 60, and the entry `evaluate` takes as many rows or fewer.
SHARED = {"sevenths": ("every: 7  only: 3", 60), "few": ("begin: 10  end: 95", 25)}
LARGE = {"large": ("every: 4  only: 2", 100)}

for name in ("mlp.onnx", "digits.npz"):
    shutil.copy(os.path.join(DIGITS, name), folder)
with open(os.path.join(DIGITS, "train.textproto")) as file:
    text = file.read().replace("epochs: 20", f"epochs: {EPOCHS}")
text = re.sub(r"^(checkpoint|export) .*\n", "", text, flags=re.M)
begin = text.index("evaluation {")
before, evaluation, after = text[:begin], *re.match(r"(?s)(.*?\n}\n)(.*)", text[begin:]).groups()
data = re.search(r"(?s)data \{.*\}(?=\n}\n)", evaluation)[0]


def data_of(rows, batch):
    return data.replace("every: 5  only: 0", rows).replace("size: 60", f"size: {batch}")


def with_sets(sets):
    return evaluation[:-2] + "".join(f'  set {{ name: "{name}"  {data_of(*of)} }}\n' for name, of in sets.items()) + "}\n"


def compiled(name, block, more=""):
    with open(path(f"{name}.textproto"), "w") as file:
        file.write(before + block + after + more)
    return compile_spec(path(f"{name}.textproto"), folder)


def train(name, trainer, *options):
    """The run's evaluations, and its messages."""
    said = run(trainer, "--log", path(f"{name}.jsonl"), "--checkpoint", path(f"{name}.run"), *options, cwd=folder)
    return events(path(f"{name}.jsonl"), "eval"), said


def losses(name):
    return [step["loss"] for step in events(path(f"{name}.jsonl"), "step")]


def close(a, b, tolerance=1e-5):
    return len(a) == len(b) and all(abs(x - y) <= tolerance * abs(y) for x, y in zip(a, b))


def entries(name):
    return set(re.findall(r"^(evaluate\S*): \d+ launches", gradc("plan", path(f"{name}.textproto")), re.M))


both = compiled("both", with_sets(SHARED))
found, said = train("both", both)
plain, _ = train("plain", compiled("plain", evaluation))
alone = {name: train(name, compiled(name, evaluation.replace(data, data_of(*of))))[0] for name, of in (SHARED | LARGE).items()}


def column(events, key):
    return [event[key] for event in events]


# 1. The steps and the test set are as without the sets, and a set is as in a run that evaluates nothing else; the entry of that run is made
#    for its batches.
expect("sets change the steps", losses("both") == losses("plain"))
expect("an evaluation after each epoch", len(found) == EPOCHS)
for metric in ("loss", "accuracy"):
    expect(f"sets change the {metric}", column(found, metric) == column(plain, metric))
    expect(f"the {metric} of a set", column(found, f"sevenths/{metric}") == column(alone["sevenths"], metric))
    expect(f"the {metric} of smaller batches", close(column(found, f"few/{metric}"), column(alone["few"], metric)))

# 2. All of them are shown, and in the log's last line.
expect(said, re.search(r"epoch 3/3 .* evaluation: loss \S+, accuracy \S+, sevenths/loss \S+, sevenths/accuracy \S+, few/loss ", said))
done, = events(path("both.jsonl"), "done")
expect("the log's end", done["few/loss"] == found[-1]["few/loss"])

# 3. One entry is compiled for them.
expect(f"the entries are {entries('both')}", entries("both") == {"evaluate"})
expect("check", "; evaluation on 360 rows of 'digits.npz'; evaluation of 'sevenths' on 257 rows of 'digits.npz'; evaluation of 'few' on 85 rows"
       in gradc("check", path("both.textproto")))

# 4. The command shows them, too, but not for a file of other rows.
evaluated = run(both, "evaluate", "--checkpoint", path("both.run"), cwd=folder)
for name in SHARED:
    expect(evaluated, re.search(rf"^evaluation '{name}' of \d+ rows with .*: {name}/loss \S+, {name}/accuracy \S+$", evaluated, re.M))
expect("other rows", "sevenths" not in run(both, "evaluate", "--checkpoint", path("both.run"), "--data", path("digits.npz"), cwd=folder))

# 5. A run that was cut and resumed has the same evaluations.
train("halves", both, "--steps", "60")
resumed, _ = train("halves", both, "--resume", "--epochs", str(EPOCHS))
expect("a resume evaluates otherwise", resumed[-1]["few/loss"] == found[-1]["few/loss"])

# 6. Larger batches have an entry of their own. One set is watched: no accuracy rises by 2 after the first evaluation, so the run ends at the
#    second one.
watched = compiled("watched", with_sets(SHARED | LARGE), 'early_stopping { metric: "sevenths/accuracy"  patience: 1  min_delta: 2 }\n'
                                         'checkpoint { directory: "kept"  best { metric: "large/loss" } }\n')
found, said = train("watched", watched)
expect(f"the entries are {entries('watched')}", entries("watched") == {"evaluate", "evaluate.large"})
expect("the loss of larger batches", close(column(found, "large/loss"), column(alone["large"], "loss")[:2], 1e-4))
done, = events(path("watched.jsonl"), "done")
expect(f"the run ends by {done}", (done["reason"], done["epochs"]) == ("early_stopping", 2))
expect(said, "ended early, with no better sevenths/accuracy in 1 evaluations" in said and "; best large/loss " in said)
expect("the best", {event["metric"] for event in events(path("watched.jsonl"), "best")} == {"large/loss"})

# 7. Each has its curve in a report.
gradc("report", path("both.jsonl"), "-o", path("page.html"))
with open(path("page.html")) as file:
    page = file.read()
expect("the report lacks a curve", all(f"{name}/{metric}" in page for name in SHARED for metric in ("loss", "accuracy")))
print(f"evaluation sets: {len(SHARED)} share an entry, {len(entries('watched')) - 1} has its own")
