"""Every loss of a spec follows PyTorch over five steps of gradient descent and in the evaluation behind them, and every metric is that of all rows
of the evaluation, whatever their batches. The references are stored; make_objectives.py beside this made them.

    objectives.py [NAME...]
"""
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bars"))
from bar import events, gradc, scratch

STEPS = 5
JOB = """
model: "{folder}/objectives.onnx"
{objective}
optimizer {{ sgd {{ learning_rate: 0.2 }} }}
data {{ source {{ npz {{ path: "{folder}/objectives.npz" }} }} stage {{ batch {{ size: 16 }} }} }}
evaluation {{ data {{ source {{ npz {{ path: "{folder}/objectives.npz" }} }} stage {{ batch {{ size: {rows} }} }} }} }}
steps: 5
"""
# Trains what all metrics look at.
ALL = """loss { softmax_cross_entropy { logits: "logits" labels: "labels" } }
loss { mean_squared_error { predictions: "score" targets: "real" } }
loss { softmax_cross_entropy { logits: "image" labels: "pixels" } }
"""


def run(folder, name, objective, rows):
    """The losses of the steps and the evaluation's event."""
    spec, log = (os.path.join(folder, f"{name}.{kind}") for kind in ("textproto", "jsonl"))
    with open(spec, "w") as out:
        out.write(JOB.format(folder=HERE, objective=objective, rows=rows))
    gradc("train", spec, "--log", log, "--quiet")
    steps, (*_, evaluation) = events(log, "step"), events(log, "eval")
    return [step["loss"] for step in steps], evaluation, steps[-1]


def error(found, expected):
    """Relative; infinite for a NaN."""
    if isinstance(expected, list):
        return 0 if found == expected else math.inf
    value = abs(found - expected) / max(abs(expected), 1e-3)
    return value if value == value else math.inf


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
        # What is counted is exact; accuracy is a mean of means.
        counted = [n for n in seen[0] if n != "accuracy" and not any(part in n for part in ("error", "r2", "perplexity"))]
        wrong += [f"{n} depends on the batch: {[s[n] for s in seen]}" for n in counted if len({str(s[n]) for s in seen}) > 1]
        print(f"metrics within {worst:.1e}")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
