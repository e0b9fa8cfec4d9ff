"""Gradients of a perceptron's output with respect to its input, 3-256-256-256-1 with tanh, one JSON line:

    points.py gradc LIBRARY X.npy GRADIENTS.npy [THREADS [SECONDS]]
    points.py jax WEIGHTS.npz X.npy GRADIENTS.npy [THREADS [SECONDS]]

X.npy has the points of one call; LIBRARY is a job that `gradc compile --emit=so` has compiled for as many. `us` is the time of a point.
"""
import json
import os
import statistics
import sys
import time

import numpy as np

from forward import aligned, with_gradc


def with_jax(path, x):
    import jax
    import jax.numpy as jnp

    weights = np.load(path)
    layers = [(jnp.asarray(weights[f"w{i}"]), jnp.asarray(weights[f"b{i}"])) for i in range(1, 5)]

    def y(point):
        for matrix, bias in layers[:-1]:
            point = jnp.tanh(point @ matrix + bias)
        return (point @ layers[-1][0] + layers[-1][1])[0]

    gradients, points = jax.jit(jax.vmap(jax.grad(y))), jnp.asarray(x)
    return lambda: gradients(points).block_until_ready()


def main():
    runtime, model, x, out = sys.argv[1:5]
    threads, seconds = int((sys.argv[5:] or ["1"])[0]), float((sys.argv[6:] or ["2"])[0])
    if threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    x = np.load(x)
    if runtime == "jax":
        call = with_jax(model, x)
    else:
        outputs = with_gradc(model, {"x": aligned(x)}, threads, "gradients")
        call = lambda: next(y for y in outputs() if y.shape == x.shape)
    np.save(out, call())
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1e6 / len(x))
    print(json.dumps({"us": statistics.median(times), "calls": len(times)}))


main()
