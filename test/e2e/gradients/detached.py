"""A model with a value that PyTorch's exporter has marked as detached: losses follow the formula without the gradient through it.

    detached.py FOLDER
"""
import sys

from regression import BATCH, RATE, Regression, follows
from onnx_writer import FLOAT, Model

regression = Regression(sys.argv[1])

# p = w x + detach(w x)
model = Model("detached")
product = model.node("Mul", [model.input("x", FLOAT, ["N", 1]), model.initializer("w", FLOAT, [1], [0.5])], ["product"], "scale")
model.output(model.node("Add", [product, model.detach(product, "detach")], ["p"], "sum"), FLOAT, ["N", 1])
model.save(regression.path("detached.onnx"))
found = regression.train("detached.onnx")


def wanted(paths):
    """The losses, if `paths` of the two operands of the sum have a gradient."""
    w, losses = 0.5, []
    for pairs in regression.batches():
        losses.append(sum((2 * w * x - y) ** 2 for x, y in pairs) / BATCH)
        w -= RATE * sum(2 * (2 * w * x - y) * paths * x for x, y in pairs) / BATCH
    return losses


print("one path:", follows(found, wanted(1)))
print("both paths:", follows(found, wanted(2)))
