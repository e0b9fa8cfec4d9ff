"""Small models with variants: each function makes one."""
from onnx_writer import BOOL, FLOAT, INT64, Model, tensor, value_info


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
