"""Small networks over pictures: ViT, Swin, and MobileNetV2 from torchvision, a U-Net with transposed convolutions, and a VAE."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import MobileNetV2, SwinTransformer, VisionTransformer

CLASSES = 7


def make_vit():
    """Four patches of 6 x 6 and a class token."""
    return VisionTransformer(image_size=12, patch_size=6, num_layers=2, num_heads=2, hidden_dim=22, mlp_dim=36, num_classes=CLASSES)


def make_swin():
    """Windows of 3 x 3, shifted in every second block, over 6 x 6 patches, which are merged once."""
    return SwinTransformer(patch_size=[2, 2], embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=[3, 3], mlp_ratio=2,
                           stochastic_depth_prob=0, num_classes=CLASSES)


def make_mobilenet():
    """Inverted residuals with depthwise convolutions, batch norms, and ReLU6; its last convolution has 40 channels instead of 1,280."""
    net = MobileNetV2(num_classes=CLASSES, width_mult=0.25, inverted_residual_setting=[[1, 4, 1, 1], [6, 24, 2, 2], [6, 32, 1, 2]], dropout=0)
    features = list(net.features)
    last = features[-1][0].in_channels
    features[-1] = nn.Sequential(nn.Conv2d(last, 40, 1, bias=False), nn.BatchNorm2d(40), nn.ReLU6(inplace=True))
    net.features, net.classifier = nn.Sequential(*features), nn.Sequential(nn.Dropout(0), nn.Linear(40, CLASSES))
    return net


def twice(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.SiLU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())


class UNet(nn.Module):
    """Two halvings down and two up again, with skips: a score per pixel."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.bottom = twice(3, 7), twice(7, 12), twice(12, 18)
        self.up2, self.up1 = nn.ConvTranspose2d(18, 12, 2, stride=2), nn.ConvTranspose2d(12, 7, 4, stride=2, padding=1)
        self.left2, self.left1 = twice(24, 12), twice(14, 7)
        self.out = nn.Conv2d(7, 1, 1)

    def forward(self, x):
        first = self.first(x)
        second = self.second(F.max_pool2d(first, 2))
        x = self.bottom(F.max_pool2d(second, 2))
        x = self.left2(torch.cat([second, self.up2(x)], 1))
        x = self.left1(torch.cat([first, self.up1(x)], 1))
        return self.out(x)


class Vae(nn.Module):
    """The loss is its second output: that of the picture, and the divergence of the code from a normal distribution. Noise is an input."""

    def __init__(self, code=6):
        super().__init__()
        self.reads = nn.Sequential(nn.Conv2d(3, 6, 3, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(216, 30), nn.Tanh())
        self.mean, self.log_variance = nn.Linear(30, code), nn.Linear(30, code)
        self.writes = nn.Sequential(nn.Linear(code, 216), nn.ReLU(), nn.Unflatten(1, (6, 6, 6)),
                                    nn.ConvTranspose2d(6, 3, 3, stride=2, padding=1, output_padding=1))

    def forward(self, x, noise):
        hidden = self.reads(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        picture = self.writes(mean + noise * torch.exp(0.5 * log_variance))
        apart = F.binary_cross_entropy_with_logits(picture, torch.sigmoid(x), reduction="none").sum((1, 2, 3))
        divergence = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum(1)
        return picture, (apart + divergence).mean()
