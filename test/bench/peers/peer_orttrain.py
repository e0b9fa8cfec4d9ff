"""ONNX Runtime's on-device training, whose last release is 1.19.2: artifacts generated from the ONNX file. Its SGD has neither momentum nor
weight decay, so it does less work than the others on T3 and T4."""
import contextlib
import os
import sys
import tempfile
import types

import numpy as np

for name in ("optim", "amp"):  # these would import torch
    sys.modules[f"onnxruntime.training.{name}"] = types.ModuleType(name)
import onnx
import onnxruntime
from onnxruntime.training import artifacts, onnxblock
from onnxruntime.training.api import CheckpointState, Module, Optimizer

from onnx_export import write_onnx
from steps import Steps
from workloads import BATCHES


def adapt(graph, label_count):
    """Logits as [N, classes], and the optional outputs required by LayerNormalization's gradient."""
    output = graph.output[0]
    dims = [dim.dim_value for dim in output.type.tensor_type.shape.dim]
    if len(dims) > 2:
        graph.initializer.append(onnx.numpy_helper.from_array(np.array([-1, dims[-1]], np.int64), "rows_shape"))
        graph.node.append(onnx.helper.make_node("Reshape", [output.name, "rows_shape"], ["rows"]))
        del graph.output[:]
        graph.output.append(onnx.helper.make_tensor_value_info("rows", 1, [label_count, dims[-1]]))
    for node in graph.node:
        if node.op_type == "LayerNormalization" and len(node.output) == 1:
            node.output.extend([f"{node.output[0]}_mean", f"{node.output[0]}_inverse"])


def generate(workload, folder):
    path = os.path.join(folder, f"{workload.name}.onnx")
    write_onnx(workload, path, training=True)
    model = onnx.load(path)
    _, labels = workload.batches()
    adapt(model.graph, labels[0].size)
    trained = list(workload.weights()[0])
    frozen = [i.name for i in model.graph.initializer if i.data_type == 1 and i.name not in trained]
    rule = workload.optimizer
    if rule["name"] == "momentum":
        optimizer = onnxblock.optim.SGD()
    else:
        clip = onnxblock.optim.ClipGradNorm(workload.clip) if workload.clip else None
        optimizer = onnxblock.optim.AdamW(betas=(rule["beta1"], rule["beta2"]), eps=rule["epsilon"],
                                          weight_decay=rule["weight_decay"], clip_grad=clip)
    with contextlib.redirect_stdout(sys.stderr):
        artifacts.generate_artifacts(model, requires_grad=trained, frozen_params=frozen, optimizer=optimizer,
                                     loss=artifacts.LossType.CrossEntropyLoss, artifact_directory=folder)


def setup(peer, workload, threads, cache):
    folder = cache or tempfile.mkdtemp(prefix="gradc-peers-orttrain-")
    if not os.path.exists(os.path.join(folder, "optimizer_model.onnx")):
        generate(workload, folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    state = CheckpointState.load_checkpoint(os.path.join(folder, "checkpoint"))
    module = Module(os.path.join(folder, "training_model.onnx"), state, session_options=options)
    optimizer = Optimizer(os.path.join(folder, "optimizer_model.onnx"), module)
    optimizer.set_learning_rate(workload.optimizer["learning_rate"])
    module.train()
    x, labels = workload.batches()
    x = x.astype(np.int64) if workload.data == "tokens" else x
    labels = labels.reshape(BATCHES, -1).astype(np.int64)

    def call(i):
        loss = module(x[i % BATCHES], labels[i % BATCHES])
        optimizer.step()
        module.lazy_reset_grad()
        return loss

    return Steps(call, lambda loss: [float(np.asarray(loss))])
