"""The measured models. Each has its parameters, and a forward pass written once over an adapter `o` of operations: one adapter per peer
(peer_*.py), and one that writes ONNX (onnx_export.py).

A forward pass is called as forward(o, p, s, x, training): parameters and statistics by name, pictures NCHW or as the adapter
keeps them. Adapters offer relu, gelu, dense(x, w, b), conv(x, w, b or None, stride, padding, groups), maxpool(x, size,
stride, padding), batchnorm(x, p, s, name, training), mean_pixels, flatten, layernorm(x, g, b), embed(w, i), unembed(x, w) with
an embedding, reshape, split3, swap12, attention(q, k, v, causal).
"""
import math
from typing import NamedTuple


class Parameter(NamedTuple):
    name: str
    kind: str  # dense [in, out], flatCxHxW (dense after a flatten), conv OIHW, vector, embedding
    shape: tuple
    init: object  # a standard deviation, or "zero" or "one"


class Parameters:
    def __init__(self):
        self.trained, self.statistics = [], []

    def dense(self, name, inputs, outputs, kind="dense", deviation=None):
        deviation = deviation or math.sqrt(2 / inputs)
        self.trained += [Parameter(f"{name}_w", kind, (inputs, outputs), deviation),
                         Parameter(f"{name}_b", "vector", (outputs,), "zero")]

    def conv(self, name, inputs, outputs, size, bias=True, groups=1):
        shape = (outputs, inputs // groups, size, size)
        self.trained.append(Parameter(f"{name}_w", "conv", shape, math.sqrt(2 / (shape[1] * size * size))))
        if bias:
            self.trained.append(Parameter(f"{name}_b", "vector", (outputs,), "zero"))

    def norm(self, name, channels):
        self.trained += [Parameter(f"{name}_g", "vector", (channels,), "one"),
                         Parameter(f"{name}_b", "vector", (channels,), "zero")]

    def batchnorm(self, name, channels):
        self.norm(name, channels)
        self.statistics += [Parameter(f"{name}_rm", "vector", (channels,), "zero"),
                            Parameter(f"{name}_rv", "vector", (channels,), "one")]

    def embedding(self, name, entries, width):
        self.trained.append(Parameter(name, "embedding", (entries, width), 0.02))


def mlp(widths):
    parameters, layers = Parameters(), len(widths) - 1
    for i in range(layers):
        parameters.dense(f"fc{i}", widths[i], widths[i + 1])

    def forward(o, p, s, x, training):
        for i in range(layers):
            x = o.dense(x, p[f"fc{i}_w"], p[f"fc{i}_b"])
            if i < layers - 1:
                x = o.relu(x)
        return x

    return parameters, forward


def cnn(channels=(32, 32, 64, 64), size=32, hidden=512, classes=10):
    """conv, conv, pool, conv, conv, pool, dense, dense: on pictures of size x size."""
    parameters, inputs = Parameters(), 3
    for i, outputs in enumerate(channels, 1):
        parameters.conv(f"c{i}", inputs, outputs, 3)
        inputs = outputs
    left = size // 4
    parameters.dense("fc1", inputs * left * left, hidden, kind=f"flat{inputs}x{left}x{left}")
    parameters.dense("fc2", hidden, classes, deviation=0.02)

    def forward(o, p, s, x, training):
        for i in range(1, 5):
            x = o.relu(o.conv(x, p[f"c{i}_w"], p[f"c{i}_b"], 1, 1))
            if i % 2 == 0:
                x = o.maxpool(x, 2, 2, 0)
        x = o.relu(o.dense(o.flatten(x), p["fc1_w"], p["fc1_b"]))
        return o.dense(x, p["fc2_w"], p["fc2_b"])

    return parameters, forward


def resnet18(width=64, classes=1000):
    parameters, blocks, inputs = Parameters(), [], width
    parameters.conv("conv1", 3, width, 7, bias=False)
    parameters.batchnorm("bn1", width)
    for stage in range(4):
        outputs = width << stage
        for index in range(2):
            name, stride = f"l{stage}b{index}", 2 if stage and not index else 1
            parameters.conv(f"{name}c1", inputs, outputs, 3, bias=False)
            parameters.batchnorm(f"{name}n1", outputs)
            parameters.conv(f"{name}c2", outputs, outputs, 3, bias=False)
            parameters.batchnorm(f"{name}n2", outputs)
            projects = stride != 1 or inputs != outputs
            if projects:
                parameters.conv(f"{name}cd", inputs, outputs, 1, bias=False)
                parameters.batchnorm(f"{name}nd", outputs)
            blocks.append((name, stride, projects))
            inputs = outputs
    parameters.dense("fc", inputs, classes, deviation=math.sqrt(1 / inputs))

    def forward(o, p, s, x, training):
        def conv_norm(x, conv, norm, stride, padding):
            return o.batchnorm(o.conv(x, p[f"{conv}_w"], None, stride, padding), p, s, norm, training)

        x = o.maxpool(o.relu(conv_norm(x, "conv1", "bn1", 2, 3)), 3, 2, 1)
        for name, stride, projects in blocks:
            y = o.relu(conv_norm(x, f"{name}c1", f"{name}n1", stride, 1))
            y = conv_norm(y, f"{name}c2", f"{name}n2", 1, 1)
            if projects:
                x = conv_norm(x, f"{name}cd", f"{name}nd", stride, 0)
            x = o.relu(x + y)
        return o.dense(o.mean_pixels(x), p["fc_w"], p["fc_b"])

    return parameters, forward


def separable(classes=10):
    """Alternating depthwise 3x3 and pointwise 1x1 convolutions, each with batch normalization."""
    parameters, blocks = Parameters(), [("b1", 32, 64, 1), ("b2", 64, 128, 2), ("b3", 128, 128, 1)]

    def declare(name, inputs, outputs, size, groups=1):
        parameters.conv(f"{name}c", inputs, outputs, size, bias=False, groups=groups)
        parameters.batchnorm(f"{name}n", outputs)

    declare("stem", 3, 32, 3)
    for name, inputs, outputs, _ in blocks:
        declare(f"{name}d", inputs, inputs, 3, groups=inputs)
        declare(f"{name}p", inputs, outputs, 1)
    parameters.dense("fc", 128, classes)

    def forward(o, p, s, x, training):
        def layer(x, name, stride, padding, groups=1):
            x = o.conv(x, p[f"{name}c_w"], None, stride, padding, groups)
            return o.relu(o.batchnorm(x, p, s, f"{name}n", training))

        x = layer(x, "stem", 1, 1)
        for name, inputs, outputs, stride in blocks:
            x = layer(layer(x, f"{name}d", stride, 1, groups=inputs), f"{name}p", 1, 0)
        return o.dense(o.mean_pixels(x), p["fc_w"], p["fc_b"])

    return parameters, forward


def gpt(layers, width, heads, length, vocabulary, tied=False):
    """A decoder with learned positions, norms before attention and MLP, and GELU. The head has weights of its own, or is the embedding."""
    parameters, small = Parameters(), 0.02 / math.sqrt(2 * layers)
    parameters.embedding("wte", vocabulary, width)
    parameters.embedding("wpe", length, width)
    for i in range(layers):
        parameters.norm(f"h{i}ln1", width)
        parameters.dense(f"h{i}qkv", width, 3 * width, deviation=0.02)
        parameters.dense(f"h{i}o", width, width, deviation=small)
        parameters.norm(f"h{i}ln2", width)
        parameters.dense(f"h{i}up", width, 4 * width, deviation=0.02)
        parameters.dense(f"h{i}dn", 4 * width, width, deviation=small)
    parameters.norm("lnf", width)
    if not tied:
        parameters.dense("head", width, vocabulary, deviation=0.02)

    def forward(o, p, s, x, training):
        batch = int(x.shape[0])

        def dense(x, name):
            return o.dense(x, p[f"{name}_w"], p[f"{name}_b"])

        def norm(x, name):
            return o.layernorm(x, p[f"{name}_g"], p[f"{name}_b"])

        def split_heads(x):
            return o.swap12(o.reshape(x, (batch, length, heads, width // heads)))

        h = o.embed(p["wte"], x) + p["wpe"]
        for i in range(layers):
            q, k, v = (split_heads(x) for x in o.split3(dense(norm(h, f"h{i}ln1"), f"h{i}qkv")))
            attended = o.reshape(o.swap12(o.attention(q, k, v, True)), (batch, length, width))
            h = h + dense(attended, f"h{i}o")
            h = h + dense(o.gelu(dense(norm(h, f"h{i}ln2"), f"h{i}up")), f"h{i}dn")
        h = norm(h, "lnf")
        return o.unembed(h, p["wte"]) if tied else dense(h, "head")

    return parameters, forward
