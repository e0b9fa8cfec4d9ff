"""Makes the models, data, and specs for the importer's tests: valid ones, and one for each error.

    make_models.py FOLDER
"""
import gzip
import os
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_writer import BOOL, DOUBLE, FLOAT, FLOAT8E4M3FN, INT4, INT64, STRING, UINT8, Model, field, message, node, raw, tensor, value_info


def mlp(opset=17, activation="Relu", last=None, batch="N", inputs=4, hidden=6, classes=3, dropout=False):
    """x [N, 4] -> fc1 -> relu -> fc2 -> logits [N, 3], followed by `last`."""
    model = Model("mlp", opset)
    value = model.input("x", FLOAT, [batch, inputs])
    for layer, (rows, columns) in enumerate([(inputs, hidden), (hidden, classes)], 1):
        weight = model.initializer(f"fc{layer}.weight", FLOAT, [rows, columns],
                                   [0.1 * ((i * 7) % 11 - 5) for i in range(rows * columns)])
        bias = model.initializer(f"fc{layer}.bias", FLOAT, [columns], [0.01 * i for i in range(columns)])
        value = model.node("Gemm", [value, weight, bias], ["logits" if layer == 2 else "hidden"], f"fc{layer}")
        if layer == 1:
            value = model.node(activation, [value], ["activated"], "act")
            if dropout:
                value = model.node("Dropout", [value], ["dropped"], "drop")
    if last:
        value = model.node(last, [value], ["probabilities"], "last", **({"axis": -1} if last == "Softmax" else {}))
    model.output(value, FLOAT, [batch, classes])
    return model


def pictures():
    """x [N, 3, 2, 2] -> flatten -> fc -> logits [N, 3]."""
    model = Model("pictures")
    flat = model.node("Flatten", [model.input("x", FLOAT, ["N", 3, 2, 2])], ["flat"], "flatten", axis=1)
    weight = model.initializer("fc.weight", FLOAT, [12, 3], [0.1 * ((i * 7) % 11 - 5) for i in range(36)])
    model.output(model.node("MatMul", [flat, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    return model


def segmenter():
    """x [N, 4] -> scores [N, 3, 2, 5] and their probabilities; a mask [N, 1, 2, 5] and the mean of its scores."""
    model = Model("segmenter")
    x = model.input("x", FLOAT, ["N", 4])
    for name, channels in (("scores", 3), ("mask", 1)):
        size = channels * 10
        weight = model.initializer(f"{name}.weight", FLOAT, [4, size], [0.1 * ((i * 7) % 11 - 5) for i in range(4 * size)])
        shape = model.initializer(f"{name}.shape", INT64, [4], [0, channels, 2, 5])
        flat = model.node("MatMul", [x, weight], [f"{name}.flat"], f"{name}.fc")
        model.output(model.node("Reshape", [flat, shape], [name], f"{name}.reshape"), FLOAT, ["N", channels, 2, 5])
    model.output(model.node("Softmax", ["scores"], ["probabilities"], "softmax", axis=1), FLOAT, ["N", 3, 2, 5])
    model.output(model.node("ReduceMean", ["mask"], ["mean"], "mean", keepdims=0), FLOAT, [])
    return model


def channels_last():
    """x [N, 4] -> scores [N, 3, 2, 5] -> their sigmoid as [N, 2, 5, 3], as Keras has pictures."""
    model = Model("channels-last")
    weight = model.initializer("fc.weight", FLOAT, [4, 30], [0.1 * ((i * 7) % 11 - 5) for i in range(120)])
    shape = model.initializer("shape", INT64, [4], [0, 3, 2, 5])
    flat = model.node("MatMul", [model.input("x", FLOAT, ["N", 4]), weight], ["flat"], "fc")
    model.node("Reshape", [flat, shape], ["scores"], "reshape")
    model.node("Transpose", ["scores"], ["last"], "transpose", perm=[0, 2, 3, 1])
    model.output(model.node("Sigmoid", ["last"], ["probabilities"], "sigmoid"), FLOAT, ["N", 2, 5, 3])
    return model


def normalized(shared=False, constant=False, merged=False, computed=False):
    """x [N, 4] -> batch normalization (twice when shared) -> logits [N, 3]. With `computed` the graph gives it the batch's statistics."""
    model = Model("normalized")
    value = model.input("x", FLOAT, ["N", 4])
    names = [model.initializer("norm." + name, FLOAT, [4], [number] * 4)
             for name, number in [("weight", 1.0), ("bias", 0.0), ("running_mean", 0.5), ("running_var", 1.0)]]
    if constant:
        names[2] = model.node("Constant", [], ["mean"], "constant", value=tensor("", FLOAT, [4], [0.5] * 4))
    if merged:  # behind Identity, as PyTorch's exporter leaves it
        names[2] = model.node("Identity", [names[1]], ["norm.copy"], "copy")
    if computed:  # as PyTorch's exporter writes track_running_stats=False
        names[2] = model.node("ReduceMean", [value], ["mean"], "mean", axes=[0], keepdims=0)
        difference = model.node("Sub", [value, names[2]], ["difference"], "difference")
        square = model.node("Mul", [difference, difference], ["square"], "square")
        names[3] = model.node("ReduceMean", [square], ["variance"], "variance", axes=[0], keepdims=0)
    for output in ["normalized", "again"] if shared else ["normalized"]:
        value = model.node("BatchNormalization", [value, *names], [output], "norm", momentum=0.75)
    weight = model.initializer("fc.weight", FLOAT, [4, 3], [0.1 * i for i in range(12)])
    model.output(model.node("MatMul", [value, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    return model


def averaged():
    """x [N, 4] -> y = gain x -> y minus an average of its own, a buffer that the module updates -> logits [N, 3]."""
    model = Model("averaged")
    y = model.node("Mul", [model.input("x", FLOAT, ["N", 4]), model.of_module("PARAMETER", "gain", FLOAT, [4], [1.0] * 4)], ["y"], "scale")
    old = model.node("Mul", [model.of_module("BUFFER", "average", FLOAT, [4], [0.5] * 4), model.initializer("keep", FLOAT, [], [0.75])],
                     ["old"], "old")
    mean = model.node("ReduceMean", [y], ["mean"], "mean", axes=[0], keepdims=0)
    new = model.node("Mul", [mean, model.initializer("take", FLOAT, [], [0.25])], ["new"], "new")
    model.node("Add", [old, new], ["add"], "update")
    centered = model.node("Sub", [y, "add"], ["centered"], "center")
    weight = model.of_module("PARAMETER", "fc.weight", FLOAT, [4, 3], [0.1 * i for i in range(12)])
    model.output(model.node("MatMul", [centered, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    model.update_buffers({"add": "average"})
    return model


def left_in_training():
    """x [N, 4] -> batch normalization -> dropout -> logits [N, 3], in the training form of PyTorch's older exporter: unused new statistics
    and an unused mask, and training_mode set in both."""
    model = Model("left_in_training")
    value = model.input("x", FLOAT, ["N", 4])
    names = [model.initializer("norm." + name, FLOAT, [4], [number] * 4)
             for name, number in [("weight", 1.0), ("bias", 0.0), ("running_mean", 0.5), ("running_var", 4.0)]]
    value = model.node("BatchNormalization", [value, *names], ["normalized", "new_mean", "new_var"], "norm", training_mode=1)
    ratio = model.initializer("ratio", FLOAT, [], [0.25])
    mode = model.initializer("mode", BOOL, [], [True])
    value = model.node("Dropout", [value, ratio, mode], ["dropped", "mask"], "drop")
    weight = model.initializer("fc.weight", FLOAT, [4, 3], [0.1 * i for i in range(12)])
    model.output(model.node("MatMul", [value, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    return model


def layers_of_one_bias(applied_again=False, merged=True, dtype=FLOAT, given=None):
    """x [N, 4] -> fc1 -> fc2 -> logits [N, 4], both with the same bias of zeros, unless they are not merged; also with the same weight, if a
    layer is applied again. `given`: the biases that the module gives to the layers, as PyTorch's newer exporter records them."""
    model = Model("one_bias")
    value = model.input("x", dtype, ["N", 4])
    bias = model.initializer("bias", dtype, [4], [0.0] * 4)
    if given:
        model.values.append(value_info("bias", dtype, [4], **{"pkg.torch.onnx.original_node_name": "p_bias"}))
    weight = None
    for layer in 1, 2:
        if layer == 2 and not merged:
            bias = model.initializer("fc2.bias", dtype, [4], [0.0] * 4)
        if weight is None or not applied_again:
            weight = model.initializer(f"fc{layer}.weight", dtype, [4, 4], [0.1 * i for i in range(16)])
        value = model.node("Gemm", [value, weight, bias], ["logits" if layer == 2 else "hidden"], f"fc{layer}")
        if given:
            model.record(f"%linear : call_function[target=torch.ops.aten.linear.default](args = (%x, %w, %{given[layer - 1]}), kwargs = {{}})")
    model.output("logits", dtype, ["N", 4])
    return model


def masked(other=None):
    """x [N, 4] -> fc -> logits [N, 3], with a weight of which a mask of zeros and ones leaves parts; `other` reads the mask, too."""
    model = Model("masked")
    mask = model.initializer("mask", FLOAT, [4, 1], [1.0, 0.0, 1.0, 1.0])
    weight = model.initializer("weight", FLOAT, [4, 3], [0.1 * i for i in range(12)])
    part = model.node("Mul", [weight, mask], ["part"], "prune")
    if other:
        part = model.node(other, [part, mask], ["more"], "more")
    model.output(model.node("MatMul", [model.input("x", FLOAT, ["N", 4]), part], ["logits"], "fc"), FLOAT, ["N", 3])
    return model


def named_like_entries():
    """x [N, 4] -> logits [N, 4], with parameters that have the names of a job's entries."""
    model = Model("named_like_entries")
    weight = model.initializer("forward", FLOAT, [4, 4], [0.1 * i for i in range(16)])
    bias = model.initializer("evaluate", FLOAT, [4], [0.0, 0.1, 0.2, 0.3])
    model.output(model.node("Gemm", [model.input("x", FLOAT, ["N", 4]), weight, bias], ["logits"], "fc"), FLOAT, ["N", 4])
    return model


def convnet():
    """image [N, 1, 4, 4] -> convolution -> batch normalization -> relu -> max pool -> logits [N, 3]."""
    model = Model("convnet")
    value = model.input("image", FLOAT, ["N", 1, 4, 4])
    weight = model.initializer("conv.weight", FLOAT, [2, 1, 3, 3], [0.1 * ((i * 7) % 11 - 5) for i in range(18)])
    bias = model.initializer("conv.bias", FLOAT, [2], [0.0, 0.1])
    value = model.node("Conv", [value, weight, bias], ["features"], "conv", pads=[1, 1, 1, 1])
    names = [model.initializer("norm." + name, FLOAT, [2], numbers)
             for name, numbers in [("weight", [1.0, 1.0]), ("bias", [0.0, 0.0]), ("running_mean", [0.0, 0.0]),
                                   ("running_var", [1.0, 1.0])]]
    value = model.node("BatchNormalization", [value, *names], ["normalized"], "norm")
    value = model.node("Relu", [value], ["active"], "act")
    value = model.node("MaxPool", [value], ["pooled"], "pool", kernel_shape=[2, 2], strides=[2, 2])
    value = model.node("Flatten", [value], ["flat"], "flat")
    weight = model.initializer("fc.weight", FLOAT, [8, 3], [0.1 * ((i * 5) % 13 - 6) for i in range(24)])
    model.output(model.node("MatMul", [value, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    return model


def good():
    yield "normalized", normalized()
    yield "normalized-twice", normalized(shared=True)
    yield "normalized-constant", normalized(constant=True)
    yield "normalized-merged", normalized(merged=True)
    yield "normalized-computed", normalized(computed=True)
    yield "averaged", averaged()
    yield "convnet", convnet()
    model = convnet()
    model.nodes.append(node("Identity", ["fc.weight"], [], "idle"))  # has no outputs
    yield "convnet-idle", model
    yield "pictures", pictures()
    yield "segmenter", segmenter()
    yield "channels-last", channels_last()
    yield "mlp", mlp()
    yield "mlp-fixed", mlp(batch=1)
    yield "mlp-of-4", mlp(batch=4)
    yield "softmax", mlp(last="Softmax")
    yield "softmax-11", mlp(opset=11, last="Softmax")
    yield "sigmoid", mlp(last="Sigmoid", classes=1)
    yield "dropout", mlp(dropout=True)
    yield "left-in-training", left_in_training()
    yield "merged-biases", layers_of_one_bias()
    yield "zero-biases", layers_of_one_bias(merged=False)
    yield "applied-again", layers_of_one_bias(applied_again=True)
    yield "shared-bias", layers_of_one_bias(given=("p_bias", "p_bias"))
    yield "merged-recorded", layers_of_one_bias(given=("p_bias", "p_bias_2"))
    yield "masked", masked()
    yield "masked-sub", masked("Sub")
    yield "masked-add", masked("Add")
    yield "named-like-entries", named_like_entries()
    yield "in-f64", layers_of_one_bias(applied_again=True, dtype=DOUBLE)

    # Shape arithmetic as PyTorch exports x.view(x.size(0), -1).
    model = Model("view")
    x = model.input("x", FLOAT, ["N", 2, 2])
    shape = model.node("Shape", [x], ["shape"], "shape")
    zero = model.initializer("zero", INT64, [], [0])
    size = model.node("Gather", [shape, zero], ["size"], "size", axis=0)
    axes = model.initializer("axes", INT64, [1], [0])
    first = model.node("Unsqueeze", [size, axes], ["first"], "first")
    rest = model.initializer("rest", INT64, [1], [-1])
    target = model.node("Concat", [first, rest], ["target"], "target", axis=0)
    flat = model.node("Reshape", [x, target], ["flat"], "view")
    weight = model.initializer("weight", FLOAT, [4, 3], [0.5] * 12)
    model.output(model.node("MatMul", [flat, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    yield "view", model

    # A 3-D convolution without a bias as PyTorch exports it: zeros of shape [2, 2] are its bias.
    model = Model("no-bias")
    weight = model.initializer("weight", FLOAT, [2, 3, 1, 1, 1], [0.5] * 6)
    outputs = model.node("Shape", [weight], ["outputs"], "shape", start=0, end=1)
    two = model.initializer("two", INT64, [1], [2])
    shape = model.node("Concat", [outputs, two], ["shape"], "join", axis=0)
    zeros = model.node("Expand", [model.initializer("zero", FLOAT, [], [0.0]), shape], ["zeros"], "zeros")
    y = model.node("Conv", [model.input("x", FLOAT, ["N", 3, 4, 4, 4]), weight, zeros], ["y"], "conv3d")
    model.output(y, FLOAT, ["N", 2, 4, 4, 4])
    yield "no-bias", model

    # Every kind of initializer.
    model = Model("kinds")
    x = model.input("x", FLOAT, ["N", 2])
    value = model.node("Mul", [x, model.initializer("scale", FLOAT, [2], [1.0, 2.0])], ["a"], "scaled")
    value = model.node("Add", [value, model.initializer("half", FLOAT, [], [0.5])], ["b"], "shifted")
    value = model.node("Max", [value, model.initializer("floor", FLOAT, [2], [float("-inf")] * 2)], ["c"], "limited")
    above = model.node("Greater", [value, model.initializer("threshold", FLOAT, [2], [0.0, 1.0])], ["above"], "gate")
    value = model.node("Where", [above, value, x], ["logits"], "choice")
    value = model.node("Add", [value, model.initializer("mask", FLOAT, [2], [0.0, -1e9])], ["d"], "masked")
    value = model.node("Add", [value, model.initializer("low", FLOAT, [2], [0.0, -1e3])], ["e"], "lowered")
    model.initializer("unused", FLOAT, [2], [1.0, 1.0])
    model.initializer("table", INT64, [2], [1, 2])
    rounded = model.node("Round", [model.initializer("steps", FLOAT, [2], [1.0, 1.0])], ["rounded"], "rounded")
    value = model.node("Mul", [value, rounded], ["out"], "quantized")
    model.output(value, FLOAT, ["N", 2])
    yield "kinds", model

    # Kinds of initializers as PyTorch's newer exporter records them, and the same without them, as the older one does.
    for name, producer, add in (("module", "pytorch", Model.of_module),
                                ("module-older", "pytorch", lambda model, kind, *what: model.initializer(*what)),
                                ("module-elsewhere", "gradc-test", lambda model, kind, *what: model.initializer(*what))):
        model = Model(name, producer=producer)
        value = model.node("MatMul", [model.input("x", FLOAT, ["N", 4]),
                                      add(model, "PARAMETER", "weight", FLOAT, [4, 3], [0.1 * i for i in range(12)])], ["a"], "fc")
        value = model.node("Add", [value, add(model, "BUFFER", "levels", FLOAT, [3], [0.1, 0.5, 0.9])], ["b"], "shifted")
        value = model.node("Mul", [value, add(model, "PARAMETER", "temperature", FLOAT, [], [2.0])], ["c"], "warmed")
        value = model.node("Mul", [value, model.initializer("onnx::Mul_7", FLOAT, [], [0.5])], ["logits"], "halved")
        model.output(value, FLOAT, ["N", 3])
        yield name, model

    # A sum whose second operand gets no gradient.
    model = Model("detached")
    value = model.node("MatMul", [model.input("x", FLOAT, ["N", 4]), model.initializer("weight", FLOAT, [4, 3], [0.5] * 12)], ["a"], "fc")
    model.output(model.node("Add", [value, model.detach(value, "detach")], ["logits"], "sum"), FLOAT, ["N", 3])
    yield "detached", model

    # Two copies of one matrix, one transposed: an autoencoder with tied weights.
    model = Model("tied")
    encoder = model.initializer("encoder", FLOAT, [4, 2], [float(i) for i in range(8)])
    decoder = model.initializer("decoder", FLOAT, [2, 4], [0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0])
    model.initializer("other", FLOAT, [2, 4], [1.0] * 8)
    code = model.node("MatMul", [model.input("x", FLOAT, ["N", 4]), encoder], ["code"], "encode")
    model.output(model.node("MatMul", [code, decoder], ["logits"], "decode"), FLOAT, ["N", 4])
    yield "tied", model

    # A loss inside the graph, and an unrelated output.
    model = Model("scalar")
    x, y = model.input("x", FLOAT, ["N", 4]), model.input("labels", INT64, ["N"])
    value = model.node("MatMul", [x, model.initializer("weight", FLOAT, [4, 3], [0.5] * 12)], ["logits"], "fc")
    model.node("SoftmaxCrossEntropyLoss", [value, y], ["loss"], "loss")
    model.output("loss", FLOAT, [])
    model.output("logits", FLOAT, ["N", 3])
    aside = model.node("Mul", [x, model.initializer("aside", FLOAT, [4], [1.0] * 4)], ["other"], "aside")
    model.output(aside, FLOAT, ["N", 4])
    yield "scalar", model

    # An initializer in floats instead of raw bytes, and one that is also an input (IR version 3).
    model = Model("typed", opset=9, ir_version=3)
    weight = message((1, [4, 3]), (2, FLOAT), (4, struct.pack("<12f", *range(12))), (8, "weight"))
    model.initializers.append(weight)
    model.input("weight", FLOAT, [4, 3])
    model.output(model.node("MatMul", [model.input("x", FLOAT, ["N", 4]), "weight"], ["logits"], "fc"), FLOAT, ["N", 3])
    yield "typed", model

    # Nodes in the wrong order.
    model = mlp()
    model.nodes.reverse()
    yield "unsorted", model

    # An activation that is rounded to codes and back; the second of these nodes has no name.
    model = Model("rounded")
    value = model.node("MatMul", [model.input("x", FLOAT, ["N", 4]), model.initializer("first", FLOAT, [4, 6], [0.1] * 24)], ["hidden"], "fc1")
    by = [model.initializer("scale", FLOAT, [], [0.05]), model.initializer("zero", UINT8, [], [128])]
    codes = model.node("QuantizeLinear", [value, *by], ["codes"], "round")
    value = model.node("DequantizeLinear", [codes, *by], ["numbers"])
    model.output(model.node("MatMul", [value, model.initializer("second", FLOAT, [6, 3], [0.1] * 18)], ["logits"], "fc2"), FLOAT, ["N", 3])
    yield "rounded", model


def seeds():
    """Models that the fuzz target would hardly find: narrow types, sequences, and nodes with subgraphs."""
    model = Model("narrow", opset=25)
    weights = model.initializer("w", INT4, [3, 3], data=b"\x21\x43\x65\x87\x09")
    dense = model.node("DequantizeLinear", [weights, model.initializer("scale", FLOAT, [], [0.5])], ["dense"], "dequantize")
    model.output(model.node("Cast", [dense], ["small"], "cast", to=FLOAT8E4M3FN, saturate=0), FLOAT8E4M3FN, [3, 3])
    model.output(model.node("Transpose", [model.input("x", FLOAT8E4M3FN, [2, 3])], ["turned"], "turn"), FLOAT8E4M3FN, [3, 2])
    yield "narrow", model

    kind = message((1, message((1, FLOAT), (2, message((1, message((1, 2))))))))
    sequence = message((4, message((1, kind))))
    named = lambda name: message((1, name), (2, sequence))
    body = message((1, [node("Neg", ["e"], ["n"])]), (2, "g"), (11, [message((1, "e"))]), (12, [message((1, "n"))]))
    model = Model("mapped")
    model.inputs.append(named("s"))
    model.nodes.append(message((1, ["s"]), (2, ["y"]), (3, "map"), (4, "SequenceMap"), (5, [message((1, "body"), (6, body), (20, 5))])))
    model.outputs.append(named("y"))
    yield "mapped", model

    body = message((1, [node("Add", ["h", "e"], ["t"]), node("Identity", ["t"], ["u"])]), (2, "g"), (11, [message((1, "h")), message((1, "e"))]),
                   (12, [message((1, "t")), message((1, "u"))]))
    attributes = [message((1, "body"), (6, body), (20, 5)), message((1, "num_scan_inputs"), (3, 1), (20, 2))]
    model = Model("rows", opset=8)
    inputs = [model.input("l", INT64, [2]), model.input("h0", FLOAT, [2, 3]), model.input("x", FLOAT, [2, 4, 3])]
    model.nodes.append(message((1, inputs), (2, ["last", "all"]), (3, "scan"), (4, "Scan"), (5, attributes)))
    model.output("all", FLOAT, [2, 4, 3])
    yield "rows", model

    body = message((1, [node("Tanh", ["s"], ["t"])]), (2, "g"), (11, [message((1, "s"))]), (12, [message((1, "t"))]))
    model = Model("flexible", opset=24)
    inputs = [model.input(name, FLOAT, [1, 2, 3, 4]) for name in "qkv"]
    model.nodes.append(message((1, inputs), (2, ["y"]), (3, "attend"), (4, "FlexAttention"), (5, [message((1, "score_mod"), (6, body), (20, 5))]),
                               (7, "ai.onnx.preview")))
    model.output("y", FLOAT, [1, 2, 3, 4])
    yield "flexible", model


def one(op, inputs, outputs=("y",), opset=17, **attributes):
    """A model of one node. Each input is (name, dims), (name, dims, dtype), or (name, dims, dtype, values)."""
    model = Model("one", opset)
    names = []
    for name, dims, *more in inputs:
        dtype = more[0] if more else FLOAT
        if len(more) > 1:
            model.initializer(name, dtype, dims, more[1])
        else:
            model.input(name, dtype, dims)
        names.append(name)
    for output in outputs:
        model.output(output, FLOAT, None)
    model.node(op, names, list(outputs), "node", **attributes)
    return model


def bad():
    model = mlp()
    model.nodes[1:1] = [node("StringSplit", ["hidden", "fc1.weight"], ["c"], "conv", strides=[2, 2]),
                        node("Elsewhere", ["c"], ["d"], "", "com.example"),
                        node("Add", ["d", "hidden"], ["e"], "behind"), node("FlexAttention", ["e"], ["f"], "boxes")]
    model.nodes[5] = node("Relu", ["f"], ["activated"], "act")
    yield "unsupported", model

    # One on the way to the logits, and one before another output.
    model = mlp()
    model.nodes[1] = node("FlexAttention", ["hidden"], ["activated"], "boxes")
    model.output(model.node("StringSplit", ["hidden"], ["aside"], "grid"), FLOAT, ["N", 8])
    yield "two-heads", model
    yield "symbols", one("Relu", [("x", ["N", "time", 4])])
    yield "shared-symbols", one("Sum", [(name, ["N", "time"]) for name in "abc"])
    yield "no-shape", one("Relu", [("x", None)])
    yield "matmul-shapes", one("MatMul", [("x", [2, 784]), ("fc1.weight", [768, 10], FLOAT, [0.0] * 7680)])
    yield "gemm-shapes", one("Gemm", [("x", [2, 4]), ("w", [3, 4])])
    yield "gemm-bias", one("Gemm", [("x", [2, 4]), ("w", [4, 3]), ("b", [5])])
    yield "gemm-rank", one("Gemm", [("x", [2, 4, 1]), ("w", [4, 3])])
    yield "add-shapes", one("Add", [("a", [2, 3]), ("b", [2, 4])])
    yield "add-types", one("Add", [("a", [2]), ("b", [2], INT64)])
    yield "relu-bool", one("Relu", [("a", [2], BOOL)])
    yield "reshape-count", one("Reshape", [("a", [2, 3]), ("shape", [2], INT64, [4, -1])])
    yield "reshape-dynamic", one("Reshape", [("a", [2, 3]), ("shape", [1], INT64)])
    yield "axis", one("Softmax", [("a", [2, 3])], axis=2)
    yield "attribute", one("Relu", [("a", [2, 3])], slope=1)
    yield "operands", one("Add", [("a", [2, 3])])
    yield "outputs", one("Relu", [("a", [2, 3])], outputs=("y", "z"))
    yield "absurd", one("Expand", [("a", [1]), ("shape", [3], INT64, [1 << 40, 1 << 40, 1 << 40])])
    yield "string", one("Relu", [("a", [2], STRING)])
    yield "gather-far", one("Gather", [("a", [2, 3]), ("i", [1], INT64, [7])])
    yield "transpose", one("Transpose", [("a", [2, 3])], perm=[0, 0])
    yield "old-opset", one("Relu", [("a", [2])], opset=5)
    yield "new-opset", one("Relu", [("a", [2])], opset=99)

    model = one("Relu", [("a", [2])])
    model.nodes += [node("Add", ["p", "q"], ["r"], "first"), node("Relu", ["r"], ["q"], "second"),
                    node("Neg", ["q"], ["p"], "third")]
    model.output("p", FLOAT, None)
    yield "cycle", model
    model = one("Relu", [("a", [2])])
    model.nodes[0] = node("Add", ["a", "nowhere"], ["y"], "node")
    yield "undefined", model
    model = one("Relu", [("a", [2])])
    model.output("missing", FLOAT, None)
    yield "no-output", model
    model = one("Relu", [("a", [2])])
    model.nodes.append(node("Neg", ["a"], ["y"], "again"))
    yield "duplicate-output", model
    model = one("Add", [("a", [2]), ("w", [2], FLOAT, [1.0, 2.0])])
    model.initializer("w", FLOAT, [2], [1.0, 2.0])
    yield "duplicate-initializer", model

    for name, dims, data in [("no-data", [3], None), ("short-data", [3], b"12345678"), ("negative-dim", [-3], b""),
                             ("absurd-dim", [1 << 40, 1 << 40], b"")]:
        model = one("Relu", [("a", [2])])
        model.initializer("w", FLOAT, dims, data=data)
        yield name, model
    for name, where in [("external-absent", ("absent.bin", 0, 8)), ("external-short", ("weights.bin", 4, 64)),
                        ("external-up", ("../weights.bin", 0, 8)), ("external-absolute", ("/etc/passwd", 0, 8)),
                        ("external-link", ("link.bin", 0, 8)), ("external-offset", ("weights.bin", "x", 8))]:
        model = one("Add", [("a", [2])])
        model.nodes[0] = node("Add", ["a", "w"], ["y"], "node")
        model.initializer("w", FLOAT, [2], external=where)
        yield name, model


def npy(dtype, dims, data, fortran=False):
    header = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {tuple(dims)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def archive(path, compression=zipfile.ZIP_STORED, **arrays):
    with zipfile.ZipFile(path, "w", compression) as out:
        for name, data in arrays.items():
            out.writestr(name + ".npy", data)


def main():
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "in"), exist_ok=True)
    at = lambda *parts: os.path.join(folder, "in", *parts)
    write = lambda name, data: open(at(name), "wb").write(data)
    for name, model in [*good(), *seeds(), *bad()]:
        model.save(at(name + ".onnx"))

    # Files that are not models.
    whole = mlp().bytes()
    write("truncated.onnx", whole[: len(whole) // 2])
    write("empty.onnx", b"")
    write("text.onnx", b"this is not a model\n")
    write("no-graph.onnx", message((1, 8), (2, "somebody")))
    write("unknown-field.onnx", whole + field(99, 1))
    unknown = one("Relu", [("a", [2])])
    unknown.nodes[0] += field(77, "later")
    unknown.save(at("unknown-node-field.onnx"))

    # External data, inside and outside the model's folder.
    write("weights.bin", raw(FLOAT, [float(i) for i in range(10)]))
    with open(os.path.join(folder, "weights.bin"), "wb") as file:
        file.write(raw(FLOAT, [1.0] * 10))
    if not os.path.islink(at("link.bin")):
        os.symlink(os.path.join("..", "weights.bin"), at("link.bin"))
    model = Model("external")
    model.initializer("weight", FLOAT, [2, 2], external=("weights.bin", 8, 16))
    model.output(model.node("MatMul", [model.input("x", FLOAT, ["N", 2]), "weight"], ["y"], "fc"), FLOAT, ["N", 2])
    model.save(at("external.onnx"))

    # Data: ten rows of four numbers and a label.
    numbers = npy("<f4", [10, 4], raw(FLOAT, [0.1 * i for i in range(40)]))
    labels = npy("<i8", [10], raw(INT64, [i % 3 for i in range(10)]))
    archive(at("data.npz"), x=numbers, labels=labels)
    images = npy("<f4", [10, 1, 4, 4], raw(FLOAT, [0.1 * ((i * 13) % 17) for i in range(160)]))
    archive(at("images.npz"), image=images, labels=labels)
    archive(at("deflated.npz"), zipfile.ZIP_DEFLATED, x=numbers, labels=labels)
    archive(at("doubles.npz"), x=npy("<f8", [10, 4], raw(DOUBLE, [0.0] * 40)), labels=labels)
    archive(at("narrow.npz"), x=npy("<f4", [10, 3], raw(FLOAT, [0.0] * 30)), labels=labels)
    archive(at("uneven.npz"), x=numbers, labels=npy("<i8", [9], raw(INT64, [0] * 9)))
    archive(at("fortran.npz"), x=npy("<f4", [10, 4], raw(FLOAT, [0.0] * 40), fortran=True), labels=labels)
    archive(at("big-endian.npz"), x=npy(">f4", [10, 4], bytes(160)), labels=labels)
    archive(at("one-hot.npz"), x=numbers, labels=npy("<f4", [10, 3], raw(FLOAT, [1.0, 0.0, 0.0] * 10)))
    archive(at("masks.npz"), x=numbers, classes=npy("<i8", [10, 2, 5], raw(INT64, [i % 3 for i in range(100)])),
            channel=npy("<i8", [10, 1, 2, 5], raw(INT64, [i % 2 for i in range(100)])))
    archive(at("label-masks.npz"), x=numbers, labels=npy("<f4", [10, 3, 2, 5], raw(FLOAT, [i % 2 for i in range(300)])),
            last=npy("<f4", [10, 2, 5, 3], raw(FLOAT, [i % 2 for i in range(300)])),
            channel=npy("<f4", [10, 1, 2, 5], raw(FLOAT, [i % 2 for i in range(100)])))
    archive(at("binary.npz"), x=numbers, labels=labels)
    archive(at("odd-labels.npz"), x=numbers, labels=npy("<i8", [10, 2], raw(INT64, [0] * 20)))
    archive(at("empty.npz"), x=npy("<f4", [0, 4], b""), labels=npy("<i8", [0], b""))
    # The same as a table: cells that hold delimiters, quotes and line ends, an empty line, and a byte order mark.
    rows = [f'{i * .4},{i * .4 + .1},{i * .4 + .2},{i * .4 + .3},{i % 3},"a ""note"",\nin two lines"\r\n' for i in range(10)]
    write("table.csv", ("\ufeffp0,p1,p2,p3,\"labels\",note\r\n" + "".join(rows) + "\r\n").encode())
    write("twice.csv", b"p0,p0,labels\n1,2,0\n")
    # And as MNIST's files.
    write("x.idx.gz", gzip.compress(bytes([0, 0, 13, 2]) + struct.pack(">2I40f", 10, 4, *[0.1 * i for i in range(40)])))
    write("labels.idx", bytes([0, 0, 8, 1]) + struct.pack(">I", 10) + bytes(i % 3 for i in range(10)))
    write("short.idx", bytes([0, 0, 8, 1]) + struct.pack(">I", 10) + bytes(9))
    write("x.npy", numbers)
    write("labels.npy", labels)
    with open(at("data.npz"), "rb") as file:
        write("truncated.npz", file.read()[:300])


if __name__ == "__main__":
    main()
