"""Errors in models."""
import os

from bar import program
from case import ERROR, INVALID, OK, case
from onnx_writer import FLOAT, INT64, Model, message


@case(INVALID, "mlp.onnx", "No such file")
def missing_model(job):
    os.remove(job.path("mlp.onnx"))
    return job.check()


@case(INVALID, "mlp.onnx", "not a regular file")
def model_without_an_end(job):
    os.remove(job.path("mlp.onnx"))
    os.symlink("/dev/zero", job.path("mlp.onnx"))
    return job.check()


@case(ERROR, "cannot read", "mlp.onnx", "not a regular file")
def model_alone_without_an_end(job):
    os.remove(job.path("mlp.onnx"))
    os.symlink("/dev/zero", job.path("mlp.onnx"))
    return [program("gradc"), "check", job.path("mlp.onnx")]


@case(INVALID, "mlp.onnx", "truncated")
def truncated_model(job):
    job.write("mlp.onnx", job.model()[:300])
    return job.check()


@case(INVALID, "expected an ONNX model")
def another_protobuf(job):
    job.write("mlp.onnx", message((1, 7), (2, "not a model")))
    return job.check()


@case(INVALID, "expected an ONNX model")
def no_protobuf(job):
    job.write("mlp.onnx", b"\x89PNG\r\n\x1a\n" + bytes(100))
    return job.check()


@case(INVALID, "StringSplit", "detector", "FlexAttention", "finder")
def unsupported_ops_all_listed(job):
    model = Model()
    x = model.input("x", FLOAT, ["N", 6])
    model.node("StringSplit", [x], ["a"], "detector")
    model.node("FlexAttention", [x], ["b"], "finder")
    model.output(model.node("Add", ["a", "b"], ["logits"], "add"), FLOAT, ["N", 6])
    model.save(job.path("mlp.onnx"))
    return job.check()


@case(INVALID, '"width"', '"x"', "--shape")
def unbound_symbolic_dim(job):
    model = Model()
    model.output(model.node("Relu", [model.input("x", FLOAT, ["N", "width"])], ["y"], "relu"), FLOAT, ["N", "width"])
    model.save(job.path("mlp.onnx"))
    return [program("gradc"), "check", job.path("mlp.onnx")]


@case(INVALID, "fc", '"x"', '"weight"', "6", "7")
def shapes_that_do_not_fit(job):
    model = Model()
    x = model.input("x", FLOAT, ["N", 6])
    weight = model.initializer("weight", FLOAT, [7, 3], [0.5] * 21)
    model.output(model.node("MatMul", [x, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    model.save(job.path("mlp.onnx"))
    return job.check()


def with_external(job, location, offset=None, length=None):
    """A model whose weight is in another file."""
    model = Model()
    x = model.input("x", FLOAT, ["N", 6])
    weight = model.initializer("weight", FLOAT, [6, 3], external=(location, offset, length))
    model.output(model.node("MatMul", [x, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    model.save(job.path("mlp.onnx"))
    return job.check()


@case(OK)
def external_data_that_is_right(job):
    job.write("weights.bin", bytes(100))
    return with_external(job, "weights.bin", 4, 72)


@case(INVALID, "weights.bin", "No such file")
def external_data_absent(job):
    return with_external(job, "weights.bin")


@case(INVALID, "weights.bin", "too short", "72")
def external_data_too_short(job):
    job.write("weights.bin", bytes(40))
    return with_external(job, "weights.bin", 0, 72)


@case(INVALID, "outside the model's folder")
def external_data_above(job):
    return with_external(job, "../weights.bin")


@case(INVALID, "outside the model's folder")
def external_data_absolute(job):
    return with_external(job, "/etc/hostname")


@case(INVALID, "outside the model's folder")
def external_data_behind_a_link(job):
    os.symlink("/etc/hostname", job.path("weights.bin"))
    return with_external(job, "weights.bin")


@case(INVALID, "at most 2^29 elements")
def constant_beyond_memory(job):
    model = Model()
    x = model.input("x", FLOAT, ["N", 6])
    shape = model.initializer("shape", INT64, [2], [1 << 30, 1 << 8])
    zeros = model.node("ConstantOfShape", [shape], ["zeros"], "constant")
    total = model.node("ReduceSum", [zeros], ["total"], "total", keepdims=0)
    model.output(model.node("Add", [x, total], ["logits"], "add"), FLOAT, ["N", 6])
    model.save(job.path("mlp.onnx"))
    return [program("gradc"), "run", job.path("mlp.onnx"), "--input", f"x={job.path('x.npy')}"]
