"""Makes reference_losses.json: each training workload's first twenty losses, and the mean squares of the inference workloads'
outputs, as PyTorch computes them in f64 from the f32 weights and batches. Every measurement is checked by them.

    make_references.py [WORKLOAD ...]
"""
import json
import os
import sys

import torch

import peer_torch
from workloads import BATCHES, WORKLOADS

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference_losses.json")


def losses(workload):
    module = peer_torch.Module(workload).double()
    x, labels = workload.batches()
    x = [torch.from_numpy(batch).long() if workload.data == "tokens" else torch.from_numpy(batch).double() for batch in x]
    if not workload.training:
        with torch.no_grad():
            return [float((module.eval()(batch) ** 2).mean()) for batch in x]
    labels = [torch.from_numpy(batch).long() for batch in labels]
    step = peer_torch.make_step(workload, module, x, labels, torch.autocast("cpu", enabled=False), lambda loss: loss)
    return [float(step(i)) for i in range(BATCHES)]


def main():
    references = {}
    if os.path.exists(PATH):
        with open(PATH) as file:
            references = json.load(file)
    for name in sys.argv[1:] or WORKLOADS:
        references[name] = losses(WORKLOADS[name])
        print(name, references[name][0], references[name][-1], flush=True)
        with open(PATH, "w") as file:
            json.dump(references, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
