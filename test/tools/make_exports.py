"""Writes models with the traces that exporters leave: a convolution without traces, and one for each sign.

    make_exports.py FOLDER
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_writer import FLOAT, INT64, Model, field, message

FUSED = ("pkg.onnxscript.rewriter.rule_name", "RemoveIdentity, FuseBatchNormIntoConv")
EVALUATED = ("pkg.torch.onnx.fx_node", "%x = call_function[target=torch.ops.aten._native_batch_norm_legit_no_training.default]")
READS_DETACHED = ("pkg.torch.onnx.fx_node", "%c : call_function[target=torch.ops.aten.convolution.default](args = (%detach_1, %w), kwargs = {})")
READS_BOTH = ("pkg.torch.onnx.fx_node", "%c : call_function[target=torch.ops.aten.convolution.default](args = (%detach_1, %detach), kwargs = {})")
DETACH = ("pkg.torch.onnx.fx_node", "%detach_1 : call_function[target=torch.ops.aten.detach.default](args = (%x,), kwargs = {})")
EXPORTS = {  # names of weight and bias, whether there is a Dropout, and metadata of the convolution
    "plain": ("conv.weight", "conv.bias", False, None),
    "computed": ("onnx::Conv_7", "conv.bias", False, None),
    "numbered": ("onnx::Conv_7", "onnx::Conv_8", False, None),
    "numbered-dropout": ("onnx::Conv_7", "onnx::Conv_8", True, None),
    "fused": ("conv.weight", "conv.bias", False, FUSED),
    "evaluated": ("conv.weight", "conv.bias", False, EVALUATED),
    "detached": ("conv.weight", "conv.bias", False, READS_DETACHED),
    "detach-kept": ("conv.weight", "conv.bias", False, READS_DETACHED),
    "detach-kept-once": ("conv.weight", "conv.bias", False, READS_BOTH),
    "tf": ("net/conv/Conv2D_weights_fused_bn", "net/conv/Conv2D_bias_fused_bn", False, None),
}


def updating(kept, dtype=FLOAT):
    """x minus an average, of which the file has the new value or, as where nothing reads it, has not."""
    model = Model("updating")
    x = model.input("x", dtype, [2, 3])
    average = model.of_module("BUFFER", "average", dtype, [3], [2] * 3)
    if kept:
        average = model.node("Mul", [average, average], ["mul"], "update")
    model.output(model.node("Sub", [x, average], ["y"], "center"), dtype, [2, 3])
    model.update_buffers({"mul": "average"})
    return model


def apart(reads_again):
    """The product with a teacher's weight, which the module computes under torch.no_grad(), minus that with a student's."""
    model = Model("apart")
    x = model.input("x", FLOAT, [2, 3])
    teacher, student = (model.of_module("PARAMETER", name, FLOAT, [3, 3], [0.5] * 9) for name in ("teacher", "student"))
    wanted = model.node("MatMul", [x, teacher], ["wanted"], "first")
    model.nodes[-1] += field(9, message((1, "pkg.torch.onnx.stack_trace"), (2, 'File "<eval_with_key>.42", line 5, in forward')))
    found = model.node("MatMul", [x, teacher if reads_again else student], ["found"], "second")
    model.output(model.node("Sub", [found, wanted], ["y"], "difference"), FLOAT, [2, 3])
    return model


def smoothed(smoothing):
    """A cross-entropy, which the module has called with this label smoothing."""
    model = Model("smoothed")
    scores, labels = model.input("x", FLOAT, [2, 3]), model.input("labels", INT64, [2])
    model.output(model.node("SoftmaxCrossEntropyLoss", [scores, labels], ["loss"], "loss"), FLOAT, [])
    model.record("%loss : [num_users=1] = call_function[target=torch.ops.aten.cross_entropy_loss.default]"
                 f"(args = (%x, %labels, None, 1, -100{smoothing}), kwargs = {{}})")
    return model


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, (weight, bias, drops, entry) in EXPORTS.items():
        model = Model(name)
        x = model.input("x", FLOAT, [2, 1, 4, 4])
        if name.startswith("detach-kept"):
            x = model.node("Identity", [x], ["detached"], "detach")
            model.nodes[-1] += field(9, message((1, DETACH[0]), (2, DETACH[1])))
        model.initializer(weight, FLOAT, [1, 1, 3, 3], [0.5] * 9)
        model.initializer(bias, FLOAT, [1], [0.5])
        y = model.node("Conv", [x, weight, bias], ["conv.out"], "conv")
        if entry:
            model.nodes[-1] += field(9, message((1, entry[0]), (2, entry[1])))
        if drops:
            y = model.node("Dropout", [y], ["kept"], "drop")
        model.output(model.node("Relu", [y], ["y"], "relu"), FLOAT, [2, 1, 2, 2])
        model.save(os.path.join(sys.argv[1], f"{name}.onnx"))
    apart(reads_again=False).save(os.path.join(sys.argv[1], "apart.onnx"))
    apart(reads_again=True).save(os.path.join(sys.argv[1], "apart-and-again.onnx"))
    smoothed(", 0.1").save(os.path.join(sys.argv[1], "smoothing-lost.onnx"))
    smoothed("").save(os.path.join(sys.argv[1], "not-smoothed.onnx"))
    smoothed(", 0.0").save(os.path.join(sys.argv[1], "smoothing-zero.onnx"))
    updating(kept=True).save(os.path.join(sys.argv[1], "update-kept.onnx"))
    updating(kept=True, dtype=INT64).save(os.path.join(sys.argv[1], "update-integers.onnx"))
    updating(kept=False).save(os.path.join(sys.argv[1], "update-lost.onnx"))


if __name__ == "__main__":
    main()
