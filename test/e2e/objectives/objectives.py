"""Every loss of a spec follows PyTorch over five steps of gradient descent and in the evaluation after them, and every metric is computed
over all rows of the evaluation, whatever their batches. The references are stored; make_objectives.py in this folder made them.

    objectives.py [NAME...]
"""
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bars"))
from bar import events, gradc, program, scratch

STEPS = 5
JOB = """
model: "{folder}/objectives.onnx"
{objective}
optimizer {{ sgd {{ learning_rate: 0.2 }} }}
data {{ source {{ npz {{ path: "{folder}/objectives.npz" }} }} stage {{ batch {{ size: 16 }} }} }}
evaluation {{ data {{ source {{ npz {{ path: "{folder}/objectives.npz" }} }} stage {{ batch {{ size: {rows} }} }} }} }}
steps: 5
"""
# Trains the outputs that all metrics read.
ALL = """loss { softmax_cross_entropy { logits: "logits" labels: "labels" } }
loss { mean_squared_error { predictions: "score" targets: "real" } }
loss { softmax_cross_entropy { logits: "image" labels: "pixels" } }
loss { hinge { logits: "mask" targets: "vector" } }
"""


def run(folder, name, objective, rows):
    """The losses of the steps, and the evaluation's event."""
    spec, log = (os.path.join(folder, f"{name}.{kind}") for kind in ("textproto", "jsonl"))
    with open(spec, "w") as out:
        out.write(JOB.format(folder=HERE, objective=objective, rows=rows))
    gradc("train", spec, "--log", log, "--quiet")
    steps, (*_, evaluation) = events(log, "step"), events(log, "eval")
    return [step["loss"] for step in steps], evaluation, steps[-1]


def error(found, expected):
    """The relative error; infinite for a NaN."""
    if isinstance(expected, list):
        return 0 if found == expected else math.inf
    value = abs(found - expected) / max(abs(expected), 1e-3)
    return value if value == value else math.inf


def refused(spec, code, message):
    failed = subprocess.run([program("gradc"), "train", spec, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if failed.returncode != code or message not in failed.stderr:
        yield f"expected exit code {code} and '{message}', found {failed.returncode}: {failed.stderr}"


def edges(folder):
    """A batch in which nothing counts, and labels that are neither a class nor ignored."""
    spec, log = os.path.join(folder, "edge.textproto"), os.path.join(folder, "edge.jsonl")
    loss = 'loss { softmax_cross_entropy { logits: "image" labels: "ignoring_pixels" ignore_index: %d } %s }'

    def write(ignored, more, stage):
        text = JOB.format(folder=HERE, objective=loss % (ignored, more), rows=7)
        with open(spec, "w") as out:
            out.write(text.replace("stage {", stage + " stage {"))

    write(255, 'sample_weights: "pixel_weights"', 'stage { map { field: "pixel_weights" scale: 0 } }')
    gradc("train", spec, "--log", log, "--quiet")
    for event in events(log, "step") + events(log, "eval"):
        if event["loss"] != 0:
            yield f"where nothing counts the loss is {event['loss']}, expected 0"
    write(254, "", "")
    yield from refused(spec, 1, 'labels of field ignoring_pixels": index 255 is out of range')

    def write_ctc(options, stage=""):
        with open(spec, "w") as out:
            out.write(JOB.format(folder=HERE, objective='loss { ctc { logits: "sound" labels: "speech" %s } }' % options, rows=7).replace("stage {", stage + " stage {"))

    # Three labels need more than one step.
    one = 'stage { map { field: "step_lengths" scale: 0 offset: 1 cast: I64 } }'
    write_ctc('logit_lengths: "step_lengths" zero_infinity: true', one)
    gradc("train", spec, "--log", log, "--quiet")
    if any(step["loss"] != 0 for step in events(log, "step")):
        yield f"where no alignment fits the loss is {events(log, 'step')}, expected 0"
    write_ctc('logit_lengths: "step_lengths"', one)
    yield from refused(spec, 1, "the loss is inf at step 1")
    write_ctc('label_lengths: "ignoring_pixels"')
    yield from refused(spec, 3, "expected one length a row, integers [16], found field \"ignoring_pixels\"")
    write_ctc('label_lengths: "step_lengths"')
    yield from refused(spec, 1, 'lengths of field step_lengths": index ')
    write_ctc("blank: 5")
    yield from refused(spec, 3, "expected blank to be one of 5 classes, found 5")


def main():
    with open(os.path.join(HERE, "expected.json")) as file:
        expected = json.load(file)
    folder, wrong = scratch(), []
    wanted = sys.argv[1:]
    worst = 0
    for name, case in expected["losses"].items():
        if wanted and name not in wanted:
            continue
        losses, evaluation, _ = run(folder, name, case["spec"], 7)
        errors = [error(f, e) for f, e in zip(losses, case["losses"])] + [error(evaluation["loss"], case["evaluation"])]
        worst = max(worst, *errors)
        if len(losses) != STEPS or max(errors) > 1e-5:
            wrong.append(f"{name}: steps {losses}, expected {case['losses']}; evaluation {evaluation['loss']}, expected {case['evaluation']}")
    print(f"losses within {worst:.1e}")

    if not wanted or "metrics" in wanted:
        objective = ALL + "\n".join(f'metric {{ name: "{name}" {case["spec"]} }}' for name, case in expected["metrics"].items())
        worst, seen = 0, []
        for rows in (40, 7, 1):
            _, evaluation, step = run(folder, f"metrics-{rows}", objective, rows)
            seen.append({name: evaluation[name] for name in expected["metrics"]})
            for name, case in expected["metrics"].items():
                worst = max(worst, error(evaluation[name], case["value"]))
                if error(evaluation[name], case["value"]) > 1e-5 or name not in step:
                    wrong.append(f"{name} in batches of {rows}: {evaluation[name]}, expected {case['value']}")
        # Counts are exact; accuracy is a mean of means.
        counted = [n for n in seen[0] if n not in ("accuracy", "mask_accuracy", "map_accuracy") and not any(part in n for part in ("error", "r2", "perplexity"))]
        wrong += [f"{n} depends on the batch: {[s[n] for s in seen]}" for n in counted if len({str(s[n]) for s in seen}) > 1]
        print(f"metrics within {worst:.1e}")
    if not wanted or "edges" in wanted:
        wrong += edges(folder)
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
