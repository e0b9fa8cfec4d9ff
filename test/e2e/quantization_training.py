"""Training for quantization: losses of a perceptron against a reference in Python; what the exported model holds and computes, with
batch normalization folded, for weights alone, and with the operands of additions; the same bits after a resume; and what is refused.

    quantization_training.py
"""
import array
import math
import random
import subprocess

from case import expect, path
from bar import events, gradc, program, read_npy, read_safetensors, run, write_npy
from onnx_writer import FLOAT, INT64, Model, fields

ROWS, BATCH, STEPS, RATE, MOMENTUM = 24, 6, 12, 0.2, 0.8
INPUTS, HIDDEN, CLASSES = 5, 9, 3
numbers = random.Random(11)


def draws(count, deviation=1.0):
    return list(array.array("f", (numbers.gauss(0, deviation) for _ in range(count))))


def tables(values, columns):
    return [values[i:i + columns] for i in range(0, len(values), columns)]


WEIGHTS = {"fc1.weight": draws(HIDDEN * INPUTS, 0.6), "fc1.bias": draws(HIDDEN, 0.3), "fc2": draws(HIDDEN * CLASSES, 0.5)}
ROWS_IN, LABELS = draws(ROWS * INPUTS), [numbers.randrange(CLASSES) for _ in range(ROWS)]


def save_perceptron(opset=19):
    model = Model("perceptron", opset=opset)
    x = model.input("x", FLOAT, ["N", INPUTS])
    model.initializer("fc1.weight", FLOAT, [HIDDEN, INPUTS], WEIGHTS["fc1.weight"])
    model.initializer("fc1.bias", FLOAT, [HIDDEN], WEIGHTS["fc1.bias"])
    model.initializer("fc2", FLOAT, [HIDDEN, CLASSES], WEIGHTS["fc2"])
    h = model.node("Relu", [model.node("Gemm", [x, "fc1.weight", "fc1.bias"], ["a"], "fc1", transB=1)], ["h"], "relu")
    model.output(model.node("MatMul", [h, "fc2"], ["logits"], "fc2"), FLOAT, ["N", CLASSES])
    model.save(path("model.onnx"))


def spec(name, more, field="x", steps=STEPS):
    with open(path(name + ".textproto"), "w") as file:
        file.write(f"""model: "model.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ sgd {{ learning_rate: {RATE} }} }}
data {{ source {{ npy {{ field {{ name: "{field}"  path: "{field}.npy" }} field {{ name: "labels"  path: "labels.npy" }} }} }}
  stage {{ batch {{ size: {BATCH} }} }} }}
steps: {steps}
{more}
""")
    return path(name + ".textproto")


def train(name, more, *options, **how):
    """The trainer, and the losses of its steps."""
    gradc("compile", spec(name, more, **how), "-o", path(name))
    return path(name), losses(name, *options)


def losses(name, *options):
    run(path(name), "--data-dir", path("."), "--log", path("log.jsonl"), "--export", path(name + ".onnx"), "--quiet", *options)
    return [event["loss"] for event in events(path("log.jsonl"), "step")]



class Reference:
    """The perceptron in f64, with rounded weights and activations and straight-through gradients."""

    def __init__(self):
        self.weights = {name: list(values) for name, values in WEIGHTS.items()}
        self.ranges = {}

    def activation(self, name, rows):
        """The rounded rows, and whether each element is in range."""
        low, high = min(0.0, min(map(min, rows))), max(0.0, max(map(max, rows)))
        if name in self.ranges:
            old = self.ranges[name]
            low, high = (MOMENTUM * old[0] + (1 - MOMENTUM) * low, MOMENTUM * old[1] + (1 - MOMENTUM) * high)
        self.ranges[name] = low, high
        scale = (high - low) / 255
        zero = round(-low / scale)
        codes = [[round(x / scale) + zero for x in row] for row in rows]
        rounded = [[(min(max(c, 0), 255) - zero) * scale for c in row] for row in codes]
        return rounded, [[0 <= x / scale + zero <= 255 for x in row] for row in rows]

    def rounded(self, name, channel, channels):
        """A weight; `channel(i)` is that of element i."""
        values, scales = self.weights[name], [0.0] * channels
        for i, w in enumerate(values):
            scales[channel(i)] = max(scales[channel(i)], abs(w) / 127)
        return [round(w / scales[channel(i)]) * scales[channel(i)] for i, w in enumerate(values)]

    def step(self, x, labels):
        w1 = tables(self.rounded("fc1.weight", lambda i: i // INPUTS, HIDDEN), INPUTS)
        w2 = tables(self.rounded("fc2", lambda i: i % CLASSES, CLASSES), CLASSES)
        x, _ = self.activation("x", x)
        a = [[sum(p * q for p, q in zip(row, w)) + b for w, b in zip(w1, self.weights["fc1.bias"])] for row in x]
        h, inside = self.activation("h", [[max(v, 0.0) for v in row] for row in a])
        loss, da, dw1 = 0.0, [], [0.0] * (HIDDEN * INPUTS)
        db, dw2 = [0.0] * HIDDEN, [0.0] * (HIDDEN * CLASSES)
        for i, label in enumerate(labels):
            logits = [sum(h[i][k] * w2[k][c] for k in range(HIDDEN)) for c in range(CLASSES)]
            total = sum(map(math.exp, logits))
            loss += (math.log(total) - logits[label]) / len(labels)
            d = [(math.exp(v) / total - (c == label)) / len(labels) for c, v in enumerate(logits)]
            for k in range(HIDDEN):
                dh = sum(d[c] * w2[k][c] for c in range(CLASSES)) * inside[i][k] * (a[i][k] > 0)
                db[k] += dh
                for c in range(CLASSES):
                    dw2[k * CLASSES + c] += h[i][k] * d[c]
                for j in range(INPUTS):
                    dw1[k * INPUTS + j] += dh * x[i][j]
        for name, gradient in (("fc1.weight", dw1), ("fc1.bias", db), ("fc2", dw2)):
            self.weights[name] = [w - RATE * g for w, g in zip(self.weights[name], gradient)]
        return loss


def initializers(name):
    """(type, dims, bytes) of the initializers of an exported model."""
    with open(path(name + ".onnx"), "rb") as file:
        graph = next(value for number, value in fields(file.read()) if number == 7)
    found = {}
    for number, value in fields(graph):
        if number == 5:
            tensor = list(fields(value))
            one = dict(tensor)
            found[one[8].decode()] = one[2], one.get(9, b"")
    return found


def outputs(file, field):
    gradc("run", file, "--input", f"{field}={path(field + '.npy')}", "--output-dir", path("out"))
    with open(path("out/logits.npy"), "rb") as result:
        return read_npy(result.read())[1]


def trained_outputs(name, field):
    run(path(name), "predict", "--data-dir", path("."), "--checkpoint", path(name + ".run"), "--output", path("predicted.npy"))
    with open(path("predicted.npy"), "rb") as result:
        return read_npy(result.read())[1]


def perceptron():
    save_perceptron()
    write_npy(path("x.npy"), array.array("f", ROWS_IN), (ROWS, INPUTS))
    write_npy(path("labels.npy"), array.array("q", LABELS), (ROWS,))
    how = f"quantize {{ momentum: {MOMENTUM} }}"
    _, found = train("perceptron", how)
    reference, rows = Reference(), tables(ROWS_IN, INPUTS)
    for step in range(STEPS):
        first = step * BATCH % ROWS
        expected = reference.step(rows[first:first + BATCH], LABELS[first:first + BATCH])
        expect(f"loss {step + 1} is {found[step]}, not {expected}", abs(found[step] - expected) < 2e-5 * expected)
    _, plain = train("plain", "")
    expect("rounding changes the losses", abs(plain[-1] - found[-1]) > 1e-6)
    _, late = train("late", f"quantize {{ momentum: {MOMENTUM}  begin_step: 5 }}")
    expect("steps before begin_step round", late[:4] == plain[:4] and late[4] != plain[4])
    _, early = train("early", f"quantize {{ momentum: {MOMENTUM}  ranges_end_step: 2 }}")
    expect("ranges move after ranges_end_step", early[:2] == found[:2] and early[2] != found[2])
    held = initializers("perceptron")
    expect(f"exported floats: {sorted(held)}", "fc1.weight" not in held and "fc2" not in held and "fc1.bias" not in held)
    for name, values in ("fc1.weight", reference.weights["fc1.weight"]), ("fc2", reference.weights["fc2"]):
        kind, codes = held[name + "_quantized"]
        codes = array.array("b", codes)
        scales = array.array("f", held[name + "_scale"][1])
        channel = (lambda i: i // INPUTS) if name == "fc1.weight" else (lambda i: i % CLASSES)
        expect(f"codes of {name}", kind == 3 and max(abs(c) for c in codes) == 127 and
               all(abs(c * scales[channel(i)] - w) < 0.51 * scales[channel(i)] for i, (c, w) in enumerate(zip(codes, values))))
    kind, codes = held["fc1.weight_bias_quantized"]
    expect("the bias takes 32 bits", kind == 6 and len(codes) == 4 * HIDDEN)


def resume():
    how = f"quantize {{ momentum: {MOMENTUM} }}"
    trainer, whole = train("whole", how)
    before = losses("whole", "--steps", 5, "--checkpoint", path("whole.run"))
    after = losses("whole", "--resume", path("whole.run"), "--steps", STEPS)
    expect("a resume has other bits", before + after == whole)


def save_network():
    """Convolutions with and without normalization, one of them depthwise, and a sum of two branches."""
    model = Model("network", opset=19)
    value, channels = model.input("image", FLOAT, ["N", 2, 6, 6]), 2

    def parameters(name, dims, deviation=0.4, values=None):
        return model.initializer(name, FLOAT, dims, values or draws(math.prod(dims), deviation))

    def convolution(name, value, outputs, groups=1, bias=False, normalized=True):
        nonlocal channels
        operands = [value, parameters(f"{name}.weight", [outputs, channels // groups, 3, 3])]
        if bias:
            operands.append(parameters(f"{name}.bias", [outputs]))
        channels = outputs
        value = model.node("Conv", operands, [f"{name}.out"], name, group=groups, pads=[1, 1, 1, 1])
        if not normalized:
            return value
        norm = [parameters(f"{name}.gamma", [outputs], values=[0.0] + [numbers.uniform(0.5, 1.5) for _ in range(outputs - 1)]),
                parameters(f"{name}.beta", [outputs]), parameters(f"{name}.mean", [outputs], values=[0.1] * outputs),
                parameters(f"{name}.variance", [outputs], values=[1.5] * outputs)]
        return model.node("BatchNormalization", [value, *norm], [f"{name}.normal"], f"{name}.norm", epsilon=1e-3)

    first = model.node("Relu", [convolution("conv1", value, 8)], ["r1"], "relu1")
    second = convolution("conv2", first, 8, groups=8, bias=True)
    both = model.node("Relu", [model.node("Add", [first, second], ["sum"], "sum")], ["r2"], "relu2")
    third = model.node("Relu", [convolution("conv3", both, 6, bias=True, normalized=False)], ["r3"], "relu3")
    pooled = model.node("Flatten", [model.node("GlobalAveragePool", [third], ["pool"], "pool")], ["flat"], "flatten")
    parameters("fc.weight", [6, CLASSES])
    model.output(model.node("MatMul", [pooled, "fc.weight"], ["logits"], "fc"), FLOAT, ["N", CLASSES])
    model.save(path("model.onnx"))


def network():
    save_network()
    write_npy(path("image.npy"), array.array("f", draws(ROWS * 72)), (ROWS, 2, 6, 6))
    steps = 40
    evaluation = """evaluation { every_epochs: 1 data { source { npy { field { name: "image"  path: "image.npy" }
  field { name: "labels"  path: "labels.npy" } } } stage { batch { size: 6 } } } }"""
    for name, how in ("layers", "quantize { momentum: 0.9 }"), ("sums", 'quantize { momentum: 0.9  inputs_of: "Add" }'), \
            ("weights", "quantize { activations: false }"), ("one", 'quantize { pattern: "conv1*" }'):
        _, found = train(name, how + evaluation, field="image", steps=steps)
        expect(f"{name}: losses {found[0]} to {found[-1]}", found[-1] < found[0])
        judged = events(path("log.jsonl"), "evaluation")[-1]["loss"]
        logits = tables(outputs(path(name + ".onnx"), "image"), CLASSES)
        loss = sum(math.log(sum(map(math.exp, row))) - row[label] for row, label in zip(logits, LABELS)) / ROWS
        expect(f"{name}: the exported model's loss is {loss}, the trained one's {judged}", abs(loss - judged) < 3e-3 * judged)
        held = initializers(name)
        normalized = [n for n in held if n.startswith("conv") and n.split(".")[1] in ("gamma", "mean", "variance")]
        expect(f"{name} holds {normalized}", len(normalized) == (3 if name == "one" else 0))
        codes = sum(n.endswith("weight_quantized") for n in held)
        expect(f"{name} has {codes} weights in codes", codes == (1 if name == "one" else 4))
        scales = sum(n.endswith("_zero_point") and held[n][0] == 2 for n in held)
        expect(f"{name} has {scales} activations in codes", scales == {"layers": 4, "sums": 5, "weights": 0, "one": 1}[name])


def refused(what, more, opset=19):
    save_perceptron(opset)
    spec("refused", more)
    result = subprocess.run([program("gradc"), "check", path("refused.textproto")], capture_output=True, text=True)
    said = result.stdout + result.stderr
    expect(f"{more!r} says {said}", result.returncode and what in said)


def wrong():
    refused('quantize: pattern "fc3*" matches no weight of layers', 'quantize { pattern: "fc3*" }')
    refused('the model has no node of type "Ad"', 'quantize { inputs_of: "Ad" }')
    refused("expected momentum from 0 to below 1, found 1", "quantize { momentum: 1 }")
    refused("expected begin_step above 0, found 0", "quantize { begin_step: 0 }")
    refused("expected ranges_end_step above 0, found 0", "quantize { ranges_end_step: 0 }")
    refused("inputs_of quantizes activations, and activations is false", 'quantize { activations: false  inputs_of: "Relu" }')
    refused("lora and quantize exclude each other", 'quantize {} lora { pattern: "fc2" }')
    refused("quantize rounds values in f32, found precision BF16", "quantize {} precision: BF16")
    refused("quantize needs a strategy in which each rank has the whole model, found TENSOR",
            "quantize {} distribution { strategy: TENSOR }")
    refused("synchronize_batch_norm must be false", "quantize {} distribution { synchronize_batch_norm: true }")
    refused("quantize: expected a model of opset 13 or later, found 11", "quantize {}", opset=11)


perceptron()
resume()
network()
wrong()
