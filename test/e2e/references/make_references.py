"""Makes the stored trajectories: for each case, the model with its initial weights, twenty batches, the training spec, and the twenty
losses (and gradient norms) that JAX computes from them in f32.

Needs numpy, jax and onnx (made with 2.4.6, 0.10.2 and 1.23.2); run it from anywhere:
    python make_references.py ../../../examples/digits/digits.npz
Update rules are PyTorch's.
"""
import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 20
BETA1, BETA2 = 0.9, 0.999


class Mlp:
    """Dense layers with ReLU between them. `style`: how an exporter would write a layer."""

    def __init__(self, name, widths, style, softmax=False, seed=1):
        self.name, self.widths, self.style, self.softmax = name, widths, style, softmax
        random = np.random.default_rng(seed)
        self.weights = []
        for rows, columns in zip(widths, widths[1:]):
            weight = random.standard_normal((rows, columns)) * np.sqrt(2 / rows)
            bias = random.standard_normal(columns) * 0.01
            self.weights += [weight.astype(np.float32), bias.astype(np.float32)]

    def logits(self, weights, x):
        x = x.reshape(x.shape[0], -1)
        for layer in range(0, len(weights), 2):
            x = x @ weights[layer] + weights[layer + 1]
            if layer + 2 < len(weights):
                x = jnp.maximum(x, 0)
        return x

    def save(self, input_shape):
        nodes, initializers, value = [], [], "x"
        if len(input_shape) > 1:
            nodes.append(helper.make_node("Flatten", ["x"], ["flat"], "flatten"))
            value = "flat"
        for layer in range(len(self.weights) // 2):
            fc, last = f"fc{layer + 1}", layer == len(self.weights) // 2 - 1
            weight, bias = self.weights[2 * layer : 2 * layer + 2]
            if self.style == "gemm-transposed":
                weight = weight.T
            initializers += [numpy_helper.from_array(np.ascontiguousarray(weight), f"{fc}.weight"),
                             numpy_helper.from_array(bias, f"{fc}.bias")]
            out = f"{fc}.out" if not last or self.softmax else "logits"
            if self.style == "matmul":
                nodes += [helper.make_node("MatMul", [value, f"{fc}.weight"], [f"{fc}.product"], f"{fc}.matmul"),
                          helper.make_node("Add", [f"{fc}.product", f"{fc}.bias"], [out], f"{fc}.add")]
            else:
                nodes.append(helper.make_node("Gemm", [value, f"{fc}.weight", f"{fc}.bias"], [out], fc,
                                              transB=int(self.style == "gemm-transposed")))
            value = out
            if not last:
                value = f"relu{layer + 1}.out"
                nodes.append(helper.make_node("Relu", [out], [value], f"relu{layer + 1}"))
        output = "logits"
        if self.softmax:
            output = "probabilities"
            nodes.append(helper.make_node("Softmax", [value], [output], "softmax", axis=-1))
        graph = helper.make_graph(
            nodes, self.name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *input_shape])],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["N", self.widths[-1]])], initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(HERE, f"{self.name}.onnx"))


def update(rule, correction, parameter, gradient, slots):
    """PyTorch's SGD with momentum, Adam and AdamW; the bias corrections come in f64, as there."""
    lr = rule["learning_rate"]
    if rule["name"] == "momentum":
        velocity = rule["momentum"] * slots[0] + (gradient + rule["l2"] * parameter)
        return parameter - lr * velocity, [velocity]
    if rule["name"] == "adamw":
        parameter = parameter * (1 - lr * rule["weight_decay"])
    m = BETA1 * slots[0] + (1 - BETA1) * gradient
    v = BETA2 * slots[1] + (1 - BETA2) * gradient * gradient
    return parameter - lr / correction[0] * m / (jnp.sqrt(v) / correction[1] + 1e-8), [m, v]


def trajectory(mlp, rule, clip, batches):
    def loss(weights, x, y):
        logits = mlp.logits(weights, x)
        return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, y[:, None], 1)[:, 0])

    @jax.jit
    def train(weights, slots, correction, x, y):
        value, gradients = jax.value_and_grad(loss)(weights, x, y)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in gradients))
        if clip:
            gradients = [g * jnp.minimum(1.0, clip / (norm + 1e-6)) for g in gradients]
        pairs = [update(rule, correction, *row) for row in zip(weights, gradients, slots)]
        return [p for p, _ in pairs], [s for _, s in pairs], value, norm

    weights = [jnp.array(w) for w in mlp.weights]
    slots = [[jnp.zeros_like(w)] * 2 for w in weights]
    losses, norms = [], []
    for index, (x, y) in enumerate(batches):
        correction = np.float32([1 - BETA1 ** (index + 1), np.sqrt(1 - BETA2 ** (index + 1))])
        weights, slots, value, norm = train(weights, slots, correction, x, y)
        losses.append(float(value))
        norms.append(float(norm))
    return losses, norms


SPEC = """# Made by make_references.py.
model: "{model}.onnx"
feed {{ input: "x"  field: "{field}" }}
loss {{ softmax_cross_entropy {{ logits: "{output}"  labels: "labels" }} }}
optimizer {{ {optimizer} }}
{clip}data {{
  source {{ npz {{ path: "{data}.npz" }} }}
{map}  stage {{ batch {{ size: {batch}  drop_remainder: true }} }}
}}
epochs: 1
"""


def write_case(name, mlp, data, field, batch, rule, clip=None):
    arrays = np.load(os.path.join(HERE, f"{data}.npz"))
    x, y = arrays[field], arrays["labels"].astype(np.int32)
    scaled = x.astype(np.float32) * np.float32(0.0625) if x.dtype == np.uint8 else x
    batches = [(scaled[i * batch : (i + 1) * batch], y[i * batch : (i + 1) * batch]) for i in range(STEPS)]
    losses, norms = trajectory(mlp, rule, clip, batches)
    fields = "  ".join(f"{k}: {v}" for k, v in rule.items() if k != "name")
    with open(os.path.join(HERE, f"{name}.textproto"), "w") as file:
        file.write(SPEC.format(
            model=mlp.name, field=field, output="probabilities" if mlp.softmax else "logits",
            optimizer=f"{rule['name']} {{ {fields} }}", data=data, batch=batch,
            clip=f"clip {{ global_norm: {clip} }}\n" if clip else "",
            map=f'  stage {{ map {{ field: "{field}"  cast: F32  scale: 0.0625 }} }}\n' if x.dtype == np.uint8 else ""))
    clipped = sum(norm > clip for norm in norms) if clip else 0
    print(f"{name:16} loss {losses[0]:.5f} -> {losses[-1]:.5f}, clipped {clipped} of {STEPS}")
    return {"loss": losses, **({"grad_norm": norms} if clip else {})}


def main():
    digits = np.load(sys.argv[1])
    rows = np.random.default_rng(7).permutation(len(digits["images"]))[: STEPS * 32]
    np.savez(os.path.join(HERE, "digits-batches.npz"), images=digits["images"][rows], labels=digits["labels"][rows])
    random = np.random.default_rng(8)
    np.savez(os.path.join(HERE, "odd-batches.npz"), x=random.standard_normal((STEPS * 3, 50)).astype(np.float32),
             labels=random.integers(0, 7, STEPS * 3))

    mlp = Mlp("digits", (64, 128, 64, 10), "gemm-transposed")
    odd = Mlp("odd", (50, 37, 7), "matmul")
    softmax = Mlp("digits-softmax", (64, 32, 10), "gemm", softmax=True)
    mlp.save((8, 8)), softmax.save((8, 8)), odd.save((50,))
    adam = {"name": "adam", "learning_rate": 1e-3}
    adamw = {"name": "adamw", "learning_rate": 2e-3, "weight_decay": 0.1}
    momentum = {"name": "momentum", "learning_rate": 0.02, "momentum": 0.9, "l2": 5e-3}
    digits = (mlp, "digits-batches", "images", 32)
    expected = {
        "adam": write_case("adam", *digits, adam),
        "adamw-clip": write_case("adamw-clip", *digits, adamw, clip=1.0),
        "momentum-l2": write_case("momentum-l2", *digits, momentum),
        "odd-widths": write_case("odd-widths", odd, "odd-batches", "x", 3, momentum),
        "softmax": write_case("softmax", softmax, "digits-batches", "images", 32, adam),
    }
    with open(os.path.join(HERE, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
