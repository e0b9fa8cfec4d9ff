"""Small networks whose loss contains gradients: a physics-informed network, and the critic of a WGAN with gradient penalty. `forward` takes
the gradients as inputs, which the spec's blocks `gradients` feed; `differentiated` takes no gradients."""
import torch
import torch.nn as nn


def gradient(y, x):
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


class Burgers(nn.Module):
    """Burgers' equation, u_t + u u_x = 0.01 u_xx / pi, at some points (x, t), and known values at others."""

    def __init__(self, width=20):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, points, known, values, slope, curvature):
        u, slope_x = self.net(points), slope[:, 0]
        residual = slope[:, 1] + u[:, 0] * slope_x - 0.01 / torch.pi * curvature[:, 0]
        return u, slope_x, (residual ** 2).mean() + ((self.net(known)[:, 0] - values) ** 2).mean()

    def differentiated(self, points, known, values):
        points = points.detach().requires_grad_()
        slope = gradient(self.net(points), points)
        return self(points, known, values, slope, gradient(slope[:, 0], points))


class Critic(nn.Module):
    """Scores of real and fake pictures; the slope at mixtures of both should be 1."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 7, 3, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(7, 9, 3, stride=2, padding=1),
                                 nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(81, 1))

    def mix(self, real, fake, share):
        share = share.reshape(-1, 1, 1, 1)
        return share * real + (1 - share) * fake

    def forward(self, real, fake, share, slope):
        mixed = self.mix(real, fake, share)
        penalty = ((slope.flatten(1).square().sum(1) + 1e-12).sqrt() - 1) ** 2
        return mixed, self.net(mixed), self.net(fake).mean() - self.net(real).mean() + 10 * penalty.mean()

    def differentiated(self, real, fake, share):
        mixed = self.mix(real, fake, share).detach().requires_grad_()
        return self(real, fake, share, gradient(self.net(mixed), mixed))
