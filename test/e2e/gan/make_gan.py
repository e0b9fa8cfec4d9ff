"""Makes a small WGAN with gradient penalty in the form of PyTorch's exporter, its data, and PyTorch's results in f64: the losses of 20
cycles of five critic steps and one generator step (expected.json), and the generator's samples afterwards, in evaluation (samples.npy).

Needs numpy, torch and onnx (made with 2.4.6, 2.15.0 and 1.23.2); run it from anywhere.
"""
import json
import os
import sys

import numpy as np
import torch
import torch.nn as nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../networks"))
from differentiated import gradient
from make_networks import strip

BATCH, CRITIC_STEPS, CYCLES = 16, 5, 20
STEPS = CYCLES * (CRITIC_STEPS + 1)


class Gan(nn.Module):
    """Both networks, with the losses of both as outputs. `slope` is the gradient of `score` with respect to `mixed`."""

    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(4, 24, bias=False), nn.BatchNorm1d(24), nn.SiLU(), nn.Linear(24, 2))
        self.critic = nn.Sequential(nn.Linear(2, 20), nn.SiLU(), nn.Linear(20, 20), nn.SiLU(), nn.Linear(20, 1))

    def forward(self, real, noise, share, slope):
        fake = self.generator(noise)
        mixed = share * real + (1 - share) * fake
        score = self.critic(mixed)
        penalty = ((slope.square().sum(1) + 1e-12).sqrt() - 1) ** 2
        scores = self.critic(fake).mean()
        return fake, mixed, score, scores - self.critic(real).mean() + 10 * penalty.mean(), -scores


def make_model():
    """Adds noise to statistics: an exporter would merge equal initializers."""
    torch.manual_seed(3)
    model = Gan()
    with torch.no_grad():
        for value in (*model.parameters(), *(value for name, value in model.named_buffers() if "running" in name)):
            value += 0.05 * torch.randn_like(value)
    return model


def step(model, optimizer, loss, batch):
    """Mixes samples of the same step, so that running statistics change only once."""
    real, noise, share = batch
    kept = {name: value.clone() for name, value in model.named_buffers()}
    with torch.no_grad():
        mixed = share * real + (1 - share) * model.generator(noise)
    for name, value in model.named_buffers():
        value.copy_(kept[name])
    slope = gradient(model.critic(mixed.requires_grad_()), mixed)
    value = model(real, noise, share, slope)[loss]
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
    return float(value.detach())


def trajectory(model, arrays, dtype):
    arrays = [torch.from_numpy(array).to(dtype) for array in arrays]
    model.train()
    critic = torch.optim.Adam(model.critic.parameters(), 0.002, (0.5, 0.9))
    generator = torch.optim.Adam(model.generator.parameters(), 0.004, (0.5, 0.9))
    losses = []
    for i in range(STEPS):
        batch = [array[i * BATCH % len(array):][:BATCH] for array in arrays]
        is_critic = i % (CRITIC_STEPS + 1) < CRITIC_STEPS
        losses.append(step(model, critic if is_critic else generator, 3 if is_critic else 4, batch))
    return losses


def main():
    random = np.random.default_rng(7)
    rows = BATCH * 12
    angle = random.uniform(0, 2 * np.pi, rows)
    real = np.stack([np.cos(angle), np.sin(angle)], 1) + 0.05 * random.standard_normal((rows, 2))
    arrays = {"real": real, "noise": random.standard_normal((rows, 4)), "share": random.uniform(0, 1, (rows, 1))}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    np.savez(os.path.join(HERE, "gan.npz"), **arrays)

    model, inputs = make_model().eval(), [torch.from_numpy(array[:BATCH]) for array in arrays.values()]
    names, outputs = [*arrays, "slope"], ["fake", "mixed", "score", "critic_loss", "generator_loss"]
    path = os.path.join(HERE, "gan.onnx")
    torch.onnx.export(model, (*inputs, torch.zeros(BATCH, 2)), path, dynamo=False, opset_version=17, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE, input_names=names, output_names=outputs,
                      dynamic_axes={value: {0: "N"} for value in (*names, *outputs[:3])})
    strip(path)
    exact = make_model().double()
    losses = trajectory(exact, arrays.values(), torch.float64)
    rounded = trajectory(make_model(), arrays.values(), torch.float32)
    print("PyTorch in f32 is off by", max(abs(a - b) / max(abs(a), 1) for a, b in zip(losses, rounded)))
    with open(os.path.join(HERE, "expected.json"), "w") as file:
        json.dump(losses, file, indent=0)
    samples = exact.eval().generator(torch.from_numpy(arrays["noise"][:BATCH]).double())
    np.save(os.path.join(HERE, "samples.npy"), samples.detach().numpy().astype(np.float32))


main()
