"""JAX: `jax` jits the whole step with donated state; `jax_scan` runs twenty steps per call by lax.scan. NHWC. On a GPU f32 is f32 (no TF32)."""
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import channels_last
from optimizers import SLOTS, update
from steps import Steps, mean_square
from workloads import BATCHES


class Operations:
    relu = jax.nn.relu
    reshape = jnp.reshape

    def gelu(x):
        return jax.nn.gelu(x, approximate=False)

    def dense(x, w, b):
        return x @ w + b

    def conv(x, w, b, stride, padding, groups=1):
        y = lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2, feature_group_count=groups,
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return y if b is None else y + b

    def maxpool(x, size, stride, padding):
        if size == stride and padding == 0:  # faster than reduce_window, whose gradient selects and scatters
            n, h, w, c = x.shape
            return x.reshape(n, h // size, size, w // size, size, c).max((2, 4))
        pads = ((0, 0), (padding, padding), (padding, padding), (0, 0))
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), pads)

    def batchnorm(x, p, s, name, training):
        mean, variance = s[f"{name}_rm"], s[f"{name}_rv"]
        if training:
            batch_mean = x.mean((0, 1, 2))
            batch_variance = ((x - batch_mean) ** 2).mean((0, 1, 2))
            count = x.size // x.shape[-1]
            s[f"{name}_rm"] = 0.9 * mean + 0.1 * batch_mean
            s[f"{name}_rv"] = 0.9 * variance + 0.1 * batch_variance * (count / (count - 1))
            mean, variance = batch_mean, batch_variance
        return (x - mean) * (p[f"{name}_g"] * lax.rsqrt(variance + 1e-5)) + p[f"{name}_b"]

    def mean_pixels(x):
        return x.mean((1, 2))

    def flatten(x):
        return x.reshape(x.shape[0], -1)

    def layernorm(x, g, b):
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * g + b

    def embed(w, i):
        return w[i]

    def unembed(x, w):
        return x @ w.T

    def split3(x):
        return jnp.split(x, 3, -1)

    def swap12(x):
        return x.swapaxes(1, 2)

    def attention(q, k, v, causal):
        scores = (q @ k.swapaxes(2, 3)) / math.sqrt(q.shape[-1])
        if causal:
            scores = jnp.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -1e30)
        return jax.nn.softmax(scores, -1) @ v


def cross_entropy(logits, labels):
    logits = logits.reshape(-1, logits.shape[-1])
    picked = jnp.take_along_axis(logits, labels.reshape(-1, 1), 1)[:, 0]
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def make_step(workload):
    rule = workload.optimizer

    def step(state, x, labels):
        weights, statistics, slots, t = state

        def loss(weights):
            s = dict(statistics)
            return cross_entropy(workload.forward(Operations, weights, s, x, True), labels), s

        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(weights)
        if workload.clip:
            norm = jnp.sqrt(sum(jnp.sum(g * g) for g in gradients.values()))
            scale = jnp.minimum(1.0, workload.clip / (norm + 1e-6))
            gradients = {name: g * scale for name, g in gradients.items()}
        t = t + 1
        updated = {name: update(jnp, rule, w, gradients[name], slots[name], t) for name, w in weights.items()}
        weights, slots = ({name: pair[i] for name, pair in updated.items()} for i in (0, 1))
        return (weights, statistics, slots, t), value

    return step


def initial_state(workload):
    """(weights, statistics, slots, steps done) as NumPy arrays."""
    trained, statistics = workload.weights()
    weights = {name: channels_last.weight(*value) for name, value in trained.items()}
    count = SLOTS[workload.optimizer["name"]] if workload.training else 0
    slots = {name: [np.zeros_like(w)] * count for name, w in weights.items()}
    return weights, {name: array for name, (_, array) in statistics.items()}, slots, np.float32(0)


def use_cache(folder):
    jax.config.update("jax_compilation_cache_dir", f"{folder}/jax")
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def setup(peer, workload, threads, cache):
    if cache:
        use_cache(cache)
    jax.config.update("jax_default_matmul_precision", "highest")
    x, labels = workload.batches()
    x = [jax.device_put(channels_last.batch(workload, batch)) for batch in x]
    state = jax.tree.map(jnp.array, initial_state(workload))
    if not workload.training:
        weights, statistics = state[:2]
        infer = jax.jit(lambda w, s, x: workload.forward(Operations, w, s, x, False))
        return Steps(lambda i: infer(weights, statistics, x[i % BATCHES]), lambda y: mean_square(np.asarray(y)),
                     jax.block_until_ready)

    labels = [jax.device_put(batch) for batch in labels]
    box, step = [state], make_step(workload)
    if peer == "jax_scan":
        x, labels = jnp.stack(x), jnp.stack(labels)
        scan = jax.jit(lambda s, x, y: lax.scan(lambda s, b: step(s, *b), s, (x, y)), donate_argnums=0)

        def call(_):
            box[0], losses = scan(box[0], x, labels)
            return losses

        return Steps(call, lambda losses: [float(v) for v in losses], jax.block_until_ready, BATCHES)

    jitted = jax.jit(step, donate_argnums=0)

    def call(i):
        box[0], loss = jitted(box[0], x[i % BATCHES], labels[i % BATCHES])
        return loss

    return Steps(call, lambda loss: [float(loss)], lambda loss: jax.block_until_ready((loss, box[0])))
