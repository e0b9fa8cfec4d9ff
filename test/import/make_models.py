"""Makes the models and data for the importer's tests: valid ones, and one for each error.

    make_models.py FOLDER
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from data_files import write_data
from invalid_models import bad, one
from onnx_writer import FLOAT, Model, field, message, raw
from small_models import mlp
from valid_models import good, seeds


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
    write_data(at())


if __name__ == "__main__":
    main()
