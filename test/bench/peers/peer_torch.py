"""PyTorch: `torch` (eager), `torch_compile` (inductor), `_cl` channels-last, `_bf16` autocast, `_max` max-autotune."""
import os
import tempfile

import numpy as np

import torch
import torch.nn.functional as F

from steps import Steps, mean_square
from workloads import BATCHES


class Operations:
    relu, gelu = F.relu, F.gelu
    reshape = torch.reshape

    def dense(x, w, b):
        return F.linear(x, w, b)

    def conv(x, w, b, stride, padding, groups=1):
        return F.conv2d(x, w, b, stride, padding, groups=groups)

    def maxpool(x, size, stride, padding):
        return F.max_pool2d(x, size, stride, padding)

    def batchnorm(x, p, s, name, training):
        return F.batch_norm(x, s[f"{name}_rm"], s[f"{name}_rv"], p[f"{name}_g"], p[f"{name}_b"], training, 0.1, 1e-5)

    def mean_pixels(x):
        return x.mean((2, 3))

    def flatten(x):
        return x.flatten(1)

    def layernorm(x, g, b):
        return F.layer_norm(x, x.shape[-1:], g, b, 1e-5)

    def embed(w, i):
        return F.embedding(i, w)

    def split3(x):
        return torch.chunk(x, 3, -1)

    def swap12(x):
        return x.transpose(1, 2)

    def attention(q, k, v, causal):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


class Module(torch.nn.Module):
    """A workload's model with its initial weights, dense ones as [out, in]."""

    def __init__(self, workload):
        super().__init__()
        self.workload = workload
        trained, statistics = workload.weights()
        for name, (kind, array) in trained.items():
            tensor = torch.from_numpy(array.copy())
            dense = kind == "dense" or kind.startswith("flat")
            self.register_parameter(name, torch.nn.Parameter(tensor.t().contiguous() if dense else tensor))
        for name, (_, array) in statistics.items():
            self.register_buffer(name, torch.from_numpy(array.copy()))

    def forward(self, x):
        return self.workload.forward(Operations, self._parameters, self._buffers, x, self.training)


def make_optimizer(rule, parameters):
    if rule["name"] == "momentum":
        return torch.optim.SGD(parameters, lr=rule["learning_rate"], momentum=rule["momentum"], weight_decay=rule["l2"],
                               fused=True)
    shared = {"lr": rule["learning_rate"], "betas": (rule["beta1"], rule["beta2"]), "eps": rule["epsilon"], "fused": True}
    if rule["name"] == "adamw":
        return torch.optim.AdamW(parameters, weight_decay=rule["weight_decay"], **shared)
    return torch.optim.Adam(parameters, **shared)


def make_step(workload, module, x, labels, autocast, compiled):
    parameters = list(module.train().parameters())
    optimizer = make_optimizer(workload.optimizer, parameters)

    def loss(x, labels):
        with autocast:
            logits = module(x)
            return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))

    loss = compiled(loss)

    def step(i):
        value = loss(x[i % BATCHES], labels[i % BATCHES])
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        if workload.clip:
            torch.nn.utils.clip_grad_norm_(parameters, workload.clip, foreach=True)
        optimizer.step()
        return value.detach()

    return step


def configure_compiler(peer, cache, inference):
    import torch._inductor.config as inductor

    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{cache}/inductor" if cache else tempfile.mkdtemp(prefix="gradc-inductor-")
    inductor.fx_graph_cache = inductor.autotune_local_cache = bool(cache)
    inductor.freezing = inference
    mode = "max-autotune-no-cudagraphs" if "_max" in peer else None
    return lambda function: torch.compile(function, mode=mode, dynamic=False)


def setup(peer, workload, threads, cache):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    module = Module(workload)
    x, labels = workload.batches()
    x = [torch.from_numpy(batch) for batch in x]
    if workload.data == "tokens":
        x = [batch.long() for batch in x]
    if "_cl" in peer:
        module = module.to(memory_format=torch.channels_last)
        x = [batch.contiguous(memory_format=torch.channels_last) for batch in x]
    compiled = configure_compiler(peer, cache, not workload.training) if "compile" in peer else lambda function: function
    autocast = torch.autocast("cpu", torch.bfloat16, enabled="_bf16" in peer)
    if workload.training:
        labels = [torch.from_numpy(batch.astype(np.int64)) for batch in labels]
        return Steps(make_step(workload, module, x, labels, autocast, compiled), lambda loss: [float(loss)])

    infer = compiled(module.eval().requires_grad_(False))

    def call(i):
        with torch.no_grad() if "compile" in peer else torch.inference_mode(), autocast:
            return infer(x[i % BATCHES])

    return Steps(call, lambda y: mean_square(y.float().numpy()))
