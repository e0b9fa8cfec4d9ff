"""Errors in maps by a model, when a job is compiled and when it is trained."""
import array
import os

from bar import program, write_npy
from case import ERROR, INVALID, OK, case
from onnx_writer import DOUBLE, FLOAT, INT64, Model


def with_map(job, block='output { name: "y"  field: "x" }', behind=False, dims=(6,), dtype=FLOAT, op="Relu", file="map.onnx"):
    """A map stage by a model of one op over x; one of the model's inputs has the same name."""
    model = Model()
    model.output(model.node(op, [model.input("x", dtype, list(dims))], ["y"], "only"), dtype, list(dims))
    model.save(job.path("map.onnx"))
    stage, batch = f'stage {{ map {{ model {{ file: "{file}"  {block} }} }} }}', "stage { batch { size: 4 } }"
    job.edit("stage { batch { size: 4  drop_remainder: true } }", f"{batch} {stage}" if behind else f"{stage} {batch}")
    return job.check()


@case(OK)
def map_model_that_is_right(job):
    return with_map(job)


@case(INVALID, "none.onnx", "No such file")
def map_model_missing(job):
    return with_map(job, file="none.onnx")


@case(INVALID, "mlp.textproto:6", "missing file")
def map_model_without_a_file(job):
    return with_map(job, file="")


@case(INVALID, "map.onnx", "only", "StringSplit", "is not supported")
def map_model_with_an_unsupported_op(job):
    return with_map(job, op="StringSplit")


@case(INVALID, 'no field "image"', "it has labels, x")
def map_model_fed_from_no_field(job):
    return with_map(job, 'input { field: "image"  to: "x" }')


@case(INVALID, "missing field")
def map_model_input_without_a_field(job):
    return with_map(job, 'input { to: "x" }')


@case(INVALID, "missing name")
def map_model_output_without_a_name(job):
    return with_map(job, 'output { field: "x" }')


@case(INVALID, 'graph input "z" is not in the model')
def map_model_without_that_input(job):
    return with_map(job, 'input { field: "x"  to: "z" }')


@case(INVALID, 'graph input "x" is fed twice')
def map_model_input_fed_twice(job):
    return with_map(job, 'input { field: "x" } input { field: "labels"  to: "x" }')


@case(INVALID, 'output "z" is not in the model')
def map_model_without_that_output(job):
    return with_map(job, 'output { name: "z" }')


@case(INVALID, 'field "x" is made of two outputs')
def map_model_with_a_field_made_twice(job):
    return with_map(job, 'output { name: "y"  field: "x" } output { name: "y"  field: "x" }')


@case(INVALID, 'expected field "x"', "to be f32 [7] for graph input", "found rows of f32 [6]")
def map_model_of_another_shape(job):
    return with_map(job, dims=(7,))


@case(INVALID, "to be f32 [4, 6]", "found rows of f32 [6]")
def map_model_of_batches_before_batch(job):
    return with_map(job, dims=(4, 6))


@case(INVALID, "to be f32 [6]", "found batches of f32 [4, 6]")
def map_model_of_rows_behind_batch(job):
    return with_map(job, behind=True)


@case(INVALID, "to be f64 [6]", "found rows of f32 [6]", 'map { field: "x" cast: F64 }')
def map_model_of_another_type(job):
    return with_map(job, dtype=DOUBLE)


@case(INVALID, "to be f32 [4, 6]", "found batches of f32 [3, 6]", "last batch, which has 3 of 4 rows")
def map_model_that_cannot_take_the_last_batch(job):
    for name, values, shape in (("x.npy", array.array("f", [0.5] * 138), (23, 6)),
                                ("labels.npy", array.array("q", [1] * 23), (23,))):
        write_npy(job.path(name), values, shape)
    return with_map(job, behind=True, dims=(4, 6))


@case(INVALID, 'expected output "y" to have a first dim of 4', "f32 [6]")
def map_model_that_drops_the_batch(job):
    model = Model()
    value = model.node("ReduceMean", [model.input("x", FLOAT, ["N", 6])], ["y"], "mean", axes=[0], keepdims=0)
    model.output(value, FLOAT, [6])
    model.save(job.path("mean.onnx"))
    job.edit("true } }", 'true } } stage { map { model { file: "mean.onnx" } } }')
    return job.check()


@case(INVALID, "expected a model with inputs")
def map_model_without_inputs(job):
    model = Model()
    model.output(model.node("RandomUniform", [], ["x"], "noise", shape=[6]), FLOAT, [6])
    model.save(job.path("noise.onnx"))
    job.edit("stage { batch {", 'stage { map { model { file: "noise.onnx" } } } stage { batch {')
    return job.check()


@case(INVALID, "names field 'x'", "in the model's input and output")
def map_model_with_a_field_beside_it(job):
    with_map(job)
    job.edit("map {", 'map { field: "x" ')
    return job.check()


@case(INVALID, 'unknown field "entry" in MapModel')
def map_model_with_an_entry(job):
    return with_map(job, 'entry: "map.0"')


@case(INVALID, "data stage 'map' comes after batch", "only a map by a model is expected")
def another_map_behind_batch(job):
    job.edit("true } }", 'true } } stage { map { field: "x"  scale: 2 } }')
    return job.check()


@case(INVALID, "dim 1 of graph input", "is known with the data")
def map_model_of_open_size_without_data(job):
    os.remove(job.path("x.npy"))
    return with_map(job, dims=("N", "width"))


@case(INVALID, "runs on CPUs", "--target=cpu,cuda:sm_90")
def map_model_for_a_gpu_alone(job):
    with_map(job)
    return [program("gradc"), "plan", job.spec, "--target=cuda:sm_90"]


@case(ERROR, "x.npy", "rows of f32 [5]", "model 'map.onnx' expects f32 [6]")
def rows_that_do_not_fit_a_map_model_when_trained(job):
    with_map(job)
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f", [0.0] * 120), (24, 5))
    return command


@case(ERROR, "rows of f32 [5]", "model 'map.onnx' expects f32 [6]")
def batches_that_do_not_fit_a_map_model_when_trained(job):
    with_map(job, behind=True, dims=("N", 6))
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f", [0.0] * 120), (24, 5))
    return command


@case(ERROR, "compiled for last batches of 3 rows for model 'map.onnx'", "the data gives 2")
def last_batch_that_no_map_model_takes(job):
    write_npy(job.path("x.npy"), array.array("f", [0.5] * 23 * 6), (23, 6))
    write_npy(job.path("labels.npy"), array.array("q", [1] * 23), (23,))
    with_map(job, behind=True, dims=("N", 6))
    model = Model()  # the rows in reverse order, which is a slice of the batch: it takes one number of rows
    bounds = [model.initializer(name, INT64, [1], [value]) for name, value in (("s", -1), ("e", -1 << 40), ("a", 0), ("d", -1))]
    model.output(model.node("Slice", [model.input("x", FLOAT, ["N", 6]), *bounds], ["y"], "reverse"), FLOAT, ["N", 6])
    model.save(job.path("map.onnx"))
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f", [0.5] * 22 * 6), (22, 6))
    write_npy(job.path("labels.npy"), array.array("q", [1] * 22), (22,))
    return command


@case(ERROR, "label 9 in row 2", "'y'", "expected 0 to 2")
def label_out_of_range_from_a_map_model(job):
    model = Model()
    one = model.initializer("one", INT64, [], [1])
    model.output(model.node("Mul", [model.input("labels", INT64, ["N"]), one], ["y"], "same"), INT64, ["N"])
    model.save(job.path("labels.onnx"))
    job.edit("true } }", 'true } } stage { map { model { file: "labels.onnx" } } }')
    job.edit('labels: "labels"', 'labels: "y"')
    command = job.train()
    write_npy(job.path("labels.npy"), array.array("q", [0, 1, 9] + [1] * 21), (24,))
    return command
