"""Runs of one spec: each has its own folder, with its export; the newest one is resumed and is used for predictions. A run lists what it
wrote and what to do next. Runs of another spec in the same folder are passed over.

    run_folders.py
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bars"))
from bar import compile_spec, gradc, program, run, scratch, write_mlp_job

folder = scratch()
spec = write_mlp_job(folder, (6, 8, 3), 4, 6)
with open(spec, "a") as file:
    file.write('checkpoint { directory: "run" }\n')
trainer = compile_spec(spec, folder)
steps = lambda name: sorted(int(file[5:-5]) for file in os.listdir(os.path.join(folder, name)) if file.startswith("step-"))


def expect(said, *phrases):
    missing = [phrase for phrase in phrases if phrase not in said]
    assert not missing, (missing, said)


first = run(trainer, "--steps", 3, cwd=folder)
expect(first, "checkpoint 'run/step-3.ckpt'; trained model 'run/trained.onnx'", f"use it: {trainer} predict --checkpoint run --data FILE")
second = run(trainer, "--steps", 5, cwd=folder)
expect(second, "checkpoint 'run-2/step-5.ckpt'; trained model 'run-2/trained.onnx'", f"use it: {trainer} predict --checkpoint run-2 --data FILE")
assert steps("run") == [3] and steps("run-2") == [5], (steps("run"), steps("run-2"))
assert all(os.path.exists(os.path.join(folder, name, "trained.onnx")) for name in ("run", "run-2"))
third = run(trainer, "--steps", 7, "--resume", cwd=folder)
expect(third, "run-2/step-5.ckpt", "run-2/step-7.ckpt")
assert steps("run") == [3] and steps("run-2")[-1] == 7 and not os.path.exists(os.path.join(folder, "run-3")), steps("run-2")
use = ["--data", os.path.join(folder, "x.npy"), "-o", os.path.join(folder, "out.csv")]
expect(gradc("predict", spec, *use), "run-2/step-7.ckpt'; wrote")

# Another model in the same folder: its run-3 is the newest, and belongs to it alone.
shutil.copy(os.path.join(os.path.dirname(write_mlp_job(scratch(), (6, 5, 3), 4, 6)), "mlp.onnx"), os.path.join(folder, "other.onnx"))
other = os.path.join(folder, "other.textproto")
with open(spec) as file, open(other, "w") as copy:
    copy.write(file.read().replace("mlp.onnx", "other.onnx"))
expect(gradc("train", other, "--steps", 4, cwd=folder), "checkpoint 'run-3/step-4.ckpt'")
expect(gradc("predict", spec, *use), f"run-2/step-7.ckpt' ('{folder}/run-3' is of another model); wrote")
expect(gradc("train", spec, "--steps", 8, "--resume", cwd=folder), "run-3', which is of another model", "run-2/step-8.ckpt")
expect(gradc("predict", other, *use), "run-3/step-4.ckpt'; wrote")
wrong = subprocess.run([program("gradc"), "train", spec, "--resume", "run-3"], cwd=folder, capture_output=True, text=True)
assert wrong.returncode == 1 and "run-3/step-4.ckpt' is of another model" in wrong.stderr, wrong

# The same model with another optimizer: its run-4 has weights to predict with, but not the states to go on from.
with open(spec) as file:
    text = file.read()
assert "adam {" in text, text
with open(other, "w") as copy:
    copy.write(text.replace("adam {", "momentum { learning_rate: 0.01  momentum: 0.9 "))
expect(gradc("train", other, "--steps", 2, cwd=folder), "checkpoint 'run-4/step-2.ckpt'")
expect(gradc("predict", spec, *use), "run-4/step-2.ckpt'; wrote")
expect(gradc("predict", other, *use, "--checkpoint", os.path.join(folder, "run-2")), "run-2/step-8.ckpt'; wrote")
wrong = subprocess.run([program("gradc"), "train", spec, "--resume"], cwd=folder, capture_output=True, text=True)
assert wrong.returncode == 1 and "run-4/step-2.ckpt' is of another optimizer: it was trained with 'momentum', this artifact trains with 'adam'" in wrong.stderr, wrong
print("runs of one spec: run, run-2, and on with run-2")
