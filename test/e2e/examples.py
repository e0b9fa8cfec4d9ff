"""Trains the examples about the training loop, for fewer steps than in their READMEs, and checks that they reach the results promised
there.

    examples.py
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../bars"))
from bar import ROOT, compile_spec, events, run, scratch


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
