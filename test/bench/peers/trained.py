"""Networks to train that gradc was not tuned for, as PyTorch exports them: forms, batches, optimizers."""
import functools
import os
from dataclasses import dataclass
from typing import Callable

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision.models as vision
import transformers

from networks import UNet

from workloads import BATCHES
SGD, ADAM, ADAMW = "SGD", "Adam", "AdamW"


@dataclass
class Form:
    model: Callable
    shape: tuple  # of a batch
    classes: int
    optimizer: str = SGD  # with momentum 0.9
    vocabulary: int = 0  # the input's are tokens
    labels: tuple = ()  # behind the rows: labels of positions or pixels


class PixelLabels(nn.Module):
    """Logits per pixel, [N, H, W, classes]."""

    def __init__(self):
        super().__init__()
        self.net = UNet()

    def forward(self, x):
        return self.net(x).permute(0, 2, 3, 1)


class Tagger(nn.Module):
    """BERT's encoder with logits per token."""

    def __init__(self, vocabulary=8192, width=256, classes=32):
        super().__init__()
        config = transformers.BertConfig(vocab_size=vocabulary, hidden_size=width, num_hidden_layers=4, num_attention_heads=4,
                                         intermediate_size=4 * width, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                         attn_implementation="sdpa")
        self.bert = transformers.BertModel(config, add_pooling_layer=False)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.bert(input_ids=x)[0])


class LanguageModel(nn.Module):
    """GPT-2 with 124 million parameters, the embedding tied to the head: logits of each next token."""

    def __init__(self):
        super().__init__()
        config = transformers.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False, attn_implementation="sdpa")
        self.gpt = transformers.GPT2LMHeadModel(config)

    def forward(self, x):
        return self.gpt(input_ids=x).logits


class SequenceClassifier(nn.Module):
    def __init__(self, width=256, classes=10):
        super().__init__()
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class ShuffleUnit(nn.Module):
    """ShuffleNet's block: grouped 1x1 convolutions around a depthwise one, with channels shuffled between groups."""

    def __init__(self, inputs, outputs, stride, groups=3):
        super().__init__()
        middle, added = outputs // 4, outputs - inputs if stride == 2 else outputs
        first = 1 if inputs == 24 else groups
        self.groups, self.stride = groups, stride
        self.reduce = nn.Sequential(nn.Conv2d(inputs, middle, 1, groups=first, bias=False), nn.BatchNorm2d(middle), nn.ReLU())
        self.depthwise = nn.Sequential(nn.Conv2d(middle, middle, 3, stride, 1, groups=middle, bias=False), nn.BatchNorm2d(middle))
        self.expand = nn.Sequential(nn.Conv2d(middle, added, 1, groups=groups, bias=False), nn.BatchNorm2d(added))
        self.pool = nn.AvgPool2d(3, 2, 1)

    def forward(self, x):
        y = self.reduce(x)
        y = y.unflatten(1, (self.groups, -1)).transpose(1, 2).flatten(1, 2)
        y = self.expand(self.depthwise(y))
        return torch.relu(torch.cat([self.pool(x), y], 1) if self.stride == 2 else x + y)


def shuffle_net():
    layers, width = [nn.Conv2d(3, 24, 3, 2, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU()], 24
    for outputs, units in ((240, 4), (480, 8), (960, 4)):
        for unit in range(units):
            layers.append(ShuffleUnit(width, outputs, 1 if unit else 2))
            width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def perceptron(widths, activation):
    layers = [layer for i, o in zip(widths, widths[1:]) for layer in (nn.Linear(i, o), activation())]
    return nn.Sequential(*layers[:-1])


class ClickModel(nn.Module):
    """The rows of 26 categories in one table, one after another, then a perceptron."""

    def __init__(self, categories=20000, width=16, fields=26, classes=10):
        super().__init__()
        self.table = nn.Embedding(categories, width)
        self.net = perceptron((width * fields, 512, 256, classes), nn.ReLU)

    def forward(self, x):
        return self.net(self.table(x).flatten(1))


class GraphAttention(nn.Module):
    """Two layers of attention between the nodes of a graph with random edges: a softmax per target, by scatters."""

    def __init__(self, nodes=2048, edges=16384, features=64, width=32, heads=4, classes=10):
        super().__init__()
        random = torch.Generator().manual_seed(3)
        self.heads = heads
        for end in ("source", "target"):
            self.register_buffer(end, torch.randint(0, nodes, (edges,), generator=random))
        self.inner = nn.ModuleList(nn.Linear(i, heads * width, bias=False) for i in (features, heads * width))
        self.scores = nn.ParameterList(torch.randn(2, heads, width) * 0.1 for _ in self.inner)
        self.head = nn.Linear(heads * width, classes)

    def forward(self, x):
        for inner, score in zip(self.inner, self.scores):
            h = inner(x).unflatten(1, (self.heads, -1))
            of_source, of_target = ((h * part).sum(-1) for part in score)
            scores = F.leaky_relu(of_source[self.source] + of_target[self.target], 0.2)
            each = self.target[:, None].expand_as(scores)
            most = torch.full_like(of_target, -1e30).scatter_reduce(0, each, scores, "amax")
            weights = torch.exp(scores - most[self.target])
            total = torch.zeros_like(of_target).scatter_add(0, each, weights)
            message = h[self.source] * (weights / total[self.target])[..., None]
            x = F.elu(torch.zeros_like(h).scatter_add(0, each[..., None].expand_as(message), message).flatten(1))
        return self.head(x)


def convolutions(dims, widths, classes):
    """Convolutions of size 3 in any number of dims, each followed by batch norm and a pool."""
    conv, norm, pool = (getattr(nn, f"{name}{dims}d") for name in ("Conv", "BatchNorm", "MaxPool"))
    layers = [layer for i, o in zip(widths, widths[1:]) for layer in (conv(i, o, 3, padding=1), norm(o), nn.ReLU(), pool(2))]
    return nn.Sequential(*layers, getattr(nn, f"AdaptiveAvgPool{dims}d")(1), nn.Flatten(), nn.Linear(widths[-1], classes))


def resnet18():
    return vision.resnet18(num_classes=10)


def convnext():
    settings = [vision.convnext.CNBlockConfig(i, o, n) for i, o, n in ((64, 128, 2), (128, 256, 2), (256, None, 2))]
    return vision.ConvNeXt(settings, stochastic_depth_prob=0.0, num_classes=10)


FORMS = {
    "VGG-11": Form(lambda: vision.vgg11_bn(num_classes=10, dropout=0.0), (20, 3, 64, 64), 10),
    "ResNet-50": Form(lambda: vision.resnet50(num_classes=10), (8, 3, 128, 128), 10),
    "ResNet-18 at 224": Form(resnet18, (4, 3, 224, 224), 10),
    "ResNet-18 of one": Form(resnet18, (1, 3, 64, 64), 10),
    "ResNet-18 of two": Form(resnet18, (2, 3, 64, 64), 10),
    "DenseNet": Form(lambda: vision.DenseNet(12, (6, 6, 6), 24, num_classes=10), (24, 3, 64, 64), 10),
    "ConvNeXt": Form(convnext, (8, 3, 112, 112), 10, ADAMW),
    "U-Net": Form(PixelLabels, (4, 3, 128, 128), 4, ADAM, labels=(128, 128)),
    "ViT": Form(lambda: vision.VisionTransformer(64, 8, 6, 6, 192, 768, num_classes=10), (16, 3, 64, 64), 10, ADAMW),
    "BERT": Form(Tagger, (8, 128), 32, ADAMW, vocabulary=8192, labels=(128,)),
    "GPT-2": Form(LanguageModel, (4, 256), 50257, ADAMW, vocabulary=50257, labels=(256,)),
    "LSTM": Form(SequenceClassifier, (32, 64, 256), 10, ADAM),
    "click model": Form(ClickModel, (512, 26), 10, ADAM, vocabulary=20000),
    "graph attention": Form(GraphAttention, (2048, 64), 10, ADAM),
    "wide MLP": Form(lambda: perceptron((4096, 4096, 4096, 10), nn.ReLU), (256, 4096), 10, ADAMW),
    "skinny MLP": Form(lambda: perceptron((16, 64, 64, 64, 10), nn.Tanh), (8192, 16), 10, ADAM),
    "60-layer MLP": Form(lambda: perceptron((64,) * 60 + (10,), nn.ReLU), (64, 64), 10, ADAM),
    "1-D convolutions": Form(lambda: convolutions(1, (8, 64, 64, 128), 10), (32, 8, 512), 10, ADAM),
    "3-D convolutions": Form(lambda: convolutions(3, (4, 32, 64), 10), (8, 4, 16, 16, 16), 10, ADAM),
    "ShuffleNet": Form(shuffle_net, (16, 3, 64, 64), 10),
}


def make_model(name):
    torch.manual_seed(1)
    return FORMS[name].model().train()


@functools.cache
def batches(name):
    """(x [BATCHES, *shape], labels [BATCHES, rows, ...])"""
    form, random = FORMS[name], np.random.default_rng(7)
    shape = (BATCHES, *form.shape)
    x = random.integers(0, form.vocabulary, shape) if form.vocabulary else random.standard_normal(shape).astype(np.float32)
    return x, random.integers(0, form.classes, (*shape[:2], *form.labels))


def make_optimizer(name, parameters):
    rule = FORMS[name].optimizer
    if rule == SGD:
        return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, fused=True)
    return getattr(torch.optim, rule)(parameters, lr=1e-4, fused=True, **({"weight_decay": 0.01} if rule == ADAMW else {}))


RULES = {SGD: "momentum { learning_rate: 0.001  momentum: 0.9 }", ADAM: "adam { learning_rate: 0.0001 }",
         ADAMW: "adamw { learning_rate: 0.0001  weight_decay: 0.01 }"}


def write_job(name, folder):
    """Writes the model as PyTorch exports it, the batches, and the training spec; returns the spec's path."""
    form, (x, labels) = FORMS[name], batches(name)
    torch.onnx.export(make_model(name), (torch.from_numpy(x[0]),), os.path.join(folder, "model.onnx"), dynamo=True, optimize=False,
                      input_names=["x"], output_names=["logits"], external_data=False, verbose=False)
    rows = BATCHES * form.shape[0]
    np.savez(os.path.join(folder, "data.npz"), x=x.reshape(rows, *form.shape[1:]), labels=labels.reshape(rows, *form.labels))
    spec = os.path.join(folder, "train.textproto")
    with open(spec, "w") as file:
        file.write(f"""model: "model.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ {RULES[form.optimizer]} }}
data {{
  source {{ npz {{ path: "data.npz" }} }}
  stage {{ batch {{ size: {form.shape[0]}  drop_remainder: true }} }}
}}
""")
    return spec
