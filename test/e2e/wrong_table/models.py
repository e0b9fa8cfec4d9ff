"""Wrong models, by the names used in the tables. All take x [N, 6], and give logits [N, 3] if they give any."""
from onnx_writer import BOOL, DOUBLE, FLOAT, INT64, STRING, UINT8, Model, attribute, message, node, tensor, value_info

WEIGHTS = [0.5] * 18


def classifier(opset=17, ir_version=8, weights=(6, 3), dtype=FLOAT, values=WEIGHTS, batch="N", op="MatMul", **attributes):
    model = Model("wrong", opset, ir_version)
    x = model.input("x", dtype, [batch, 6])
    weight = model.initializer("weight", dtype, list(weights), values)
    model.output(model.node(op, [x, weight], ["logits"], "fc", **attributes), dtype, [batch, 3])
    return model


def renamed(weight):
    """A classifier whose weight has a name that an exporter made."""
    model = Model("wrong")
    x = model.input("x", FLOAT, ["N", 6])
    model.output(model.node("MatMul", [x, model.initializer(weight, FLOAT, [6, 3], WEIGHTS)], ["logits"], "fc"), FLOAT, ["N", 3])
    return model


def with_op(op, operands, outputs=("y",), opset=17, shape=(6,), **attributes):
    """x through one node, then a product."""
    model = Model("wrong", opset)
    x = model.input("x", FLOAT, ["N", *shape])
    operands = [x if operand == "x" else model.initializer(f"{op}.{i}", *operand) if operand else ""
                for i, operand in enumerate(operands)]
    y = model.node(op, operands, list(outputs), op.lower(), **attributes)
    weight = model.initializer("weight", FLOAT, [6, 3], WEIGHTS)
    model.output(model.node("MatMul", [y, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    return model


def edited(change):
    model = classifier()
    change(model)
    return model


def cycle(model):
    model.nodes = [node("Add", ["b", "x"], ["a"], "first"), node("Add", ["a", "x"], ["b"], "second"),
                   node("MatMul", ["b", "weight"], ["logits"], "fc")]


def huge(elements):
    model = Model("wrong")
    x = model.input("x", FLOAT, ["N", 6])
    zeros = model.node("ConstantOfShape", [model.initializer("shape", INT64, [2], [elements >> 8, 256])], ["zeros"], "fill")
    total = model.node("ReduceSum", [zeros], ["total"], "total", keepdims=0)
    sum_ = model.node("Add", [x, total], ["sum"], "add")
    weight = model.initializer("weight", FLOAT, [6, 3], WEIGHTS)
    model.output(model.node("MatMul", [sum_, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    return model


def of_long_shape(elements):
    """x in a shape with the given sizes."""
    model = Model("wrong")
    model.input("x", FLOAT, ["N", 6])
    sizes = model.node("ConstantOfShape", [model.initializer("count", INT64, [1], [elements])], ["sizes"], "fill",
                       value=tensor("", INT64, [1], [1]))
    model.output(model.node("Reshape", ["x", sizes], ["y"], "reshape"), FLOAT, None)
    return model


def merged():
    """Two layers of a new model whose biases, all zeros, have become one initializer."""
    model = Model("wrong")
    value = model.input("x", FLOAT, ["N", 6])
    bias = model.initializer("fc1.bias", FLOAT, [3], [0.0] * 3)
    for name, rows in ("fc1", 6), ("fc2", 3):
        weight = model.initializer(f"{name}.weight", FLOAT, [rows, 3], [0.1 * i for i in range(rows * 3)])
        value = model.node("Gemm", [value, weight, bias], ["logits" if name == "fc2" else "hidden"], name)
    model.output("logits", FLOAT, ["N", 3])
    return model


def over_rows():
    """A classifier whose rows compete with each other."""
    model = Model("wrong")
    x, weight = model.input("x", FLOAT, ["N", 6]), model.initializer("weight", FLOAT, [6, 3], WEIGHTS)
    scores = model.node("MatMul", [x, weight], ["scores"], "fc")
    model.output(model.node("Softmax", [scores], ["logits"], "over-rows", axis=0), FLOAT, ["N", 3])
    return model


def nested(depth):
    """Nested Ifs."""
    body = lambda nodes: message((2, "body"), (1, nodes), (12, value_info("y", FLOAT, None)))
    branch = lambda name, graph: message((1, name), (6, graph), (20, 5))
    graph = leaf = body(node("Relu", ["x"], ["y"], "leaf"))
    for _ in range(depth):
        branches = [branch("then_branch", graph), branch("else_branch", leaf)]
        graph = body(message((1, ["c"]), (2, ["y"]), (3, "if"), (4, "If"), (5, branches)))
    inputs = [value_info("x", FLOAT, ["N", 6]), value_info("c", BOOL, [])]
    return raw((1, 8), (7, graph + message((11, inputs))), (8, message((1, ""), (2, 17))))


def looping_over(*text):
    """A loop of three iterations that multiplies a carried value by strings from outside."""
    model = Model("wrong")
    x, trips = model.input("x", FLOAT, ["N", 6]), model.initializer("trips", INT64, [], [3])
    model.initializers.append(message((1, [len(text)]), (2, STRING), (6, list(text)), (8, "text")))
    body = message((1, [node("Identity", ["go"], ["goes"]), node("Mul", ["v", "text"], ["w"], "product")]), (2, "body"),
                   (11, [value_info("i", INT64, []), value_info("go", BOOL, []), value_info("v", FLOAT, None)]),
                   (12, [value_info("goes", BOOL, []), value_info("w", FLOAT, None)]))
    model.nodes.append(message((1, [trips, "", x]), (2, ["logits"]), (3, "loop"), (4, "Loop"),
                               (5, message((1, "body"), (6, body), (20, 5)))))
    model.output("logits", FLOAT, ["N", 6])
    return model


def calling(*functions):
    """A call of the first of the model's own functions; each has a name and the functions that it calls."""
    sets = [message((1, ""), (2, 17)), message((1, "own"), (2, 1))]
    bodies = [message((1, name), (4, ["x"]), (5, ["y"]), (7, [node(callee, ["x"], ["y"], "call", "own")]), (9, sets),
                      (10, "own")) for name, callee in functions]
    graph = message((1, node(functions[0][0], ["x"], ["y"], "call", "own")), (2, "graph"),
                    (11, value_info("x", FLOAT, ["N", 6])), (12, value_info("y", FLOAT, ["N", 6])))
    return raw((1, 8), (7, graph), (8, sets), (25, bodies))


def of_labels():
    """Values that are not floats, and one that is constant between steps."""
    model = Model("wrong")
    x, labels = model.input("x", FLOAT, ["N", 6]), model.input("labels", INT64, ["N"])
    model.node("ArgMax", [x], ["y"], "largest", axis=1, keepdims=0)
    model.node("Round", [x], ["rounded"], "round")
    number = model.node("Cast", [labels], ["number"], "cast", to=FLOAT)
    total = model.node("ReduceSum", [x, model.initializer("axes", INT64, [1], [1])], ["total"], "total", keepdims=0)
    model.output(model.node("Mul", [number, total], ["z"], "mul"), FLOAT, ["N"])
    return model


def wide():
    """Rows of 1,200 numbers."""
    model = Model("wrong")
    x = model.input("x", FLOAT, ["N", 6])
    model.output(model.node("Tile", [x, model.initializer("times", INT64, [2], [1, 200])], ["y"], "tile"), FLOAT, ["N", 1200])
    return model


def with_slope(dims, *operands, x="x", y="logits"):
    """A classifier with an input "slope" in its logits or, with `operands`, with a node Gradient that computes it."""
    model = classifier()
    if operands:
        model.node("Gradient", list(operands), ["slope"], "slope-of", domain="ai.onnx.preview.training", xs=[x], y=y)
    else:
        model.input("slope", FLOAT, dims)
    model.output(model.node("ReduceSum", ["slope"], ["loss"], "loss", keepdims=0), FLOAT, [])
    return model


def reshaped(target):
    return with_op("Reshape", ["x", (INT64, [len(target)], target)])


def behind(op, *operands, **attributes):
    """A classifier followed by a node whose result is the logits."""
    model = Model("wrong")
    weight = model.initializer("weight", FLOAT, [6, 3], WEIGHTS)
    scores = model.node("MatMul", [model.input("x", FLOAT, ["N", 6]), weight], ["scores"], "fc")
    names = [model.initializer(name, *tensor) for name, tensor in operands]
    model.output(model.node(op, [scores, *names], ["logits"], op.lower(), **attributes), FLOAT, ["N", 3])
    return model


def shared():
    """One matrix used both before and in the classifier."""
    model = Model("wrong")
    weight = model.initializer("weight", FLOAT, [6, 6], WEIGHTS * 2)
    hidden = model.node("MatMul", [model.input("x", FLOAT, ["N", 6]), weight], ["hidden"], "first")
    model.output(model.node("MatMul", [hidden, weight], ["logits"], "second"), FLOAT, ["N", 6])
    return model


def embedding_and_classifier():
    """One matrix, read by rows and as the classifier."""
    model = Model("wrong")
    x, table = model.input("x", FLOAT, ["N", 6]), model.initializer("table", FLOAT, [6, 3], WEIGHTS)
    rows = model.node("Gather", [table, model.node("ArgMax", [x], ["largest"], "largest", axis=1, keepdims=0)], ["rows"], "embed")
    model.output(model.node("Add", [rows, model.node("MatMul", [x, table], ["product"], "fc")], ["logits"], "sum"), FLOAT, ["N", 3])
    return model


def codes_in_a_branch():
    """Codes of a product that a branch multiplies by as well."""
    model = Model("wrong")
    model.input("x", FLOAT, ["N", 6])
    operands = ["x", model.initializer("weight", UINT8, [3, 1, 8], [0x9A] * 24), model.initializer("scales", FLOAT, [3], [0.5] * 3)]
    how = dict(domain="com.microsoft", K=6, N=3, bits=4, block_size=16)
    model.node("MatMulNBits", operands, ["product"], "fc", **how)
    nodes = {"then_branch": node("MatMulNBits", operands, ["logits"], "again", **how), "else_branch": node("Relu", ["product"], ["logits"], "relu")}
    branches = [message((1, name), (6, message((1, body), (2, "body"), (12, value_info("logits", FLOAT, None)))), (20, 5))
                for name, body in nodes.items()]
    model.nodes.append(message((1, [model.initializer("c", BOOL, [], [True])]), (2, ["logits"]), (3, "branch"), (4, "If"), (5, branches)))
    model.output("logits", FLOAT, ["N", 3])
    return model


def raw(*fields):
    return message(*fields)


MODELS = {
    "opset-0": lambda: classifier(opset=0),
    "opset-5": lambda: classifier(opset=5),
    "opset-99": lambda: classifier(opset=99),
    "ir-99": lambda: classifier(ir_version=99),
    "no-graph": lambda: raw((1, 8), (2, "gradc-test"), (8, message((1, ""), (2, 17)))),
    "no-opset": lambda: raw((1, 8), (7, message((2, "empty")))),
    "other-domain": lambda: with_op("Fancy", ["x"], domain="my.domain"),
    "no-outputs": lambda: edited(lambda m: m.outputs.clear()),
    "no-nodes": lambda: edited(lambda m: m.nodes.clear()),
    "no-inputs": lambda: edited(lambda m: m.inputs.clear()),
    "input-twice": lambda: edited(lambda m: m.inputs.append(m.inputs[0])),
    "initializer-twice": lambda: edited(lambda m: m.initializers.append(m.initializers[0])),
    "result-twice": lambda: edited(lambda m: m.nodes.append(m.nodes[0])),
    "cycle": lambda: edited(cycle),
    "undefined-operand": lambda: edited(lambda m: m.nodes.__setitem__(0, node("MatMul", ["x", "wieght"], ["logits"], "fc"))),
    "nameless-initializer": lambda: edited(lambda m: m.initializers.append(tensor("", FLOAT, [1], [1.0]))),
    "negative-dim": lambda: edited(lambda m: m.initializers.__setitem__(0, tensor("weight", FLOAT, [-6, 3], WEIGHTS))),
    "absurd-dims": lambda: edited(
        lambda m: m.initializers.__setitem__(0, tensor("weight", FLOAT, [1 << 40, 1 << 40], WEIGHTS))),
    "too-few-numbers": lambda: edited(lambda m: m.initializers.__setitem__(0, tensor("weight", FLOAT, [6, 3], WEIGHTS[:5]))),
    "string-weight": lambda: edited(lambda m: m.initializers.__setitem__(0, tensor("weight", STRING, [6, 3], data=b""))),
    "unknown-type": lambda: edited(lambda m: m.initializers.__setitem__(0, tensor("weight", 77, [6, 3], data=b""))),
    "no-class": lambda: classifier(weights=(6, 0), values=[]),
    "wrong-shape": lambda: classifier(weights=(5, 3), values=WEIGHTS[:15]),
    "mixed-types": lambda: edited(lambda m: m.initializers.__setitem__(0, tensor("weight", DOUBLE, [6, 3], WEIGHTS))),
    "fixed-batch": lambda: classifier(batch=5),
    "no-shape": lambda: edited(lambda m: m.inputs.__setitem__(0, value_info("x", FLOAT, None))),
    "two-symbols": lambda: edited(lambda m: m.inputs.__setitem__(0, value_info("x", FLOAT, ["N", "width"]))),
    "string-input": lambda: edited(lambda m: m.inputs.__setitem__(0, value_info("x", STRING, ["N", 6]))),
    "unknown-op": lambda: with_op("Frobnicate", ["x"]),
    "no-operands": lambda: with_op("Relu", []),
    "too-many-operands": lambda: with_op("Relu", ["x", "x"]),
    "empty-operand": lambda: with_op("Relu", [""]),
    "attribute-of-another-type": lambda: with_op("LeakyRelu", ["x"], alpha="steep"),
    "list-for-a-number": lambda: with_op("Softmax", ["x"], axis=[1]),
    "merged-parameters": merged,
    "renamed": lambda: renamed("val_3"),
    "renamed-by-the-older-exporter": lambda: renamed("onnx::MatMul_7"),
    "scaled": lambda: behind("Mul", ("scale", (FLOAT, [3], [0.5, 1.0, 2.0]))),
    "sliced": lambda: behind("Slice", ("starts", (INT64, [1], [0])), ("ends", (INT64, [1], [3])), ("axes", (INT64, [1], [1]))),
    "shaped": lambda: behind("Reshape", ("shape", (INT64, [2], [3, -1]))),
    "shared": shared,
    "embedding-and-classifier": embedding_and_classifier,
    "codes-in-a-branch": codes_in_a_branch,
    "f64": lambda: classifier(dtype=DOUBLE),
    "external-data": lambda: edited(lambda m: m.initializers.__setitem__(
        0, tensor("weight", FLOAT, [6, 3], external=("weight.bin", 128, 72)))),
    "unknown-attribute": lambda: with_op("Relu", ["x"], slope=0.5),
    "axis-out-of-range": lambda: with_op("Softmax", ["x"], axis=5),
    "reshape-to-another-size": lambda: reshaped([4, 7]),
    "reshape-with-two-unknowns": lambda: reshaped([-1, -1]),
    "gemm-of-rank-3": lambda: with_op("Gemm", ["x", (FLOAT, [6, 6, 1], [0.0] * 36)]),
    "conv-of-rank-2": lambda: with_op("Conv", ["x", (FLOAT, [6, 6, 1], [0.0] * 36)]),
    "conv-without-weights": lambda: with_op("Conv", ["x"]),
    "conv-groups": lambda: with_op("Conv", ["x", (FLOAT, [4, 3, 1], [0.0] * 12)], shape=(6, 6), group=4),
    "pool-without-a-kernel": lambda: with_op("MaxPool", ["x"], shape=(6, 6)),
    "pool-beyond-the-picture": lambda: with_op("MaxPool", ["x"], shape=(6, 6), kernel_shape=[9]),
    "transpose-of-wrong-rank": lambda: with_op("Transpose", ["x"], perm=[0, 1, 2]),
    "transpose-twice-the-same": lambda: with_op("Transpose", ["x"], perm=[1, 1]),
    "concat-without-an-axis": lambda: with_op("Concat", ["x", "x"]),
    "concat-of-other-shapes": lambda: with_op("Concat", ["x", (FLOAT, [5, 7], [0.0] * 35)], axis=1),
    "cast-to-nothing": lambda: with_op("Cast", ["x"], to=0),
    "cast-to-a-string": lambda: with_op("Cast", ["x"], to=STRING),
    "gather-beyond": lambda: with_op("Gather", ["x", (INT64, [6], [0, 1, 2, 3, 4, 9])], axis=1),
    "clip-without-order": lambda: with_op("Clip", ["x", (FLOAT, [], [2.0]), (FLOAT, [], [1.0])]),
    "dropout-of-all": lambda: with_op("Dropout", ["x", (FLOAT, [], [1.5])]),
    "not-of-a-float": lambda: with_op("Not", ["x"]),
    "batch-norm-of-wrong-size": lambda: with_op("BatchNormalization", ["x"] + [(FLOAT, [5], [1.0] * 5)] * 4),
    "range-without-a-step": lambda: with_op("Range", [(FLOAT, [], [0.0]), (FLOAT, [], [6.0]), (FLOAT, [], [0.0])]),
    "expand-to-less": lambda: with_op("Expand", ["x", (INT64, [2], [1, 4])]),
    "pad-negative-beyond": lambda: with_op("Pad", ["x", (INT64, [4], [0, -4, 0, -4])]),
    "split-that-does-not-add-up": lambda: with_op("Split", ["x", (INT64, [2], [2, 2])], outputs=("y", "z"), axis=1),
    "onehot-of-negative-depth": lambda: with_op("OneHot", ["x", (INT64, [], [-3]), (FLOAT, [2], [0.0, 1.0])]),
    "topk-of-too-many": lambda: with_op("TopK", ["x", (INT64, [1], [9])], outputs=("y", "z")),
    "over-rows": over_rows,
    "of-labels": of_labels,
    "wide": wide,
    "slope": lambda: with_slope(["N", 6]),
    "slope-of-one-dim": lambda: with_slope(["N"]),
    "gradient-at-other-values": lambda: with_slope(None, "logits"),
    "gradient-of-nothing": lambda: with_slope(None, "x", y=""),
    "gradient-of-too-much": lambda: with_slope(None, "x", "weight"),
    "gradient-of-itself": lambda: with_slope(None, "x", y="loss"),
    "nested-1000": lambda: nested(1000),
    "loop-over-strings": lambda: looping_over("a", "b"),
    "function-calls-itself": lambda: calling(("F", "F")),
    "functions-call-each-other": lambda: calling(("F", "G"), ("G", "F")),
    "negative-input-dim": lambda: edited(lambda m: m.inputs.__setitem__(0, value_info("x", FLOAT, [-4, 6]))),
    "absurd-input-dims": lambda: edited(lambda m: m.inputs.__setitem__(0, value_info("x", FLOAT, [1 << 40, 1 << 40]))),
    "constant-10^9": lambda: huge(10**9),
    "shape-of-2^28": lambda: of_long_shape(1 << 28),
    "constant-2^33": lambda: huge(1 << 33),
    "constant-2^38": lambda: huge(1 << 38),
    "constant-2^60": lambda: huge(1 << 60),
}
