"""Makes gradients.onnx, a perceptron 2-32-32-1 with tanh, and gradients.npz: 4,096 points, and JAX's results there in f64, rounded to f32:
values, gradients, and Hessians of each point; sums over all points of the gradient with respect to a weight, and of the Hessian with
respect to it times a vector; and its gradients at single points.

Needs numpy and jax (made with 2.4.6 and 0.10.2); run it from anywhere.
"""
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../.."))
from onnx_writer import FLOAT, Model

POINTS, SINGLE = 4096, 48
jax.config.update("jax_enable_x64", True)


def draw():
    random = np.random.default_rng(12)
    weights = {}
    for i, (rows, columns) in enumerate(((2, 32), (32, 32), (32, 1)), 1):
        weights[f"w{i}"] = (random.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)
        weights[f"b{i}"] = (random.standard_normal(columns) * 0.1).astype(np.float32)
    x = random.uniform(-2, 2, (POINTS, 2)).astype(np.float32)
    v = random.standard_normal((2, 32)).astype(np.float32)
    return weights, x, v


def save(weights):
    model = Model("tanh", opset=20)
    value = model.input("x", FLOAT, ["N", 2])
    for i in range(1, 4):
        for name in (f"w{i}", f"b{i}"):
            model.initializer(name, FLOAT, weights[name].shape, weights[name].ravel().tolist())
        value = model.node("Gemm", [value, f"w{i}", f"b{i}"], ["y" if i == 3 else f"h{i}"], f"fc{i}")
        if i < 3:
            value = model.node("Tanh", [value], [f"t{i}"], f"tanh{i}")
    model.output("y", FLOAT, ["N", 1])
    model.save(os.path.join(HERE, "gradients.onnx"))


def point(weights, x):
    """The value at one point."""
    for i in range(1, 4):
        x = x @ weights[f"w{i}"] + weights[f"b{i}"]
        x = jnp.tanh(x) if i < 3 else x
    return x[0]


weights, x, v = draw()
save(weights)
wide = {name: jnp.asarray(value, jnp.float64) for name, value in weights.items()}
points = jnp.asarray(x, jnp.float64)


def total(w1):
    return jax.vmap(lambda p: point({**wide, "w1": w1}, p))(points).sum()


def of_point(w1, p):
    return point({**wide, "w1": w1}, p)


references = {
    "x": x,
    "v": v,
    "y": jax.vmap(lambda p: point(wide, p))(points)[:, None],
    "dy_dx": jax.vmap(jax.grad(lambda p: point(wide, p)))(points),
    "hessian": jax.vmap(jax.hessian(lambda p: point(wide, p)))(points),
    "dy_dw1": jax.grad(total)(wide["w1"]),
    "hvp": jax.jvp(jax.grad(total), (wide["w1"],), (jnp.asarray(v, jnp.float64),))[1],
    "single": jax.vmap(jax.grad(of_point), (None, 0))(wide["w1"], points[:SINGLE]),
}
np.savez_compressed(os.path.join(HERE, "gradients.npz"),
                    **{name: np.asarray(value, np.float32) for name, value in references.items()})
