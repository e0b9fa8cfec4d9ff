"""Losses of training for quantization, against a reference in Python: weights and activations, observed ranges, 16-bit precision, a learned
scale; the same bits after a resume, and on ranks.

    losses.py
"""
import array
import math

from perceptron import (BATCH, CLASSES, HIDDEN, INPUTS, LABELS, MOMENTUM, RATE, ROWS, ROWS_IN, STEPS, WEIGHTS, draws, initializers, losses,
                        outputs, save_perceptron, spec, tables, train)
from case import expect, path
from bar import events, gradc, write_npy
from onnx_writer import FLOAT, UINT8, Model


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


def perceptron():
    save_perceptron()
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


perceptron()
observed()
short_floats()
resume()
ranks()
learned_scale()
