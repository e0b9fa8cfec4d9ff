"""Networks in their published sizes with random weights, as PyTorch exports them: for inference."""
import os

import torch
import torch.nn as nn
import torchvision.models as vision
import transformers

LENGTH = 64
PAST = 512  # positions before the token of GPT-2 with a cache


class Tokens(nn.Module):
    """One of Hugging Face's models that only take tokens."""

    def __init__(self, model, config):
        super().__init__()
        self.model = model(config(attn_implementation="eager"))

    def forward(self, x):
        return self.model(input_ids=x)[0]


class Gpt(Tokens):
    def __init__(self):
        super().__init__(transformers.GPT2LMHeadModel, transformers.GPT2Config)

    def forward(self, x):
        return self.model(input_ids=x, use_cache=False)[0]


class GptWithCache(Tokens):
    """One token of a text; keys and values of the positions before it are inputs, and of all positions outputs: as in generating text."""

    def __init__(self):
        super().__init__(transformers.GPT2LMHeadModel, transformers.GPT2Config)

    def forward(self, x, *past):
        cache = transformers.DynamicCache()
        for layer, pair in enumerate(zip(past[::2], past[1::2])):
            cache.update(*pair, layer)
        found = self.model(input_ids=x, past_key_values=cache, use_cache=True)
        return found.logits, *(tensor for layer in found.past_key_values.layers for tensor in (layer.keys, layer.values))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1024, 1024, 2, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class UNet(nn.Module):
    """Three levels of two convolutions each, from 16 channels."""

    def __init__(self, channels=16):
        super().__init__()
        widths = [channels << level for level in range(4)]

        def pair(inputs, outputs):
            layers = []
            for i in (inputs, outputs):
                layers += [nn.Conv2d(i, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
            return nn.Sequential(*layers)

        self.down = nn.ModuleList(pair(i, o) for i, o in zip([3] + widths, widths))
        self.larger = nn.ModuleList(nn.ConvTranspose2d(i, o, 2, 2) for i, o in zip(widths[:0:-1], widths[-2::-1]))
        self.up = nn.ModuleList(pair(2 * o, o) for o in widths[-2::-1])
        self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(channels, 4, 1)

    def forward(self, x):
        kept = []
        for i, level in enumerate(self.down):
            x = level(self.pool(x) if i else x)
            kept.append(x)
        for larger, level, skipped in zip(self.larger, self.up, kept[-2::-1]):
            x = level(torch.cat([larger(x), skipped], 1))
        return self.head(x)


def pictures(rows, size=224):
    return torch.randn(rows, 3, size, size)


def tokens(rows, length=LENGTH):
    return torch.randint(1, 30522, (rows, length))


def token_and_past(rows):
    return tokens(rows, 1), *(torch.randn(rows, 12, PAST, 64) for _ in range(24))


NETWORKS = {
    "ResNet-18": (vision.resnet18, pictures),
    "ResNet-50": (vision.resnet50, pictures),
    "VGG-11": (vision.vgg11, pictures),
    "SqueezeNet": (vision.squeezenet1_1, pictures),
    "MobileNetV2": (vision.mobilenet_v2, pictures),
    "DenseNet-121": (vision.densenet121, pictures),
    "EfficientNet-B0": (vision.efficientnet_b0, pictures),
    "ConvNeXt-T": (vision.convnext_tiny, pictures),
    "Swin-T": (vision.swin_t, pictures),
    "ViT-B/16": (vision.vit_b_16, pictures),
    "Inception-v3": (lambda: vision.inception_v3(init_weights=False), lambda rows: pictures(rows, 299)),
    "U-Net": (UNet, lambda rows: pictures(rows, 128)),
    "GPT-2": (Gpt, tokens),
    "GPT-2 with cache": (GptWithCache, token_and_past),
    "BERT-base": (lambda: Tokens(transformers.BertModel, transformers.BertConfig), tokens),
    "DistilBERT": (lambda: Tokens(transformers.DistilBertModel, transformers.DistilBertConfig), tokens),
    "LSTM": (Lstm, lambda rows: torch.randn(rows, LENGTH, 1024)),
}


def make_model(name):
    """Replaces statistics and weights that start as 0 or 1 by other values, as if the network had been trained."""
    torch.manual_seed(1)
    model = NETWORKS[name][0]().eval()
    with torch.no_grad():
        for value in (*model.parameters(), *(v for key, v in model.named_buffers() if "running" in key)):
            if value.min() == value.max():
                value += 0.05 * torch.rand_like(value)
    return model


def shape_options(given):
    """The options of gradc that bind the shapes of inputs by name."""
    return [part for name, array in given.items() for part in ("--shape", f"{name}={'x'.join(map(str, array.shape))}")]


def export(name, folder, rows, half=False):
    """Exports by tracing, like most users; GPT-2 of whole texts, which that exporter does not support, by torch.export. Returns the file and
    the inputs by name; the first output is y. `half`: floats are f16."""
    model, given = make_model(name), NETWORKS[name][1](rows)
    given = given if isinstance(given, tuple) else (given,)
    if half:
        model, given = model.half(), tuple(value.half() if value.is_floating_point() else value for value in given)
    more = range(1, len(given))
    inputs, outputs = ["x", *(f"past.{i}" for i in more)], ["y", *(f"present.{i}" for i in more)]
    path = os.path.join(folder, "model.onnx")
    if name == "GPT-2":
        torch.onnx.export(model, given, path, dynamo=True, external_data=False, verbose=False, input_names=inputs, output_names=outputs,
                          dynamic_shapes=({0: torch.export.Dim("N", min=1, max=4096)},))
    else:
        torch.onnx.export(model, given, path, dynamo=False, opset_version=17, input_names=inputs, output_names=outputs,
                          dynamic_axes={name: {0: "N"} for name in inputs + outputs})
    return path, {name: tensor.numpy() for name, tensor in zip(inputs, given)}
