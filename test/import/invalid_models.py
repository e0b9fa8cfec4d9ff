"""Models that the importer refuses, one for each error."""
from onnx_writer import BOOL, FLOAT, INT64, STRING, Model, node
from small_models import mlp


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
