"""PyTorch's steps of one of the forms in trained.py, one JSON line:  train.py PEER FORM [THREADS [SECONDS]]

PEER is `torch`, `torch_cl` (channels last) or `torch_compile`. With one thread the process is bound to one CPU.
"""
import json
import os
import sys

threads, seconds = int((sys.argv[3:] or ["1"])[0]), float((sys.argv[4:] or ["1"])[0])
if threads == 1:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["OMP_NUM_THREADS"] = str(threads)

import torch
import torch.nn.functional as F

from steps import Steps, measure
from trained import batches, make_model, make_optimizer
from workloads import BATCHES

LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}


def setup(peer, name):
    torch.set_num_threads(threads)
    model = make_model(name)
    x, labels = ([torch.from_numpy(batch) for batch in arrays] for arrays in batches(name))
    if peer == "torch_cl":
        layout = LAYOUTS[x[0].ndim]
        model, x = model.to(memory_format=layout), [batch.to(memory_format=layout) for batch in x]
    optimizer = make_optimizer(name, list(model.parameters()))

    def loss_of(x, labels):
        logits = model(x)
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))

    loss_of = torch.compile(loss_of) if peer == "torch_compile" else loss_of

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x[i % BATCHES], labels[i % BATCHES])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Steps(step, lambda loss: [float(loss)])


print(json.dumps(measure(lambda: setup(*sys.argv[1:3]), seconds)), flush=True)
os._exit(0)  # the library's threads need not be waited for
