"""Models that the importer takes: good() for its tests, seeds() for the fuzz target."""
import struct

from onnx_writer import DOUBLE, FLOAT, FLOAT8E4M3FN, INT4, INT64, UINT8, Model, message, node
from small_models import (averaged, channels_last, convnet, layers_of_one_bias, left_in_training, masked, mlp, named_like_entries, normalized,
                          pictures, segmenter)


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
