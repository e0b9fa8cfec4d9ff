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
from onnx_writer import FLOAT, INT64, UINT8, Model, fields

ROWS, BATCH, STEPS, RATE, MOMENTUM = 24, 6, 12, 0.2, 0.8
INPUTS, HIDDEN, CLASSES = 5, 9, 3
numbers = random.Random(11)


def draws(count, deviation=1.0):
    return list(array.array("f", (numbers.gauss(0, deviation) for _ in range(count))))


def tables(values, columns):
    return [values[i:i + columns] for i in range(0, len(values), columns)]


WEIGHTS = {"fc1.weight": draws(HIDDEN * INPUTS, 0.6), "fc1.bias": draws(HIDDEN, 0.3), "fc2": draws(HIDDEN * CLASSES, 0.5)}
ROWS_IN, LABELS = draws(ROWS * INPUTS), [numbers.randrange(CLASSES) for _ in range(ROWS)]


def save_perceptron(opset=19, more=None):
    model = Model("perceptron", opset=opset)
    if more:
        model.initializer(more[0], FLOAT, more[1], draws(math.prod(more[1])))
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
        return rounded, [[0 <= c <= 255 for c in row] for row in codes]

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
    kind, codes = held["fc1.weight_layer_bias_quantized"]
    expect("the bias takes 32 bits", kind == 6 and len(codes) == 4 * HIDDEN)


def observed():
    """With a learning rate of 0, weights stay, and the ranges of activations are found."""
    save_perceptron()
    with open(spec("observed", f"quantize {{ momentum: {MOMENTUM} }}")) as file:
        text = file.read().replace(f"learning_rate: {RATE}", "learning_rate: 0")
    with open(path("observed.textproto"), "w") as file:
        file.write(text)
    gradc("compile", path("observed.textproto"), "-o", path("observed"))
    losses("observed")
    held = initializers("observed")
    scales = array.array("f", held["fc2_scale"][1])
    codes = array.array("b", held["fc2_quantized"][1])
    expect("codes of the weights as they were", all(abs(c * scales[i % CLASSES] - w) < 0.51 * scales[i % CLASSES]
                                                    for i, (c, w) in enumerate(zip(codes, WEIGHTS["fc2"]))))
    expect("ranges have been seen", array.array("f", held["h_scale"][1])[0] != 1)


def short_floats():
    """With 16-bit precision, rounding stays in f32: losses are close, and evaluations compute what is exported."""
    save_perceptron()
    evaluation = """evaluation { every_epochs: 1 data { source { npy { field { name: "x"  path: "x.npy" }
  field { name: "labels"  path: "labels.npy" } } } stage { batch { size: 6 } } } }"""
    how = f"quantize {{ momentum: {MOMENTUM} }} " + evaluation
    _, expected = train("wide", how)
    for precision in "BF16", "FP16":
        _, found = train(precision, how + f" precision: {precision}")
        expect(f"{precision}: losses {found}, not {expected}", found != expected and
               all(abs(a - b) < 2e-2 * a for a, b in zip(expected, found)))
        judged = events(path("log.jsonl"), "eval")[-1]["loss"]
        logits = tables(outputs(path(precision + ".onnx"), "x"), CLASSES)
        loss = sum(math.log(sum(map(math.exp, row))) - row[label] for row, label in zip(logits, LABELS)) / ROWS
        expect(f"{precision}: the exported model's loss is {loss}, the trained one's {judged}", abs(loss - judged) < 3e-3 * judged)


def resume():
    how = f"quantize {{ momentum: {MOMENTUM} }}"
    trainer, whole = train("whole", how)
    before = losses("whole", "--steps", 5, "--checkpoint", path("whole.run"))
    after = losses("whole", "--resume", path("whole.run"), "--steps", STEPS)  # its log goes on
    expect("a resume has other bits", len(before) == 5 and after == whole)


def ranks():
    """Two ranks with the same rows find the same ranges, so they train as one process does; the same bits in another run."""
    half = BATCH // 2
    chosen = [batch * half + row for batch in range(ROWS // BATCH) for row in [*range(half), *range(half)]]
    rows = tables(ROWS_IN, INPUTS)
    write_npy(path("twice.npy"), array.array("f", (x for row in chosen for x in rows[row])), (ROWS, INPUTS))
    write_npy(path("labels.npy"), array.array("q", (LABELS[row] for row in chosen)), (ROWS,))
    how = f'quantize {{ momentum: {MOMENTUM} }} feed {{ input: "x"  field: "twice" }}'
    _, alone = train("alone", how, field="twice")
    for strategy in "MIRRORED", "SHARDED_OPTIMIZER":
        more = how + f" distribution {{ strategy: {strategy} }}"
        _, found = train("ranks", more, "--ranks", 2, field="twice")
        expect(f"{strategy}: losses {found}, not {alone}", all(abs(a - b) < 2e-5 * a for a, b in zip(alone, found)))
        _, again = train("ranks", more, "--ranks", 2, field="twice")
        expect(f"{strategy}: another run has other losses", found == again)
    write_npy(path("labels.npy"), array.array("q", LABELS), (ROWS,))


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
        elif name == "conv1":  # as torch.export writes that there is no bias
            size = model.node("Shape", [f"{name}.weight"], [f"{name}.size"], f"{name}.size", start=0, end=1)
            operands.append(model.node("Expand", [model.initializer(f"{name}.zero", FLOAT, [], [0.0]), size], [f"{name}.zeros"], f"{name}.zeros"))
        channels = outputs
        value = model.node("Conv", operands, [f"{name}.out"], name, group=groups, pads=[1, 1, 1, 1])
        if not normalized:
            return value
        fresh = name == "conv2"  # with the values that layers begin with, else one channel is switched off
        gamma = [1.0] * outputs if fresh else [0.0] + [numbers.uniform(0.5, 1.5) for _ in range(outputs - 1)]
        norm = [parameters(f"{name}.gamma", [outputs], values=gamma),
                parameters(f"{name}.beta", [outputs], values=[0.0] * outputs if fresh else None), parameters(f"{name}.mean", [outputs], values=[0.1] * outputs),
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
        judged = events(path("log.jsonl"), "eval")[-1]["loss"]
        logits = tables(outputs(path(name + ".onnx"), "image"), CLASSES)
        loss = sum(math.log(sum(map(math.exp, row))) - row[label] for row, label in zip(logits, LABELS)) / ROWS
        expect(f"{name}: the exported model's loss is {loss}, the trained one's {judged}", abs(loss - judged) < 3e-3 * judged)
        held = initializers(name)
        normalized = [n for n in held if n.startswith("conv") and n.split(".")[1] in ("gamma", "mean", "variance")]
        expect(f"{name} holds {normalized}", len(normalized) == (3 if name == "one" else 0))
        codes = sum(n.endswith("weight_quantized") for n in held)
        expect(f"{name} has {codes} weights in codes", codes == (1 if name == "one" else 4))
        plan = gradc("plan", path(name + ".onnx"), "--shape", f"image={BATCH}x2x6x6")
        expect(f"{name}: a run computes biases:\n{plan}", "forward" in plan and "layer_bias" not in plan)
        scales = sum(n.endswith("_zero_point") and held[n][0] == 2 for n in held)
        expect(f"{name} has {scales} activations in codes", scales == {"layers": 4, "sums": 5, "weights": 0, "one": 1}[name])


def zero_bias():
    """A bias that begins at zeros trains, and is exported."""
    model = Model("zero bias", opset=19)
    x = model.input("image", FLOAT, ["N", 2, 6, 6])
    model.initializer("conv.weight", FLOAT, [CLASSES, 2, 6, 6], draws(CLASSES * 72, 0.1))
    model.initializer("conv.bias", FLOAT, [CLASSES], [0.0] * CLASSES)
    y = model.node("Conv", [x, "conv.weight", "conv.bias"], ["y"], "conv")
    model.output(model.node("Flatten", [y], ["logits"], "flatten"), FLOAT, ["N", CLASSES])
    model.save(path("model.onnx"))
    train("zeros", "quantize {}", field="image", steps=40)
    codes = array.array("i", initializers("zeros")["conv.weight_layer_bias_quantized"][1])
    expect(f"the bias is {list(codes)}", len(codes) == CLASSES and all(codes))


def kept_and_renamed():
    """What else reads a weight, a bias, or a name keeps it, and integers stay integers."""
    model = Model("kept", opset=19)
    x = model.input("x", FLOAT, ["N", INPUTS])
    for name, dims in ("fc1", [INPUTS, HIDDEN]), ("fc1_bias", [HIDDEN]), ("both", [HIDDEN, HIDDEN]), ("fc2", [HIDDEN, CLASSES]):
        model.initializer(name, FLOAT, dims, draws(math.prod(dims), 0.4))
    first = model.node("Gemm", [x, "fc1", "fc1_bias"], ["first"], "fc1")
    second = model.node("MatMul", [first, "both"], ["second"], "second")
    tail = model.node("MatMul", [model.node("Add", [second, model.node("ReduceMean", ["both"], ["mean"], "mean", axes=[0], keepdims=0)],
                                            ["sum"], "sum"), "fc2"], ["scores"], "fc2")
    rows = model.node("Gather", [model.node("Shape", [tail], ["shape"], "shape"), model.initializer("zero", INT64, [1], [0])], ["rows"], "rows")
    shape = model.node("Concat", [rows, model.initializer("classes", INT64, [1], [CLASSES])], ["wanted"], "wanted", axis=0)
    model.output(model.node("Reshape", [tail, shape], ["logits"], "reshape"), FLOAT, ["N", CLASSES])
    model.output("fc1_bias", FLOAT, [HIDDEN])
    model.save(path("model.onnx"))
    said = subprocess.run([program("gradc"), "check", spec("kept", 'quantize { inputs_of: "Concat" }')], capture_output=True, text=True)
    expect(f"says {said}", said.returncode == 0 and 'quantize leaves "both" in floats' in said.stdout + said.stderr)
    train("kept", 'quantize { inputs_of: "Concat" }')
    held = initializers("kept")
    expect(f"holds {sorted(held)}", {"fc1_quantized", "fc2_quantized", "both", "fc1_bias"} <= set(held))
    outputs(path("kept.onnx"), "x")


def weights_in_floats():
    """The weights of a trainer whose export holds codes."""
    save_perceptron()
    trainer, _ = train("floats", "quantize {}", "--checkpoint", path("floats.run"))
    result = subprocess.run([program("gradc"), "export", trainer, "-o", path("w.safetensors")], capture_output=True, text=True)
    expect(f"says {result}", result.returncode and "the exported model holds codes of the weights" in result.stderr)
    gradc("export", path("floats.run"), "-o", path("w.safetensors"))
    expect("a checkpoint holds floats", set(WEIGHTS) <= set(read_safetensors(path("w.safetensors"))))


def told_apart():
    """Trainers refuse checkpoints of other jobs, and say how to begin with the weights of a run in floats."""
    save_perceptron()
    quantizing, fresh = train("quantizing", "quantize {}", "--checkpoint", path("quantizing.run"))
    plain, _ = train("dense", "", "--checkpoint", path("dense.run"))
    for trainer, resumed, *wanted in (quantizing, "dense.run", "it did not quantize 'x', which this artifact quantizes", "initial_weights"), \
            (plain, "quantizing.run", "it quantizes activations (quantize), this artifact does not quantize this one", "no state 'x_range'"):
        result = subprocess.run([trainer, "--data-dir", path("."), "--resume", path(resumed), "--quiet"], capture_output=True, text=True)
        expect(f"{trainer} says {result}", result.returncode == 1 and all(part in result.stderr for part in ["is of another job", *wanted]))
    gradc("export", path("dense.run"), "-o", path("dense.safetensors"))
    _, tuned = train("tuned", 'quantize {} initial_weights { path: "dense.safetensors" }')
    expect(f"weights of a run in floats: losses {tuned[0]}, {fresh[0]}", tuned[0] < 0.9 * fresh[0])
    # The ranges of a run are observed anew.
    gradc("export", path("quantizing.run"), "-o", path("quantizing.safetensors"))
    _, again = train("again", 'quantize {} initial_weights { path: "quantizing.safetensors"  ignore: "*_range" }')
    expect(f"weights of a quantized run: losses {again[0]}, {fresh[0]}", again[0] < 0.9 * fresh[0])


def damaged():
    """Layers that the importer refuses are refused, too, where `quantize` has looked at them first."""
    for dims in [], [4]:
        for op in "Conv", "ConvTranspose":
            model = Model("damaged", opset=19)
            model.initializer("w", FLOAT, dims, [0.5] * math.prod(dims))
            model.output(model.node(op, [model.input("image", FLOAT, ["N", 2, 6, 6]), "w"], ["logits"], "conv"), FLOAT, ["N", CLASSES])
            model.save(path("model.onnx"))
            refused_model("found no weight to quantize", "quantize {}")
    save_perceptron(more=("x_range", [2]))
    refused_model('quantize adds a value "x_range", which the model has already', "quantize {}")


def learned_scale():
    """A model with QuantizeLinear and DequantizeLinear of its own: the gradient of its scale is that of a learned step size."""
    model = Model("scaled", opset=19)
    scale, zero = 0.11, 3
    model.initializer("scale", FLOAT, [1], [scale])
    model.initializer("zero", UINT8, [1], [zero])
    codes = model.node("QuantizeLinear", [model.input("x", FLOAT, ["N", INPUTS]), "scale", "zero"], ["codes"], "quantize")
    turned = model.node("Transpose", [codes], ["turned"], "turn", perm=[1, 0])
    turned = model.node("DequantizeLinear", [turned, "scale", "zero"], ["numbers"], "dequantize")
    model.output(model.node("Transpose", [turned], ["y"], "turn back", perm=[1, 0]), FLOAT, ["N", INPUTS])
    model.save(path("unscaled.onnx"))
    targets = draws(ROWS * INPUTS)
    write_npy(path("targets.npy"), array.array("f", targets), (ROWS, INPUTS))
    with open(path("scaled.textproto"), "w") as file:
        file.write(f"""model: "unscaled.onnx"
loss {{ mean_squared_error {{ predictions: "y"  targets: "targets" }} }}
optimizer {{ sgd {{ learning_rate: 0.01 }} }}
data {{ source {{ npy {{ field {{ name: "x"  path: "x.npy" }} field {{ name: "targets"  path: "targets.npy" }} }} }}
  stage {{ batch {{ size: {ROWS} }} }} }}
steps: 1
trainable: "scale"
""")
    gradc("compile", path("scaled.textproto"), "-o", path("scaled"))
    losses("scaled")
    gradient = 0.0
    for x, target in zip(ROWS_IN, targets):
        code = min(max(round(x / scale) + zero, 0), 255)
        inside = 0 <= round(x / scale) + zero <= 255
        gradient += 2 * ((code - zero) * scale - target) * (code - zero - inside * x / scale) / len(targets)
    found = array.array("f", initializers("scaled")["scale"][1])[0]
    expected = scale - 0.01 * gradient
    expect(f"the scale becomes {found}, not {expected}", abs(found - expected) < 1e-6 and abs(gradient) > 1e-3)


def own_statistic():
    """A statistic of the model whose name ends like that of a range is none."""
    for name in "scaled", "normal":
        model = Model(name, opset=19)
        x = model.input("x", FLOAT, ["N", INPUTS])
        for parameter, dims in ("fc", [INPUTS, CLASSES]), ("gamma", [CLASSES]), ("beta", [CLASSES]):
            model.initializer(parameter, FLOAT, dims, draws(math.prod(dims), 0.4))
        h = model.node("MatMul", [x, "fc"], ["h"], "fc")
        if name == "scaled":
            y = model.node("Add", [model.node("Mul", [h, "gamma"], ["m"], "mul"), "beta"], ["logits"], "add")
        else:
            for statistic, value in ("mean_range", 0.1), ("variance", 1.5):
                model.initializer(statistic, FLOAT, [CLASSES], [value] * CLASSES)
            y = model.node("BatchNormalization", [h, "gamma", "beta", "mean_range", "variance"], ["logits"], "norm")
        model.output(y, FLOAT, ["N", CLASSES])
        model.save(path("model.onnx"))
        train(name, "", "--checkpoint", path(name + ".run"))
    for trainer, resumed, wanted in ("normal", "scaled.run", "it lacks state 'mean_range' of f32[3]"), \
            ("scaled", "normal.run", "this artifact has no state 'mean_range'"):
        result = subprocess.run([path(trainer), "--data-dir", path("."), "--resume", path(resumed), "--quiet"], capture_output=True, text=True)
        expect(f"{trainer} says {result}", result.returncode == 1 and f"is of another model: {wanted}" in result.stderr)


def untrained():
    """The scales of activations are unknown before the first step."""
    save_perceptron()
    trainer, _ = train("fresh", "quantize {}", "--checkpoint", path("fresh.run"))
    result = subprocess.run([program("gradc"), "export", trainer, "-o", path("untrained.onnx")], capture_output=True, text=True)
    expect(f"says {result}", result.returncode == 1 and "the ranges of activations, which quantize finds in the data, are unset; train first" in result.stderr)
    gradc("export", trainer, "--checkpoint", path("fresh.run"), "-o", path("chosen.onnx"))
    expect("a checkpoint has other ranges than the run", initializers("chosen") == initializers("fresh"))
    gradc("compile", spec("light", "quantize { activations: false }"), "-o", path("light"))
    gradc("export", path("light"), "-o", path("light.onnx"))
    expect("weights alone need no ranges", "fc2_quantized" in initializers("light"))


def dead():
    """An activation whose values all are 0 has a range of 0 after any number of steps; the model is exported all the same."""
    bias = WEIGHTS["fc1.bias"]
    WEIGHTS["fc1.bias"] = [-1000.0] * HIDDEN
    save_perceptron()
    WEIGHTS["fc1.bias"] = bias
    trainer, _ = train("dead", 'quantize { pattern: "fc2" }', "--checkpoint", path("dead.run"))
    gradc("export", trainer, "--checkpoint", path("dead.run"), "-o", path("chosen.onnx"))
    for name in "dead", "chosen":
        expect(f"{name}: the scale of zeros", array.array("f", initializers(name)["h_scale"][1])[0] == 1)
    result = subprocess.run([program("gradc"), "export", trainer, "-o", path("untrained.onnx")], capture_output=True, text=True)
    expect(f"says {result}", result.returncode == 1 and "the ranges of activations" in result.stderr)


def skipped():
    """A step that FP16 skips finds no ranges, and no export takes it for a step that does."""
    save_perceptron()
    gradc("compile", spec("skipped", "quantize {}  precision: FP16  loss_scaling { initial: 16777216 }"), "-o", path("skipped"))
    for command in ([path("skipped"), "--data-dir", path("."), "--steps", "1", "--checkpoint", path("skipped.run"), "--log", path("skipped.jsonl"), "--quiet"],
                    [program("gradc"), "export", path("skipped"), "--checkpoint", path("skipped.run"), "-o", path("skipped.onnx")]):
        result = subprocess.run(command, capture_output=True, text=True)
        expect(f"says {result}", result.returncode == 1 and "the ranges of activations, which quantize finds in the data, are unset" in result.stderr)
    expect("the step is not skipped", [event["step"] for event in events(path("skipped.jsonl"), "skipped")] == [1])


def refused(what, more, opset=19):
    save_perceptron(opset)
    refused_model(what, more)


def refused_model(what, more):
    spec("refused", more)
    result = subprocess.run([program("gradc"), "check", path("refused.textproto")], capture_output=True, text=True)
    said = result.stdout + result.stderr
    expect(f"{more!r} says {said}", result.returncode and what in said)


def wrong():
    save_perceptron()
    with open(spec("refused", 'quantize {} group { pattern: "fc2" weight_decay: 0 }')) as file:
        text = file.read().replace(f"learning_rate: {RATE}", "learning_rate: 0")
    with open(path("refused.textproto"), "w") as file:
        file.write(text)
    result = subprocess.run([program("gradc"), "check", path("refused.textproto")], capture_output=True, text=True)
    expect("a rate of 0 has groups beside it", result.returncode and "expected learning_rate above 0" in result.stdout + result.stderr)
    refused('quantize: no weight of a layer matches "fc3*"', 'quantize { pattern: "fc3*" }')
    refused('the model has no node of type "Ad"', 'quantize { inputs_of: "Ad" }')
    refused("expected momentum from 0 to below 1, found 1", "quantize { momentum: 1 }")
    refused("expected begin_step above 0, found 0", "quantize { begin_step: 0 }")
    refused("expected ranges_end_step above 0, found 0", "quantize { ranges_end_step: 0 }")
    refused("inputs_of quantizes activations, and activations is false", 'quantize { activations: false  inputs_of: "Relu" }')
    refused("lora and quantize exclude each other", 'quantize {} lora { pattern: "fc2" }')
    refused("quantize needs a strategy in which each rank has the whole model, found TENSOR",
            "quantize {} distribution { strategy: TENSOR }")
    refused("synchronize_batch_norm must be false", "quantize {} distribution { synchronize_batch_norm: true }")
    refused("quantize: expected a model of opset 13 or later, found 11", "quantize {}", opset=11)


perceptron()
observed()
short_floats()
resume()
ranks()
network()
zero_bias()
kept_and_renamed()
weights_in_floats()
told_apart()
own_statistic()
untrained()
dead()
skipped()
damaged()
learned_scale()
wrong()
