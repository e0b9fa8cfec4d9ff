"""Errors in data, when a job is compiled and when it is trained."""
import array
import os
import shutil
import subprocess

from bar import ROOT, compile_spec, program, write_npy
from case import ERROR, INVALID, Job, answer, case


@case(INVALID, "labels", "integers")
def labels_of_the_wrong_type_when_compiled(job):
    write_npy(job.path("labels.npy"), array.array("f", [0.0] * 24), (24,))
    return job.check()


@case(INVALID, "expected labels of 6 classes", "found 30 classes in field \"label\" of \"pictures\"")
def class_folders_that_the_logits_do_not_have(job):
    """Thirty folders whose pictures cannot be decoded yet, for a model with fewer classes."""
    source = os.path.join(ROOT, "examples/pictures")
    shutil.copy(os.path.join(source, "cnn.onnx"), job.folder)
    with open(os.path.join(source, "train.textproto")) as file, open(job.path("train.textproto"), "w") as spec:
        spec.write(file.read().replace("  rows { every: 5  except: 0 }", ""))
    for number in range(30):
        os.makedirs(job.path(f"pictures/{number}"))
        for picture in range(8):
            with open(job.path(f"pictures/{number}/{picture}.png"), "wb") as file:
                file.write(b"no picture")
    return [program("gradc"), "check", job.path("train.textproto")]


@case(INVALID, "x", "[4, 6]", "5")
def data_of_the_wrong_shape_when_compiled(job):
    write_npy(job.path("x.npy"), array.array("f", [0.0] * 120), (24, 5))
    return job.check()


@case(ERROR, "labels", "f32", "i64")
def data_of_the_wrong_type_when_trained(job):
    command = job.train()
    write_npy(job.path("labels.npy"), array.array("f", [0.0] * 24), (24,))
    return command


@case(ERROR, "x", "[5]", "[6]")
def data_of_the_wrong_shape_when_trained(job):
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f", [0.0] * 120), (24, 5))
    return command


@case(ERROR, "x.npy")
def data_missing_when_trained(job):
    command = job.train()
    os.remove(job.path("x.npy"))
    return command


@case(ERROR, "cannot find data file 'x.npy'", "below/x.npy")
def data_in_the_current_folder_instead_of_the_specs(job):
    os.mkdir(job.path("below"))
    for name in ("mlp.onnx", "mlp.textproto", "x.npy", "labels.npy"):
        os.rename(job.path(name), job.path("below/" + name))
    trainer = compile_spec(job.path("below/mlp.textproto"), job.folder)
    os.rename(job.path("below/x.npy"), job.path("x.npy"))
    return [trainer, "--quiet"]


@case(ERROR, "x.npy", "not a regular file")
def data_that_is_a_pipe(job):
    command = job.train()
    os.remove(job.path("x.npy"))
    os.mkfifo(job.path("x.npy"))
    return command


@case(ERROR, "empty")
def empty_data_set(job):
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f"), (0, 6))
    write_npy(job.path("labels.npy"), array.array("q"), (0,))
    return command


@case(ERROR, "label 3 in row 13 (from 0) of", "field 'labels', expected 0 to 2")
def label_out_of_range(job):
    command = job.train()
    write_npy(job.path("labels.npy"), array.array("q", [0] * 13 + [3] + [1] * 10), (24,))
    return command


@case(ERROR, "step 2", "row 5 (from 0) of", "x.npy", "field 'x', has nan")
def nan_in_the_data(job):
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f", [0.5] * 30 + [float("nan")] + [0.5] * 113), (24, 6))
    return command


@case(ERROR, "cannot evaluate", "row 5 (from 0) of", "x2.npy", "field 'x', has -inf")
def infinity_in_the_evaluation_data(job):
    write_npy(job.path("x2.npy"), array.array("f", [0.5] * 30 + [float("-inf")] + [0.5] * 113), (24, 6))
    with open(job.spec, "a") as file:
        file.write("""evaluation { data {
  source { npy { field { name: "x"  path: "x2.npy" } field { name: "labels"  path: "labels.npy" } } }
  stage { batch { size: 5 } }
} }""")
    return job.train()


def with_targets(job, loss, values, width):
    job.edit('softmax_cross_entropy { logits: "logits"  labels: "labels" }', loss)
    write_npy(job.path("labels.npy"), array.array("f", values), (24, width))
    return job.train()


@case(ERROR, "target 2 in row 7 (from 0) of", "field 'labels', expected 0 to 1")
def binary_targets_out_of_range(job):
    values = [0.5] * 72
    values[22] = 2.0
    return with_targets(job, 'binary_cross_entropy { logits: "logits"  targets: "labels" }', values, 3)


@case(ERROR, "targets with the sum 1.5 in row 7 (from 0) of", "field 'labels', expected a distribution, whose sum is 1")
def targets_that_are_no_distribution(job):
    values = [0.5, 0.25, 0.25] * 24
    values[21:24] = [0.5, 0.5, 0.5]
    return with_targets(job, 'softmax_cross_entropy { logits: "logits"  labels: "labels" }', values, 3)


@case(ERROR, "target -3 in row 7 (from 0) of", "field 'labels', expected 0 to 1")
def distribution_with_a_negative_number(job):
    values = [0.5, 0.25, 0.25] * 24
    values[21:24] = [-3.0, 4.0, 0.0]
    return with_targets(job, 'softmax_cross_entropy { logits: "logits"  labels: "labels" }', values, 3)


@case(ERROR, "label 2 in row 7 (from 0) of", "field 'labels', expected 0 to 1")
def whole_binary_targets_out_of_range(job):
    job.edit('softmax_cross_entropy { logits: "logits"  labels: "labels" }',
             'binary_cross_entropy { logits: "logits"  targets: "labels" }')
    values = [1] * 72
    values[22] = 2
    write_npy(job.path("labels.npy"), array.array("q", values), (24, 3))
    return job.train()


@case(ERROR, "fc1", "inf", "step 1")
def overflow_in_a_node(job):
    job.edit("stage { batch {", 'stage { map { field: "x"  scale: 0  offset: 3.4e38 } }\n  stage { batch {')
    return job.train()


@answer
def batches_of_lengths_that_the_model_does_not_take():
    """The model takes one length: the error is said for one of the others, not for each."""
    job = Job()
    job.edit("stage { batch { size: 4  drop_remainder: true } }",
             'stage { map { field: "x"  pad { shape: 6 } } }  stage { batch { size: 4  bucket { length: 2 } bucket { length: 4 } } }')
    result = subprocess.run(job.check(), cwd=job.folder, capture_output=True, text=True)
    said = result.stdout + result.stderr
    if result.returncode == INVALID and said.count("export the model with a dynamic length") == 1 and "f32 [4, 4]" in said:
        return None
    return f"batches by length: exit code {result.returncode}\n{said}"
