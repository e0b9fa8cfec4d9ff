"""What training for quantization refuses, and its messages: specs, models, checkpoints of other jobs, and exports without ranges.

    messages.py
"""
import math
import subprocess

from perceptron import CLASSES, INPUTS, RATE, WEIGHTS, draws, initializers, save_perceptron, spec, train
from case import expect, path
from bar import events, gradc, program, read_safetensors
from onnx_writer import FLOAT, Model


def refused(what, more, opset=19):
    save_perceptron(opset)
    refused_model(what, more)


def refused_model(what, more):
    spec("refused", more)
    result = subprocess.run([program("gradc"), "check", path("refused.textproto")], capture_output=True, text=True)
    said = result.stdout + result.stderr
    expect(f"{more!r} says {said}", result.returncode and what in said)


def weights_in_floats():
    """The weights of a trainer whose export holds codes."""
    save_perceptron()
    trainer, _ = train("floats", "quantize {}", "--checkpoint", path("floats.run"))
    result = subprocess.run([program("gradc"), "export", trainer, "-o", path("w.safetensors")], capture_output=True, text=True)
    expect(f"says {result}", result.returncode and "the exported model holds codes of the weights" in result.stderr)
    gradc("export", path("floats.run"), "-o", path("w.safetensors"))
    expect("a checkpoint holds floats", set(WEIGHTS) <= set(read_safetensors(path("w.safetensors"))))


def told_apart():
    """Trainers refuse checkpoints of other jobs, and say how to begin with the weights of a run in floats."""
    save_perceptron()
    quantizing, fresh = train("quantizing", "quantize {}", "--checkpoint", path("quantizing.run"))
    plain, _ = train("dense", "", "--checkpoint", path("dense.run"))
    for trainer, resumed, *wanted in (quantizing, "dense.run", "it did not quantize 'x', which this artifact quantizes", "initial_weights"), \
            (plain, "quantizing.run", "it quantizes activations (quantize), this artifact does not quantize this one", "no state 'x_range'"):
        result = subprocess.run([trainer, "--data-dir", path("."), "--resume", path(resumed), "--quiet"], capture_output=True, text=True)
        expect(f"{trainer} says {result}", result.returncode == 1 and all(part in result.stderr for part in ["is of another job", *wanted]))
    gradc("export", path("dense.run"), "-o", path("dense.safetensors"))
    _, tuned = train("tuned", 'quantize {} initial_weights { path: "dense.safetensors" }')
    expect(f"weights of a run in floats: losses {tuned[0]}, {fresh[0]}", tuned[0] < 0.9 * fresh[0])
    # The ranges of a run are observed anew.
    gradc("export", path("quantizing.run"), "-o", path("quantizing.safetensors"))
    _, again = train("again", 'quantize {} initial_weights { path: "quantizing.safetensors"  ignore: "*_range" }')
    expect(f"weights of a quantized run: losses {again[0]}, {fresh[0]}", again[0] < 0.9 * fresh[0])


def own_statistic():
    """A statistic of the model whose name ends like that of a range is none."""
    for name in "scaled", "normal":
        model = Model(name, opset=19)
        x = model.input("x", FLOAT, ["N", INPUTS])
        for parameter, dims in ("fc", [INPUTS, CLASSES]), ("gamma", [CLASSES]), ("beta", [CLASSES]):
            model.initializer(parameter, FLOAT, dims, draws(math.prod(dims), 0.4))
        h = model.node("MatMul", [x, "fc"], ["h"], "fc")
        if name == "scaled":
            y = model.node("Add", [model.node("Mul", [h, "gamma"], ["m"], "mul"), "beta"], ["logits"], "add")
        else:
            for statistic, value in ("mean_range", 0.1), ("variance", 1.5):
                model.initializer(statistic, FLOAT, [CLASSES], [value] * CLASSES)
            y = model.node("BatchNormalization", [h, "gamma", "beta", "mean_range", "variance"], ["logits"], "norm")
        model.output(y, FLOAT, ["N", CLASSES])
        model.save(path("model.onnx"))
        train(name, "", "--checkpoint", path(name + ".run"))
    for trainer, resumed, wanted in ("normal", "scaled.run", "it lacks state 'mean_range' of f32[3]"), \
            ("scaled", "normal.run", "this artifact has no state 'mean_range'"):
        result = subprocess.run([path(trainer), "--data-dir", path("."), "--resume", path(resumed), "--quiet"], capture_output=True, text=True)
        expect(f"{trainer} says {result}", result.returncode == 1 and f"is of another model: {wanted}" in result.stderr)


def untrained():
    """The scales of activations are unknown before the first step."""
    save_perceptron()
    trainer, _ = train("fresh", "quantize {}", "--checkpoint", path("fresh.run"))
    result = subprocess.run([program("gradc"), "export", trainer, "-o", path("untrained.onnx")], capture_output=True, text=True)
    expect(f"says {result}", result.returncode == 1 and "the ranges of activations, which quantize finds in the data, are unset; train first" in result.stderr)
    gradc("export", trainer, "--checkpoint", path("fresh.run"), "-o", path("chosen.onnx"))
    expect("a checkpoint has other ranges than the run", initializers("chosen") == initializers("fresh"))
    gradc("compile", spec("light", "quantize { activations: false }"), "-o", path("light"))
    gradc("export", path("light"), "-o", path("light.onnx"))
    expect("weights alone need no ranges", "fc2_quantized" in initializers("light"))


def skipped():
    """A step that FP16 skips finds no ranges, and no export takes it for a step that does."""
    save_perceptron()
    gradc("compile", spec("skipped", "quantize {}  precision: FP16  loss_scaling { initial: 16777216 }"), "-o", path("skipped"))
    for command in ([path("skipped"), "--data-dir", path("."), "--steps", "1", "--checkpoint", path("skipped.run"), "--log", path("skipped.jsonl"), "--quiet"],
                    [program("gradc"), "export", path("skipped"), "--checkpoint", path("skipped.run"), "-o", path("skipped.onnx")]):
        result = subprocess.run(command, capture_output=True, text=True)
        expect(f"says {result}", result.returncode == 1 and "the ranges of activations, which quantize finds in the data, are unset" in result.stderr)
    expect("the step is not skipped", [event["step"] for event in events(path("skipped.jsonl"), "skipped")] == [1])


def damaged():
    """Layers that the importer refuses are refused, too, where `quantize` has looked at them first."""
    for dims in [], [4]:
        for op in "Conv", "ConvTranspose":
            model = Model("damaged", opset=19)
            model.initializer("w", FLOAT, dims, [0.5] * math.prod(dims))
            model.output(model.node(op, [model.input("image", FLOAT, ["N", 2, 6, 6]), "w"], ["logits"], "conv"), FLOAT, ["N", CLASSES])
            model.save(path("model.onnx"))
            refused_model("found no weight to quantize", "quantize {}")
    save_perceptron(more=("x_range", [2]))
    refused_model('quantize adds a value "x_range", which the model has already', "quantize {}")


def wrong():
    save_perceptron()
    with open(spec("refused", 'quantize {} group { pattern: "fc2" weight_decay: 0 }')) as file:
        text = file.read().replace(f"learning_rate: {RATE}", "learning_rate: 0")
    with open(path("refused.textproto"), "w") as file:
        file.write(text)
    result = subprocess.run([program("gradc"), "check", path("refused.textproto")], capture_output=True, text=True)
    expect("a rate of 0 has groups beside it", result.returncode and "expected learning_rate above 0" in result.stdout + result.stderr)
    refused('quantize: no weight of a layer matches "fc3*"', 'quantize { pattern: "fc3*" }')
    refused('the model has no node of type "Ad"', 'quantize { inputs_of: "Ad" }')
    refused("expected momentum from 0 to below 1, found 1", "quantize { momentum: 1 }")
    refused("expected begin_step above 0, found 0", "quantize { begin_step: 0 }")
    refused("expected ranges_end_step above 0, found 0", "quantize { ranges_end_step: 0 }")
    refused("inputs_of quantizes activations, and activations is false", 'quantize { activations: false  inputs_of: "Relu" }')
    refused("lora and quantize exclude each other", 'quantize {} lora { pattern: "fc2" }')
    refused("quantize needs a strategy in which each rank has the whole model, found TENSOR",
            "quantize {} distribution { strategy: TENSOR }")
    refused("synchronize_batch_norm must be false", "quantize {} distribution { synchronize_batch_norm: true }")
    refused("quantize: expected a model of opset 13 or later, found 11", "quantize {}", opset=11)


weights_in_floats()
told_apart()
own_statistic()
untrained()
skipped()
damaged()
wrong()
