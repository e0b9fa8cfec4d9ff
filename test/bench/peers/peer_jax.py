"""JAX: `jax` jits the whole step with donated state; `jax_scan` runs twenty steps per call by lax.scan."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads import BATCHES


def make_step(workload):
    rule = workload.adam

    def forward(weights, x):
        for layer in range(0, len(weights), 2):
            x = x @ weights[layer] + weights[layer + 1]
            if layer + 2 < len(weights):
                x = jax.nn.relu(x)
        return x

    def adam(p, g, m, v, t):
        m = rule["beta1"] * m + (1 - rule["beta1"]) * g
        v = rule["beta2"] * v + (1 - rule["beta2"]) * g * g
        c1, c2 = 1 - rule["beta1"] ** t, 1 - rule["beta2"] ** t
        return p - (rule["learning_rate"] / c1) * m / (jnp.sqrt(v) / jnp.sqrt(c2) + rule["epsilon"]), m, v

    def step(state, x, labels):
        weights, slots, t = state

        def loss(weights):
            logits = forward(weights, x)
            picked = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
            return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)

        value, gradients = jax.value_and_grad(loss)(weights)
        t = t + 1
        updated = [adam(p, g, m, v, t) for p, g, (m, v) in zip(weights, gradients, slots)]
        return ([p for p, _, _ in updated], [(m, v) for _, m, v in updated], t), value

    return step


def setup(peer, workload):
    """(call(i) -> losses' handle, values(handle) -> list, wait(handle), steps per call)"""
    x, labels = workload.batches()
    weights = [jnp.array(w) for w in workload.weights()]
    slots = [(jnp.zeros_like(w), jnp.zeros_like(w)) for w in weights]
    state = [(weights, slots, jnp.float32(0))]
    step = make_step(workload)

    if peer == "jax_scan":
        x, labels = jax.device_put(x), jax.device_put(labels)
        scan = jax.jit(lambda s, x, y: lax.scan(lambda s, b: step(s, *b), s, (x, y)), donate_argnums=0)

        def call(_):
            state[0], losses = scan(state[0], x, labels)
            return losses

        return call, lambda losses: [float(v) for v in losses], jax.block_until_ready, BATCHES

    pairs = [(jax.device_put(a), jax.device_put(b)) for a, b in zip(x, labels)]
    jitted = jax.jit(step, donate_argnums=0)

    def call(i):
        state[0], loss = jitted(state[0], *pairs[i % BATCHES])
        return loss

    return call, lambda loss: [float(loss)], lambda loss: jax.block_until_ready((loss, state[0])), 1
