"""PyTorch: `torch` (eager), `torch_compile` (inductor), `_cl` channels-last, `_bf16` autocast, `_max` max-autotune.

On a GPU f32 is f32 (no TF32), inductor uses CUDA graphs ("reduce-overhead"), and `torch_graph` captures the whole eager step as one graph.
"""
import os
import tempfile

import numpy as np

import torch
import torch.nn.functional as F

from steps import Steps, mean_square
from workloads import BATCHES

DEVICE = os.environ.get("PEERS_DEVICE", "cpu")


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

    def unembed(x, w):
        return F.linear(x, w)

    def split3(x):
        return torch.chunk(x, 3, -1)

    def swap12(x):
        return x.transpose(1, 2)

    def attention(q, k, v, causal):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


class Module(torch.nn.Module):
    """A workload's model with its initial weights; dense ones as [out, in]."""

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


def make_optimizer(rule, parameters, capturable=False):
    if rule["name"] == "momentum":
        return torch.optim.SGD(parameters, lr=rule["learning_rate"], momentum=rule["momentum"], weight_decay=rule["l2"],
                               fused=True)
    shared = {"lr": rule["learning_rate"], "betas": (rule["beta1"], rule["beta2"]), "eps": rule["epsilon"], "fused": True,
              "capturable": capturable}
    if rule["name"] == "adamw":
        return torch.optim.AdamW(parameters, weight_decay=rule["weight_decay"], **shared)
    return torch.optim.Adam(parameters, **shared)


def make_step(workload, module, x, labels, autocast, compiled, capturable=False):
    parameters = list(module.train().parameters())
    optimizer = make_optimizer(workload.optimizer, parameters, capturable)

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
        return value.detach().clone()  # a captured graph writes the next one to the same place

    return step, optimizer


def capture(make, module, x, labels):
    """The step as one CUDA graph over a fixed place for the batch. `make(x, labels)` -> step(i); the training done by warming up is undone."""
    batch, wanted = torch.empty_like(x[0]).copy_(x[0]), torch.empty_like(labels[0]).copy_(labels[0])
    initial = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    step, optimizer = make([batch] * BATCHES, [wanted] * BATCHES)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(0)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(0)
    with torch.no_grad():
        module.load_state_dict(initial)
        for slots in optimizer.state.values():
            for slot in slots.values():
                if isinstance(slot, torch.Tensor):
                    slot.zero_()

    def replay(i):
        batch.copy_(x[i % BATCHES])
        wanted.copy_(labels[i % BATCHES])
        graph.replay()
        return loss.clone()

    return replay


def configure_compiler(peer, cache, inference):
    import torch._inductor.config as inductor

    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{cache}/inductor" if cache else tempfile.mkdtemp(prefix="gradc-inductor-")
    inductor.fx_graph_cache = inductor.autotune_local_cache = bool(cache)
    inductor.freezing = inference
    mode = "max-autotune-no-cudagraphs" if "_max" in peer else "reduce-overhead" if DEVICE == "cuda" else None
    return lambda function: torch.compile(function, mode=mode, dynamic=False)


def setup(peer, workload, threads, cache):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = DEVICE == "cuda"
    module = Module(workload).to(DEVICE)
    x, labels = workload.batches()
    x = [torch.from_numpy(batch).to(DEVICE) for batch in x]
    if workload.data == "tokens":
        x = [batch.long() for batch in x]
    if "_cl" in peer:
        module = module.to(memory_format=torch.channels_last)
        x = [batch.contiguous(memory_format=torch.channels_last) for batch in x]
    compiled = configure_compiler(peer, cache, not workload.training) if "compile" in peer else lambda function: function
    autocast = torch.autocast(DEVICE, torch.bfloat16, enabled="_bf16" in peer)
    wait = (lambda handle: torch.cuda.synchronize()) if DEVICE == "cuda" else (lambda handle: None)
    if workload.training:
        labels = [torch.from_numpy(batch.astype(np.int64)).to(DEVICE) for batch in labels]
        if peer == "torch_graph":
            step = capture(lambda x, labels: make_step(workload, module, x, labels, autocast, compiled, True), module, x, labels)
        else:
            step, _ = make_step(workload, module, x, labels, autocast, compiled)
        return Steps(step, lambda loss: [float(loss)], wait)

    infer = compiled(module.eval().requires_grad_(False))

    def call(i):
        with torch.no_grad() if "compile" in peer else torch.inference_mode(), autocast:
            return infer(x[i % BATCHES])

    return Steps(call, lambda y: mean_square(y.float().cpu().numpy()), wait)
