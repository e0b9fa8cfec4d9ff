"""Writes points.npz, where the equation is to hold and where u is known, and exact.npz, where it is known on a grid: the solution by Cole and
Hopf's formula.
Needs numpy: python3 make_data.py"""
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
POINTS, VISCOSITY = 4096, 0.02


def initial(x):
    return -np.sin(np.pi * x)


def solution(x, t):
    """Burgers' equation is transformed to the heat equation, whose solution is an integral, computed by Gauss-Hermite quadrature."""
    places, weights = np.polynomial.hermite.hermgauss(100)
    y = x[..., None] - np.sqrt(4 * VISCOSITY * t[..., None]) * places
    logarithm = -np.cos(np.pi * y) / (2 * np.pi * VISCOSITY)
    heat = weights * np.exp(logarithm - logarithm.max(-1, keepdims=True))
    return -(heat * np.sin(np.pi * y)).sum(-1) / heat.sum(-1)


random = np.random.default_rng(1)
points = np.stack([random.uniform(-1, 1, POINTS), random.uniform(0, 1, POINTS)], 1)
# Half of the known values are those at t = 0, the others 0 at both ends.
starts = random.random(POINTS) < 0.5
known = np.where(starts[:, None], np.stack([random.uniform(-1, 1, POINTS), np.zeros(POINTS)], 1),
                 np.stack([random.choice([-1.0, 1.0], POINTS), random.uniform(0, 1, POINTS)], 1))
values = np.where(starts, initial(known[:, 0]), 0)[:, None]
single = lambda array: array.astype(np.float32)
np.savez_compressed(os.path.join(HERE, "points.npz"), points=single(points), known=single(known), values=single(values))

x, t = np.meshgrid(np.linspace(-1, 1, 41), np.linspace(0.05, 0.95, 19))
grid = np.stack([x.ravel(), t.ravel()], 1)
np.savez_compressed(os.path.join(HERE, "exact.npz"), points=single(grid), known=single(grid),
                    values=single(solution(grid[:, 0], grid[:, 1]))[:, None])
