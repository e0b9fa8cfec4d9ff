"""Makes a training job whose step's results take more memory than its states: mlp.onnx and mlp.textproto; small.textproto, with a budget for
them; and micro.textproto, whose step takes less memory than its batch.

    make_deep_job.py FOLDER
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bars"))
from bar import write_mlp_job

folder, = sys.argv[1:]
spec = write_mlp_job(folder, (16, *8 * [64], 10), 4096, 2, activation="Tanh")
with open(spec) as file:
    text = file.read()
with open(os.path.join(folder, "small.textproto"), "w") as file:
    file.write("memory_budget_mb: 8\n" + text)
with open(os.path.join(folder, "micro.textproto"), "w") as file:
    file.write("memory_budget_mb: 1  micro_batches: 64\n" + text)
