"""A model that subtracts an average of its own, a buffer that PyTorch's exporter has recorded as updated: losses follow the formula in which each
step moves the average and passes it no gradient, also in two parts, whose averages follow each other.

    buffers.py FOLDER
"""
import sys

from regression import BATCH, RATE, Regression, follows
from onnx_writer import FLOAT, Model

KEEP = 0.75
regression = Regression(sys.argv[1], mean=1)

# p = w x - average', where average' = KEEP average + (1 - KEEP) mean(w x)
model = Model("buffers")
product = model.node("Mul", [model.input("x", FLOAT, ["N", 1]), model.of_module("PARAMETER", "w", FLOAT, [1], [0.5])], ["product"], "scale")
mean = model.node("ReduceMean", [product], ["mean"], "mean", axes=[0], keepdims=0)
old = model.node("Mul", [model.of_module("BUFFER", "average", FLOAT, [1], [0.0]), model.initializer("keep", FLOAT, [], [KEEP])], ["old"], "old")
new = model.node("Mul", [mean, model.initializer("take", FLOAT, [], [1 - KEEP])], ["new"], "new")
model.output(model.node("Sub", [product, model.node("Add", [old, new], ["add"], "update")], ["p"], "center"), FLOAT, ["N", 1])
model.update_buffers({"add": "average"})
model.save(regression.path("buffers.onnx"))


def wanted(parts=1, moves=True, passes=False):
    """The losses, if each of the `parts` of a batch `moves` the average and `passes` it the gradient."""
    w, average, losses = 0.5, 0.0, []
    for batch in regression.batches():
        loss, gradient, size = 0.0, 0.0, BATCH // parts
        for part in range(parts):
            pairs = batch[part * size:(part + 1) * size]
            mean = sum(x for x, _ in pairs) / size
            now = KEEP * average + (1 - KEEP) * w * mean
            loss += sum((w * x - now - y) ** 2 for x, y in pairs) / BATCH
            gradient += sum(2 * (w * x - now - y) * (x - passes * (1 - KEEP) * mean) for x, y in pairs) / BATCH
            average = now if moves else average
        losses.append(loss)
        w -= RATE * gradient
    return losses


whole, halves, still = (regression.train("buffers.onnx", name, more) for name, more in (
    ("whole", ""), ("halves", "micro_batches: 2"), ("still", 'freeze: "average"')))
print("updated:", follows(whole, wanted()))
print("in two parts:", follows(halves, wanted(parts=2)))
print("frozen:", follows(still, wanted(moves=False)))
print("not updated:", follows(whole, wanted(moves=False)))
print("with its gradient:", follows(whole, wanted(passes=True)))
