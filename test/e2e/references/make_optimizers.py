"""Makes the references of optimizers, clipping, parameter groups, and averages: a small network with initial weights, its batches, and for
each case the part of a training spec and the results of fifty steps in f64 by PyTorch, Keras, optax, or the formulas below: losses,
norms of the gradients, and at the end the norm of each parameter (and of its average).

Needs numpy, torch, jax, optax, keras and onnx (made with 2.4.6, 2.15.0, 0.10.2, 0.2.8, 3.15.0 and 1.23.2); run it from
anywhere:
    python make_optimizers.py
Gradients are PyTorch's in every case.
"""
import json
import math
import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["KERAS_BACKEND"] = "jax"
import jax

jax.config.update("jax_enable_x64", True)
import keras
import numpy as np
import onnx
import optax
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

keras.config.set_floatx("float64")
HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, BATCH, BATCHES, CLASSES = 50, 8, 4, 5
TRAINED = ("conv.weight", "norm.weight", "norm.bias", "fc.weight", "fc.bias", "head.weight", "head.bias")


def initial_weights():
    """A filter, a norm with its statistics, and two dense layers, one of them as [inputs, outputs]."""
    random = np.random.default_rng(5)
    draw = lambda *shape, fan=1: (random.standard_normal(shape) / math.sqrt(fan)).astype(np.float32)
    return {"conv.weight": draw(6, 2, 3, 3, fan=18), "norm.weight": 1 + 0.1 * draw(6), "norm.bias": 0.1 * draw(6),
            "norm.running_mean": np.zeros(6, np.float32), "norm.running_var": np.ones(6, np.float32),
            "fc.weight": draw(10, 24, fan=24), "fc.bias": 0.1 * draw(10),
            "head.weight": draw(10, CLASSES, fan=10), "head.bias": 0.1 * draw(CLASSES)}


def save_model(weights):
    node = helper.make_node
    nodes = [node("Conv", ["x", "conv.weight"], ["conv.out"], "conv", kernel_shape=[3, 3], strides=[2, 2]),
             node("BatchNormalization", ["conv.out", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"],
                  ["norm.out"], "norm"),
             node("Tanh", ["norm.out"], ["act.out"], "act"), node("Flatten", ["act.out"], ["flat"], "flatten"),
             node("Gemm", ["flat", "fc.weight", "fc.bias"], ["fc.out"], "fc", transB=1),
             node("Tanh", ["fc.out"], ["act2.out"], "act2"),
             node("Gemm", ["act2.out", "head.weight", "head.bias"], ["logits"], "head")]
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "optimizers", [tensor("x", TensorProto.FLOAT, ["N", 2, 6, 6])],
                              [tensor("logits", TensorProto.FLOAT, ["N", CLASSES])],
                              [numpy_helper.from_array(np.ascontiguousarray(w), name) for name, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(HERE, "optimizers.onnx"))


def loss_of(w, x, labels, training):
    y = F.conv2d(x, w["conv.weight"], stride=2)
    y = F.batch_norm(y, w["norm.running_mean"], w["norm.running_var"], w["norm.weight"], w["norm.bias"], training,
                     momentum=0.1)
    y = torch.tanh(F.linear(torch.tanh(y).flatten(1), w["fc.weight"], w["fc.bias"]))
    return F.cross_entropy(y @ w["head.weight"] + w["head.bias"], labels)


# Rules: each is a function of the weights (tensors with gradients) that returns a function of a step. -----------------

def torch_rule(kind, groups=None, **options):
    """One of torch.optim's rules; `groups` are parameter groups with names instead of tensors."""
    def make(w):
        chosen = groups or [{"params": TRAINED}]
        optimizer = kind([dict(g, params=[w[n] for n in g["params"]]) for g in chosen], foreach=False, **options)
        return optimizer.step
    return make


def one_cycle_rule(kind, most, cycle, **options):
    """torch_rule under OneCycleLR, which changes rate and momentum before each step; records both."""
    def make(w):
        optimizer = kind([w[n] for n in TRAINED], lr=most, foreach=False, **options)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=most, total_steps=STEPS, **cycle)

        def step():
            group = optimizer.param_groups[0]
            step.rates.append(group["lr"])
            step.momenta.append(group["momentum"] if "momentum" in group else group["betas"][0])
            optimizer.step()
            if len(step.rates) < STEPS:
                schedule.step()
        step.rates, step.momenta = [], []
        return step
    return make


def keras_rule(kind, **options):
    def make(w):
        variables = [keras.Variable(w[n].detach().numpy(), dtype="float64") for n in TRAINED]
        optimizer = kind(**options)
        optimizer.build(variables)

        def step():
            optimizer.apply([keras.ops.convert_to_tensor(w[n].grad.numpy(), dtype="float64") for n in TRAINED])
            for name, variable in zip(TRAINED, variables):
                w[name].data = torch.from_numpy(np.array(variable))
        return step
    return make


def optax_rule(transformation):
    def make(w):
        weights = {n: jax.numpy.asarray(w[n].detach().numpy()) for n in TRAINED}
        state = [transformation.init(weights), weights]

        def step():
            gradients = {n: jax.numpy.asarray(w[n].grad.numpy()) for n in TRAINED}
            updates, state[0] = transformation.update(gradients, state[0], state[1])
            state[1] = optax.apply_updates(state[1], updates)
            for name in TRAINED:
                w[name].data = torch.from_numpy(np.array(state[1][name]))
        return step
    return make


def muon_rule(learning_rate, weight_decay=0.1, momentum=0.95, nesterov=True, coefficients=(3.4445, -4.775, 2.0315),
              epsilon=1e-7, iterations=5, match_adamw=False, others=None):
    """The algorithm of torch.optim.Muon without rounding to bfloat16, also for filters; AdamW for vectors."""
    a, b, c = coefficients

    def make(w):
        matrices = [n for n in TRAINED if w[n].ndim >= 2]
        rest = [w[n] for n in TRAINED if w[n].ndim < 2]
        adamw = torch.optim.AdamW(rest, foreach=False, **others)
        buffers = {n: torch.zeros_like(w[n]) for n in matrices}

        @torch.no_grad()
        def step():
            for n in matrices:
                gradient, buffer = w[n].grad, buffers[n]
                buffer.lerp_(gradient, 1 - momentum)
                x = (gradient.lerp(buffer, momentum) if nesterov else buffer).reshape(len(gradient), -1).clone()
                rows, columns = x.shape
                x = x.T if rows > columns else x
                x = x / x.norm().clamp(min=epsilon)
                for _ in range(iterations):
                    gram = x @ x.T
                    x = a * x + (b * gram + c * gram @ gram) @ x
                x = x.T if rows > columns else x
                scale = 0.2 * math.sqrt(max(rows, columns)) if match_adamw else math.sqrt(max(1, rows / columns))
                w[n].mul_(1 - learning_rate * weight_decay).add_(x.reshape(w[n].shape), alpha=-learning_rate * scale)
            adamw.step()
        return step
    return make


def check_muon(weights):
    """The formulas above equal PyTorch's if PyTorch does not round."""
    if not hasattr(torch.optim, "Muon"):
        return
    rounded, torch.bfloat16 = torch.bfloat16, torch.float64
    try:
        ours = {n: torch.tensor(weights[n], dtype=torch.float64) for n in TRAINED}
        theirs = torch.tensor(weights["fc.weight"], dtype=torch.float64, requires_grad=True)
        step = muon_rule(0.01, others=dict(lr=0.01))(ours)
        optimizer = torch.optim.Muon([theirs], lr=0.01)
        for k in range(3):
            for tensor in (*ours.values(), theirs):
                tensor.grad = torch.sin(tensor.detach() * (k + 1))
            step(), optimizer.step()
        assert torch.allclose(ours["fc.weight"], theirs, rtol=1e-12), "not torch.optim.Muon's algorithm"
    finally:
        torch.bfloat16 = rounded


# Clipping: a function of the gradients' tensors. ------------------------------------------------------------------------

def clip_each(limit):
    return lambda tensors: [torch.nn.utils.clip_grad_norm_([t], limit, foreach=False) for t in tensors]


def clip_all(limit):
    return lambda tensors: torch.nn.utils.clip_grad_norm_(tensors, limit, foreach=False)


def clip_values(limit):
    return lambda tensors: torch.nn.utils.clip_grad_value_(tensors, limit, foreach=False)


def trajectory(weights, data, make, clip=None, decay=None, swa=None, frozen=(), live_in=None):
    """`swa`: the first step whose weights are averaged, and after how many the next is. `live_in(k)`: the parameters that step k trains. Others have no gradient then, so torch.optim skips them."""
    w = {n: torch.tensor(v, dtype=torch.float64, requires_grad=n in TRAINED and n not in frozen) for n, v in weights.items()}
    for n in frozen:
        w[n].grad = torch.zeros_like(w[n])
    step = make(w)
    x, labels = torch.tensor(data["x"], dtype=torch.float64), torch.tensor(data["labels"])
    average = {n: w[n].detach().clone() for n in TRAINED}
    found = {"loss": [], **({"grad_norm": []} if clip else {})}
    for k in range(STEPS):
        rows = slice(k % BATCHES * BATCH, (k % BATCHES + 1) * BATCH)
        live = [w[n] for n in TRAINED if n not in frozen and (not live_in or n in live_in(k))]
        for tensor in (w[n] for n in TRAINED if n not in frozen):
            tensor.grad = None
        loss = loss_of(w, x[rows], labels[rows], True)
        loss.backward()
        if live_in:
            for n in set(TRAINED) - set(live_in(k)):
                w[n].grad = None
        found["loss"].append(loss.item())
        if clip:
            found["grad_norm"].append(math.sqrt(sum((t.grad ** 2).sum().item() for t in live)))
            clip(live)
        step()
        if decay is not None:  # as torch.optim.swa_utils.get_ema_avg_fn
            for n in TRAINED:
                average[n] = decay * average[n] + (1 - decay) * w[n].detach()
        if swa:
            since = k + 1 - swa[0]
            for n in TRAINED:
                if since <= 0:  # AveragedModel's first update copies
                    average[n] = w[n].detach().clone()
                elif since % swa[1] == 0:
                    average[n] = torch.optim.swa_utils.get_swa_avg_fn()(average[n], w[n].detach(), since // swa[1])
    if hasattr(step, "rates"):
        found["rates"], found["momenta"] = step.rates, step.momenta
    found["weights"] = {n: w[n].detach().norm().item() for n in TRAINED}
    if decay is not None or swa:
        found["averages"] = {n: average[n].norm().item() for n in TRAINED}
        with torch.no_grad():
            found["evaluation"] = loss_of({**w, **average}, x, labels, False).item()
    assert all(math.isfinite(v) for v in found["loss"])
    return found


def cases():
    """Name, part of the spec, rule, and further arguments of `trajectory`."""
    o, k = torch.optim, keras.optimizers
    weights = [n for n in TRAINED if n.endswith("weight") and n != "norm.weight"]
    others = [n for n in TRAINED if n not in weights]
    yield "sgd", "sgd { learning_rate: 0.1 }", torch_rule(o.SGD, lr=0.1)
    yield "sgd-l2", "sgd { learning_rate: 0.1 l2: 0.05 }", torch_rule(o.SGD, lr=0.1, weight_decay=0.05)
    yield ("sgd-decoupled", "sgd { learning_rate: 0.1 weight_decay: 0.05 }",
           keras_rule(k.SGD, learning_rate=0.1, weight_decay=0.05))
    yield ("momentum", "momentum { learning_rate: 0.05 momentum: 0.9 l2: 0.01 }",
           torch_rule(o.SGD, lr=0.05, momentum=0.9, weight_decay=0.01))
    yield ("momentum-nesterov", "momentum { learning_rate: 0.05 momentum: 0.8 nesterov: true l2: 0.01 }",
           torch_rule(o.SGD, lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.01))
    yield ("momentum-dampening", "momentum { learning_rate: 0.1 momentum: 0.9 dampening: 0.5 }",
           torch_rule(o.SGD, lr=0.1, momentum=0.9, dampening=0.5))
    yield ("momentum-keras", "momentum { learning_rate: 0.05 keras: true }", keras_rule(k.SGD, learning_rate=0.05, momentum=0.9))
    yield ("momentum-keras-nesterov", "momentum { learning_rate: 0.05 nesterov: true keras: true weight_decay: 0.1 }",
           keras_rule(k.SGD, learning_rate=0.05, momentum=0.9, nesterov=True, weight_decay=0.1))
    yield "adam", "adam { learning_rate: 0.01 }", torch_rule(o.Adam, lr=0.01)
    yield ("adam-amsgrad", "adam { learning_rate: 0.01 beta1: 0.8 beta2: 0.9 epsilon: 1e-3 l2: 0.05 amsgrad: true }",
           torch_rule(o.Adam, lr=0.01, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.05, amsgrad=True))
    yield ("adam-keras", "adam { learning_rate: 0.01 epsilon: 1e-3 keras: true }",
           keras_rule(k.Adam, learning_rate=0.01, epsilon=1e-3))
    yield ("adam-keras-amsgrad", "adam { learning_rate: 0.01 beta2: 0.9 epsilon: 1e-3 amsgrad: true keras: true }",
           keras_rule(k.Adam, learning_rate=0.01, beta_2=0.9, epsilon=1e-3, amsgrad=True))
    yield "adamw", "adamw { learning_rate: 0.01 weight_decay: 0.1 }", torch_rule(o.AdamW, lr=0.01, weight_decay=0.1)
    yield ("adamw-amsgrad", "adamw { learning_rate: 0.01 beta2: 0.9 amsgrad: true }",
           torch_rule(o.AdamW, lr=0.01, betas=(0.9, 0.9), weight_decay=0.01, amsgrad=True))
    yield ("adamw-keras", "adamw { learning_rate: 0.01 weight_decay: 0.1 epsilon: 1e-3 keras: true }",
           keras_rule(k.AdamW, learning_rate=0.01, weight_decay=0.1, epsilon=1e-3))
    yield "rmsprop", "rmsprop { learning_rate: 0.005 }", torch_rule(o.RMSprop, lr=0.005)
    yield ("rmsprop-momentum", "rmsprop { learning_rate: 0.002 alpha: 0.9 momentum: 0.8 l2: 0.01 epsilon: 1e-4 }",
           torch_rule(o.RMSprop, lr=0.002, alpha=0.9, momentum=0.8, weight_decay=0.01, eps=1e-4))
    yield ("rmsprop-centered", "rmsprop { learning_rate: 0.002 momentum: 0.5 centered: true epsilon: 1e-4 }",
           torch_rule(o.RMSprop, lr=0.002, momentum=0.5, centered=True, eps=1e-4))
    yield ("rmsprop-keras", "rmsprop { learning_rate: 0.002 alpha: 0.9 momentum: 0.5 centered: true epsilon: 1e-5 keras: true }",
           keras_rule(k.RMSprop, learning_rate=0.002, rho=0.9, momentum=0.5, centered=True, epsilon=1e-5))
    yield ("rmsprop-keras-decoupled", "rmsprop { learning_rate: 0.005 alpha: 0.9 epsilon: 1e-7 weight_decay: 0.1 keras: true }",
           keras_rule(k.RMSprop, learning_rate=0.005, rho=0.9, epsilon=1e-7, weight_decay=0.1))
    yield "nadam", "nadam { learning_rate: 0.01 l2: 0.01 }", torch_rule(o.NAdam, lr=0.01, weight_decay=0.01)
    yield ("nadam-decoupled", "nadam { learning_rate: 0.01 beta1: 0.8 beta2: 0.99 momentum_decay: 0.1 weight_decay: 0.1 }",
           torch_rule(o.NAdam, lr=0.01, betas=(0.8, 0.99), momentum_decay=0.1, weight_decay=0.1, decoupled_weight_decay=True))
    yield ("nadam-keras", "nadam { learning_rate: 0.01 momentum_decay: 1 epsilon: 1e-7 }",
           keras_rule(k.Nadam, learning_rate=0.01, epsilon=1e-7))
    yield "adagrad", "adagrad { learning_rate: 0.05 }", torch_rule(o.Adagrad, lr=0.05)
    yield ("adagrad-decay",
           "adagrad { learning_rate: 0.1 learning_rate_decay: 0.05 initial_accumulator: 0.1 epsilon: 1e-3 l2: 0.01 }",
           torch_rule(o.Adagrad, lr=0.1, lr_decay=0.05, initial_accumulator_value=0.1, eps=1e-3, weight_decay=0.01))
    yield ("adagrad-keras", "adagrad { learning_rate: 0.05 initial_accumulator: 0.1 epsilon: 1e-3 weight_decay: 0.1 keras: true }",
           keras_rule(k.Adagrad, learning_rate=0.05, initial_accumulator_value=0.1, epsilon=1e-3, weight_decay=0.1))
    yield "adadelta", "adadelta { l2: 0.01 }", torch_rule(o.Adadelta, lr=1.0, weight_decay=0.01)
    yield ("adadelta-keras", "adadelta { learning_rate: 0.5 rho: 0.8 epsilon: 1e-4 weight_decay: 0.1 }",
           keras_rule(k.Adadelta, learning_rate=0.5, rho=0.8, epsilon=1e-4, weight_decay=0.1))
    yield ("lion", "lion { learning_rate: 0.001 weight_decay: 0.1 }",
           optax_rule(optax.lion(0.001, b1=0.9, b2=0.99, weight_decay=0.1)))
    yield ("lion-keras", "lion { learning_rate: 0.001 beta1: 0.8 beta2: 0.9 }",
           keras_rule(k.Lion, learning_rate=0.001, beta_1=0.8, beta_2=0.9))
    yield "lamb", "lamb { learning_rate: 0.02 }", optax_rule(optax.lamb(0.02))
    yield ("lamb-decay", "lamb { learning_rate: 0.02 beta1: 0.8 beta2: 0.99 epsilon: 1e-3 weight_decay: 0.1 }",
           optax_rule(optax.lamb(0.02, b1=0.8, b2=0.99, eps=1e-3, weight_decay=0.1)))
    yield ("lars", "lars { learning_rate: 0.5 trust_coefficient: 0.02 }",
           optax_rule(optax.lars(0.5, trust_coefficient=0.02)))
    yield ("lars-nesterov", "lars { learning_rate: 0.5 trust_coefficient: 0.02 momentum: 0.8 l2: 0.1 epsilon: 0.01 nesterov: true }",
           optax_rule(optax.lars(0.5, weight_decay=0.1, trust_coefficient=0.02, eps=0.01, momentum=0.8, nesterov=True)))
    vectors = 'group {{ pattern: "norm.*" pattern: "*.bias" optimizer {{ adamw {{ learning_rate: {} }} }} }}'
    adamw = dict(lr=0.01, weight_decay=0.01)
    yield ("muon", "muon { learning_rate: 0.02 } } " + vectors.format(0.01)[:-2], muon_rule(0.02, others=adamw))
    yield ("muon-options", "muon { learning_rate: 0.02 weight_decay: 0.01 momentum: 0.9 nesterov: false coefficients: 2 "
           "coefficients: -1.5 coefficients: 0.5 epsilon: 1e-3 iterations: 3 match_adamw: true } } " + vectors.format(0.01)[:-2],
           muon_rule(0.02, 0.01, 0.9, False, (2, -1.5, 0.5), 1e-3, 3, True, others=adamw))
    w = "adamw { learning_rate: 0.01 weight_decay: 0.1 } } "
    rule = torch_rule(o.AdamW, lr=0.01, weight_decay=0.1)
    yield "clip-value", w + "clip { value: 0.01", rule, dict(clip=clip_values(0.01))
    yield "clip-norm", w + "clip { norm: 0.05", rule, dict(clip=clip_each(0.05))
    yield "clip-global-norm", w + "clip { global_norm: 0.1", rule, dict(clip=clip_all(0.1))
    yield ("groups-decay", w + 'group { pattern: "*.bias" pattern: "norm.*" weight_decay: 0',
           torch_rule(o.AdamW, [{"params": weights}, {"params": others, "weight_decay": 0}], lr=0.01, weight_decay=0.1))
    yield ("groups", w + 'group { pattern: "conv.*" frozen: true } group { pattern: "head.*" learning_rate: 0.1 } '
           'group { pattern: "fc.*" optimizer { momentum { learning_rate: 0.05 } }',
           two_rules(torch_rule(o.AdamW, [{"params": ["norm.weight", "norm.bias"]},
                                          {"params": ["head.weight", "head.bias"], "lr": 0.1}], lr=0.01, weight_decay=0.1),
                     torch_rule(o.SGD, [{"params": ["fc.weight", "fc.bias"]}], lr=0.05, momentum=0.9)),
           dict(frozen=("conv.weight",)))
    cycle = "schedule { one_cycle { cycle_momentum: true "
    yield ("one-cycle-momentum", "momentum { learning_rate: 0.1 nesterov: true l2: 0.01 } } " + cycle + "base_momentum: 0.5 }",
           one_cycle_rule(o.SGD, 0.1, dict(base_momentum=0.5), momentum=0.9, nesterov=True, weight_decay=0.01))
    yield ("one-cycle-adamw", w + cycle + "rise: 0.4 linear: true three_phases: true }",
           one_cycle_rule(o.AdamW, 0.01, dict(pct_start=0.4, anneal_strategy="linear", three_phase=True), weight_decay=0.1))
    yield "ema", w + "ema { decay: 0.9", rule, dict(decay=0.9)
    yield ("ema-clip", w + 'clip { global_norm: 0.1 } group { pattern: "fc.*" learning_rate: 0.1 } ema { decay: 0.99',
           torch_rule(o.AdamW, [{"params": [n for n in TRAINED if not n.startswith("fc")]},
                                {"params": ["fc.weight", "fc.bias"], "lr": 0.1}], lr=0.01, weight_decay=0.1),
           dict(clip=clip_all(0.1), decay=0.99))
    yield "swa", w + "swa { begin: 12 every: 5", rule, dict(swa=(12, 5))
    late = {"conv.weight": 20, "norm.weight": 20, "norm.bias": 20, "fc.bias": 7}
    yield ("unfreeze", w + 'group { pattern: "conv.*" pattern: "norm.*" frozen_until_step: 20 } '
           'group { pattern: "fc.bias" frozen_until_step: 7 } ema { decay: 0.9 } clip { global_norm: 0.1', rule,
           dict(clip=clip_all(0.1), decay=0.9, live_in=lambda k: [n for n in TRAINED if k >= late.get(n, 0)]))
    head, body = ("head.weight", "head.bias", "fc.weight", "fc.bias"), ("conv.weight", "norm.weight", "norm.bias", "fc.weight")
    yield ("blocks", 'adam { learning_rate: 0.01 } } train { name: "head" steps: 2 trains: "head.*" trains: "fc.*" } '
           'train { name: "body" trains: "conv.*" trains: "norm.*" trains: "fc.weight" optimizer { adam { learning_rate: 0.02 } } '
           'group { pattern: "norm.*" learning_rate: 0.05 }',
           by_turns(lambda k, n: 0.01 if k % 3 < 2 else 0.05 if n.startswith("norm") else 0.02),
           dict(live_in=lambda k: head if k % 3 < 2 else body))


def by_turns(rate):
    """Adam with `rate(k, name)` in step k."""
    def make(w):
        optimizer, count = torch.optim.Adam([{"params": [w[n]], "name": n} for n in TRAINED], foreach=False), iter(range(STEPS))

        def step():
            k = next(count)
            for group in optimizer.param_groups:
                group["lr"] = rate(k, group["name"])
            optimizer.step()
        return step
    return make


def two_rules(first, second):
    def make(w):
        steps = first(w), second(w)
        return lambda: [step() for step in steps]
    return make


def main():
    weights = initial_weights()
    save_model(weights)
    random = np.random.default_rng(6)
    data = {"x": random.standard_normal((BATCH * BATCHES, 2, 6, 6)).astype(np.float32),
            "labels": random.integers(0, CLASSES, BATCH * BATCHES)}
    for field, values in data.items():
        np.save(os.path.join(HERE, f"optimizers-{field}.npy"), values)
    check_muon(weights)
    found = {}
    for name, spec, rule, *more in cases():
        found[name] = {"spec": f"optimizer {{ {spec} }}", **trajectory(weights, data, rule, **(more[0] if more else {}))}
        print(f"{name:26} loss {found[name]['loss'][0]:.5f} -> {found[name]['loss'][-1]:.5f}")
    with open(os.path.join(HERE, "optimizers.json"), "w") as file:
        json.dump(found, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
