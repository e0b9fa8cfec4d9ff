"""Makes a model whose loss runs through the ops that the importer composes from others, each with its own parameter, and a spec that trains
it.

    gradients.py FOLDER
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from data_files import archive, npy
from onnx_writer import FLOAT, INT8, INT64, Model, raw


class Branches:
    """Every branch ends in the mean of its squared result; the loss is their sum."""

    def __init__(self, model):
        self.model, self.ends = model, []

    def numbers(self, name, dims, low, high):
        count = 1
        for d in dims:
            count *= d
        values = [low + (high - low) * ((i * 7 + 3) % 23) / 22 for i in range(count)]
        return self.model.initializer(name, FLOAT, dims, values)

    def ints(self, name, values, dtype=INT64, dims=None):
        return self.model.initializer(name, dtype, [len(values)] if dims is None else dims, values)

    def node(self, op, inputs, name, **attributes):
        return self.model.node(op, inputs, [name + ".out"], name, **attributes)

    def end(self, value, name):
        square = self.node("Mul", [value, value], name + ".square")
        self.ends.append(self.node("ReduceMean", [square], name + ".mean", keepdims=0))

    def op(self, op, dims, low, high, *more, **attributes):
        parameter = self.numbers(op + ".weight", dims, low, high)
        self.end(self.node(op, [parameter, *more], op, **attributes), op)


def composed():
    model = Model("composed", opset=25)
    b = Branches(model)
    for op, low, high in [("Tan", -1.2, 1.2), ("Asin", -0.8, 0.8), ("Acos", -0.8, 0.8), ("Atan", -3.0, 3.0),
                          ("Sinh", -2.0, 2.0), ("Cosh", -2.0, 2.0), ("Asinh", -0.9, 3.0), ("Acosh", 1.2, 4.0),
                          ("Atanh", -0.8, 0.8)]:
        b.op(op, [6], low, high)
    b.op("CumSum", [3, 5], -1.0, 1.0, b.ints("sum.axis", [1], dims=[]), exclusive=1)
    b.op("CumProd", [3, 5], 0.5, 1.5, b.ints("product.axis", [0], dims=[]), reverse=1)
    b.op("Trilu", [4, 4], -1.0, 1.0)
    b.op("CenterCropPad", [5, 3], -1.0, 1.0, b.ints("center.shape", [3, 6]))
    b.op("Shrink", [8], -2.0, 2.0, bias=0.25, lambd=0.3)
    b.op("LpNormalization", [3, 4], 0.2, 1.0, p=2)
    b.op("RMSNormalization", [3, 4], -1.0, 1.0, b.numbers("rms.scale", [4], 0.5, 1.5))
    b.op("Einsum", [3, 3, 4], -1.0, 1.0, b.numbers("einsum.other", [4, 3], -1.0, 1.0), equation="iij,jk->ki")
    b.op("DFT", [2, 6, 1], -1.0, 1.0, onesided=1)
    b.op("STFT", [1, 9, 1], -1.0, 1.0, b.ints("step", [2], dims=[]), b.numbers("stft.window", [4], 0.2, 1.0))
    for name, dims, how in [("real", [2, 48, 1], {"onesided": 1}), ("inverse", [2, 24, 2], {"inverse": 1}),
                            ("half", [1, 25, 2], {"onesided": 1, "inverse": 1}), ("prime", [1, 73, 2], {}), ("long", [1, 288, 2], {})]:
        name = "fourier." + name
        b.end(b.node("DFT", [b.numbers(name + ".x", dims, -1.0, 1.0)], name, **how), name + ".end")
    b.op("AffineGrid", [2, 2, 3], -1.0, 1.0, b.ints("grid.size", [2, 1, 2, 3]))
    b.op("Col2Im", [1, 4, 6], -1.0, 1.0, b.ints("picture", [3, 4]), b.ints("block", [2, 2]))
    columns = [b.numbers("fold.weight", [1, 12, 10], -1.0, 1.0), b.ints("fold.picture", [5, 6]), b.ints("fold.block", [3, 2])]
    b.end(b.node("Col2Im", columns, "fold", strides=[2, 1], dilations=[1, 2], pads=[1, 0, 0, 1]), "folded")
    b.op("ReverseSequence", [4, 3], -1.0, 1.0, b.ints("lengths", [2, 0, 4]))
    b.op("TopK", [3, 6], -1.0, 1.0, b.ints("best", [2]))
    b.op("Det", [2, 3, 3], -1.0, 1.0)
    b.end(b.node("Det", [b.numbers("loops.x", [1, 8, 8], -1.0, 1.0)], "loops"), "eliminated")
    b.op("MaxPool", [1, 2, 4, 5], -1.0, 1.0, kernel_shape=[4, 5], pads=[2, 2, 1, 2])
    b.op("AveragePool", [1, 2, 4, 5], -1.0, 1.0, kernel_shape=[4, 5], pads=[2, 2, 1, 2])
    b.op("TensorScatter", [2, 4, 3], -1.0, 1.0, b.numbers("steps", [2, 2, 3], -1.0, 1.0), b.ints("written", [1, 3]),
         mode="circular")
    b.op("MaxUnpool", [1, 2, 2, 2], -1.0, 1.0, b.ints("places", [0, 3, 8, 15, 17, 18, 25, 28], dims=[1, 2, 2, 2]),
         kernel_shape=[2, 2], strides=[2, 2])
    b.op("GridSample", [1, 2, 4, 4], -1.0, 1.0, b.numbers("grid", [1, 2, 3, 2], -1.3, 1.2))
    cubic = [b.numbers("cubic.x", [1, 1, 5, 4], -1.0, 1.0), b.numbers("cubic.grid", [1, 2, 2, 2], -1.1, 0.9)]
    b.end(b.node("GridSample", cubic, "cubic", mode="cubic", padding_mode="reflection"), "sampled")
    b.op("RoiAlign", [2, 2, 5, 5], -1.0, 1.0, b.numbers("regions", [2, 4], 0.3, 4.1), b.ints("owners", [1, 0]), output_height=2,
         output_width=2, sampling_ratio=2)
    b.op("Resize", [2, 150, 2], -1.0, 1.0, "", "", b.ints("resized", [2, 400, 2]), mode="linear")
    nearest = [b.numbers("nearest.x", [1, 133, 3], -1.0, 1.0), "", "", b.ints("nearest.sizes", [1, 200, 3])]
    b.end(b.node("Resize", nearest, "nearest", mode="nearest"), "moved")
    b.op("DeformConv", [1, 2, 4, 4], -1.0, 1.0, b.numbers("deform.filter", [3, 2, 2, 2], -1.0, 1.0),
         b.numbers("deform.offset", [1, 8, 3, 3], -0.4, 0.45), b.numbers("deform.bias", [3], -1.0, 1.0),
         b.numbers("deform.mask", [1, 4, 3, 3], 0.2, 1.0))
    scores = b.numbers("loss.scores", [3, 4], -1.0, 1.0)
    labels, weights = b.ints("labels.known", [1, 9, 3]), b.numbers("loss.weights", [4], 0.5, 1.5)
    b.end(b.node("SoftmaxCrossEntropyLoss", [scores, labels, weights], "SoftmaxCrossEntropyLoss", ignore_index=9), "loss.end")
    quantized = b.ints("quantized", [-3, 5, 7, 0], INT8, [2, 2])
    b.end(b.node("DequantizeLinear", [quantized, b.numbers("scales", [2], 0.1, 0.3)], "DequantizeLinear", axis=0), "scaled")
    heads = [b.numbers("attention." + name, dims, -1.0, 1.0)
             for name, dims in [("query", [1, 4, 3, 2]), ("key", [1, 2, 3, 2]), ("value", [1, 2, 3, 2])]]
    b.end(b.node("Attention", heads, "Attention", is_causal=1, softcap=2.0), "attended")
    angles = [b.numbers("rotary." + name, [1, 3, 1], -1.0, 1.0) for name in ("cosine", "sine")]
    rotated = b.node("RotaryEmbedding", [b.numbers("rotary.x", [1, 2, 3, 4], -1.0, 1.0), *angles], "RotaryEmbedding",
                     interleaved=1, rotary_embedding_dim=2)
    b.end(rotated, "rotated")
    x = model.input("x", FLOAT, ["N", 4])
    b.end(b.node("MatMul", [x, b.numbers("weight", [4, 2], -1.0, 1.0)], "product"), "used")
    model.output(b.node("Sum", b.ends, "loss"), FLOAT, [])
    return model


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    composed().save(os.path.join(folder, "composed.onnx"))
    archive(os.path.join(folder, "data.npz"), x=npy("<f4", [10, 4], raw(FLOAT, [0.1 * i for i in range(40)])))
    with open(os.path.join(folder, "composed.textproto"), "w", encoding="utf-8") as file:
        file.write('model: "composed.onnx"\nloss { scalar: "loss.out" }\noptimizer { sgd { learning_rate: 0.01 } }\n'
                   'data { source { npz { path: "data.npz" } } stage { batch { size: 5 } } }\nepochs: 1\n'
                   'trainable: "rotary.*"\n')


if __name__ == "__main__":
    main()
