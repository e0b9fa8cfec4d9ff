"""What models hold and compute that are exported after training for quantization: with batch normalization folded, for weights alone, with the
operands of additions, and with what stays in floats.

    exports.py
"""
import array
import math
import subprocess

from perceptron import (BATCH, CLASSES, HIDDEN, INPUTS, LABELS, ROWS, WEIGHTS, draws, initializers, numbers, outputs, save_perceptron, spec,
                        tables, train)
from case import expect, path
from bar import events, gradc, program, write_npy
from onnx_writer import FLOAT, INT64, Model


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


network()
zero_bias()
kept_and_renamed()
dead()
