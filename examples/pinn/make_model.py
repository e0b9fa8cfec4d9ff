"""Writes burgers.onnx: a network u(x, t), and the loss that Burgers' equation makes of its derivatives, by PyTorch's own exporter.
Needs torch and onnx (made with 2.15.0 and 1.23.2): python3 make_model.py

An exporter cannot write a derivative. The model takes those that it needs as inputs, `slope` and `curvature`, and the spec says what
they are derivatives of."""
import os

import torch
from torch import nn

WIDTH, VISCOSITY = 24, 0.02


class Burgers(nn.Module):
    """u_t + u u_x = VISCOSITY u_xx at `points` (x, t), and known values at the points `known`: at t = 0 and at both ends."""

    def __init__(self):
        super().__init__()
        layers = [nn.Linear(2, WIDTH), nn.Tanh()]
        for _ in range(3):
            layers += [nn.Linear(WIDTH, WIDTH), nn.Tanh()]
        self.net = nn.Sequential(*layers, nn.Linear(WIDTH, 1))
        for layer in self.net:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_normal_(layer.weight)
                nn.init.normal_(layer.bias, std=1e-3)  # exporters make one initializer of equal ones

    def forward(self, points, known, values, slope, curvature):
        u, slope_x = self.net(points), slope[:, 0]
        residual = slope[:, 1] + u[:, 0] * slope_x - VISCOSITY * curvature[:, 0]
        fit = self.net(known)
        return u, slope_x, fit, (residual ** 2).mean() + ((fit - values) ** 2).mean()


torch.manual_seed(1)
names = ["points", "known", "values", "slope", "curvature"]
torch.onnx.export(Burgers(), tuple(torch.zeros(3, 1 if name == "values" else 2) for name in names),
                  os.path.join(os.path.dirname(os.path.abspath(__file__)), "burgers.onnx"), dynamo=False, opset_version=17,
                  do_constant_folding=False, input_names=names, output_names=["u", "slope_x", "fit", "loss"],
                  dynamic_axes={name: {0: "batch"} for name in names + ["u", "slope_x", "fit"]})
