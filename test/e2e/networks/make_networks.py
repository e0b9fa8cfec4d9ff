"""Makes the networks of this folder: ONNX files from PyTorch's two exporters, their batches, the training specs, the twenty losses that
PyTorch computes in f64, and its outputs in evaluation for the first batch; also the errors of PyTorch in f32.

Needs numpy, torch, torchvision, transformers, onnx and onnxscript (made with 2.4.6, 2.15.0, 0.29.2, 5.23.0, 1.23.2 and 0.7.2); run it
from anywhere, for all networks or those that are named:
    python make_networks.py [NAME ...]
"""
import dataclasses
import json
import os
import sys
import typing

import numpy as np
import onnx
import torch
import torch.nn.functional as F

import differentiated
import language
import tables
import vision

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, ROWS, BATCH = 20, 25, 5


def cross_entropy(logits, labels):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


LOSSES = {  # the spec's loss and PyTorch's, of the model's last output and the targets
    "softmax_cross_entropy": ("softmax_cross_entropy {{ logits: \"{output}\"  labels: \"{targets}\" }}", cross_entropy),
    "binary_cross_entropy": ("binary_cross_entropy {{ logits: \"{output}\"  targets: \"{targets}\" }}", F.binary_cross_entropy_with_logits),
    "scalar": ("scalar: \"{output}\"", lambda loss, targets: loss),
}
RULES = {
    "sgd": ("sgd { learning_rate: 0.05 }", lambda p: torch.optim.SGD(p, 0.05)),
    "momentum": ("momentum { learning_rate: 0.02  momentum: 0.9  l2: 0.0001 }", lambda p: torch.optim.SGD(p, 0.02, 0.9, weight_decay=0.0001)),
    "adam": ("adam { learning_rate: 0.002 }", lambda p: torch.optim.Adam(p, 0.002)),
    "adamw": ("adamw { learning_rate: 0.002  weight_decay: 0.01 }", lambda p: torch.optim.AdamW(p, 0.002, weight_decay=0.01)),
}


@dataclasses.dataclass
class Case:
    make: typing.Callable
    fields: tuple  # what the inputs are fed from
    loss: str
    targets: str
    rule: str
    dynamo: bool  # torch.export's exporter, or the one that traces
    outputs: tuple = ("logits",)
    clip: float = 0
    freeze: str = ""  # what is no parameter in PyTorch
    gradients: tuple = ()  # (of, with respect to, name), of values that are the last inputs; the first is an output


CASES = {
    "bert": Case(language.Bert, ("tokens", "mask"), "softmax_cross_entropy", "topic", "adamw", dynamo=False, clip=1),
    "llama": Case(language.Llama, ("tokens",), "softmax_cross_entropy", "next", "adamw", dynamo=True, clip=1, freeze="*.inv_freq"),
    "experts": Case(language.Experts, ("tokens",), "softmax_cross_entropy", "next", "adam", dynamo=False),
    "lstm": Case(language.LstmClassifier, ("tokens",), "softmax_cross_entropy", "topic", "momentum", dynamo=False, clip=1),
    "translator": Case(language.Translator, ("tokens", "previous"), "softmax_cross_entropy", "following", "adam", dynamo=False),
    "vit": Case(vision.make_vit, ("picture",), "softmax_cross_entropy", "topic", "adamw", dynamo=True),
    "swin": Case(vision.make_swin, ("picture",), "softmax_cross_entropy", "topic", "adamw", dynamo=True),
    "mobilenet": Case(vision.make_mobilenet, ("picture",), "softmax_cross_entropy", "topic", "momentum", dynamo=False),
    "unet": Case(vision.UNet, ("picture",), "binary_cross_entropy", "pixels", "adam", dynamo=False),
    "vae": Case(vision.Vae, ("picture", "noise"), "scalar", "", "adam", dynamo=True, outputs=("decoded", "loss")),
    "burgers": Case(differentiated.Burgers, ("points", "known", "values"), "scalar", "", "adam", dynamo=False, outputs=("u", "slope_x", "loss"),
                    gradients=(("u", "points", "slope"), ("slope_x", "points", "curvature"))),
    "critic": Case(differentiated.Critic, ("picture", "fake", "share"), "scalar", "", "adam", dynamo=False, outputs=("mixed", "score", "loss"),
                   gradients=(("score", "mixed", "slope"),)),
    "dlrm": Case(tables.Recommender, ("numbers", "categories"), "binary_cross_entropy", "click", "sgd", dynamo=False),
}

SPEC = """# Made by make_networks.py.
model: "{name}.onnx"
{gradients}loss {{ {loss} }}
optimizer {{ {rule} }}{more}
data {{
  source {{ npz {{ path: "batches.npz" }} }}
  stage {{ batch {{ size: {batch}  drop_remainder: true }} }}
}}
steps: {steps}
"""


def write_batches():
    random = np.random.default_rng(11)
    text = np.cumsum(random.integers(1, 4, (ROWS, language.LENGTH + 1)), 1) + random.integers(0, language.VOCABULARY, (ROWS, 1))
    text = text % (language.VOCABULARY - 1) + 1  # 0 is BERT's padding, which PyTorch does not train
    lengths = random.integers(3, language.LENGTH + 1, (ROWS, 1))
    picture = random.standard_normal((ROWS, 3, 12, 12)).astype(np.float32)
    arrays = {"tokens": text[:, :-1], "next": text[:, 1:], "previous": text[:, -5:-1][:, ::-1], "following": text[:, -4:][:, ::-1],
              "topic": random.integers(0, language.CLASSES, ROWS),
              "mask": (np.arange(language.LENGTH) < lengths).astype(np.int64), "picture": picture,
              "pixels": (picture.mean(1, keepdims=True) > 0).astype(np.float32),
              "noise": random.standard_normal((ROWS, 6)).astype(np.float32),
              "numbers": random.standard_normal((ROWS, tables.NUMBERS)).astype(np.float32),
              "categories": np.stack([random.integers(0, rows, (ROWS, tables.BAG)) for rows in tables.ROWS_OF_TABLES], 1),
              "click": random.integers(0, 2, ROWS).astype(np.float32),
              "points": random.uniform(-1, 1, (ROWS, 2)).astype(np.float32), "known": random.uniform(-1, 1, (ROWS, 2)).astype(np.float32),
              "fake": random.standard_normal((ROWS, 3, 12, 12)).astype(np.float32) * 0.5,
              "share": random.uniform(0, 1, ROWS).astype(np.float32)}
    arrays["values"] = -np.sin(np.pi * arrays["known"][:, 0])
    np.savez(os.path.join(HERE, "batches.npz"), **arrays)
    return {field: torch.from_numpy(np.ascontiguousarray(array)) for field, array in arrays.items()}


def make_model(case):
    """Adds noise to parameters and statistics, so that none is 0 and no two are equal, which an exporter would merge."""
    torch.manual_seed(5)
    model = case.make()
    with torch.no_grad():
        statistics = [value for name, value in model.named_buffers() if "running" in name]
        for value in (*model.parameters(), *statistics):
            value += 0.02 * torch.randn_like(value)
    return model


def export(case, name, inputs):
    """Exports for evaluation, but without folding: weights and batch norms stay, and no mask becomes a weight."""
    path, fields, model = os.path.join(HERE, f"{name}.onnx"), list(case.fields), make_model(case)
    if case.gradients:
        values = dict(zip((*case.outputs, *fields), (*model.differentiated(*inputs), *inputs)))
        inputs = (*inputs, *(values[target].detach() for _, target, _ in case.gradients))
        fields += [gradient for _, _, gradient in case.gradients]
    if case.dynamo:
        rows = torch.export.Dim("N", min=1, max=4096)
        torch.onnx.export(model.eval(), inputs, path, dynamo=True, optimize=False, external_data=False, verbose=False, input_names=fields,
                          output_names=list(case.outputs), dynamic_shapes=tuple({0: rows} for _ in fields))
    else:
        torch.onnx.export(model.eval(), inputs, path, dynamo=False, opset_version=17, do_constant_folding=False,
                          training=torch.onnx.TrainingMode.PRESERVE, input_names=fields, output_names=list(case.outputs),
                          dynamic_axes={value: {0: "N"} for value in (*fields, *case.outputs) if value != "loss"})
    strip(path)


def strip(path):
    """Removes the Python source location of each node, which would be most of such a file."""
    proto = onnx.load(path)
    proto.ClearField("metadata_props")

    def clean(graph):
        graph.ClearField("value_info")
        for part in (graph, *graph.node, *graph.input, *graph.output):
            part.ClearField("doc_string")
            part.ClearField("metadata_props")
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    clean(attribute.g)
    clean(proto.graph)
    onnx.save(proto, path)


def outputs_of(model, inputs):
    found = model.differentiated(*inputs) if hasattr(model, "differentiated") else model(*inputs)
    return found if isinstance(found, tuple) else (found,)


def trajectory(case, model, batches):
    model.train()
    optimizer = RULES[case.rule][1](model.parameters())
    found = {"loss": [], "grad_norm": []}
    for inputs, targets in batches:
        loss = LOSSES[case.loss][1](outputs_of(model, inputs)[-1], targets)
        optimizer.zero_grad()
        loss.backward()
        if case.clip:
            found["grad_norm"].append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), case.clip)))
        optimizer.step()
        found["loss"].append(float(loss.detach()))
    return found if case.clip else {"loss": found["loss"]}


def write_case(case, name, arrays, outputs):
    def batches(dtype):
        def rows(field, i):
            values = arrays[field][i % (ROWS // BATCH) * BATCH:][:BATCH]
            return values.to(dtype) if values.is_floating_point() else values
        return [(tuple(rows(field, i) for field in case.fields), rows(case.targets, i) if case.targets else None) for i in range(STEPS)]

    export(case, name, batches(torch.float32)[0][0])
    exact_batches = batches(torch.float64)
    model = make_model(case).double().eval()
    for output, value in zip(case.outputs, outputs_of(model, exact_batches[0][0])):
        outputs[f"{name}.{output}"] = value.detach().numpy().astype(np.float32)
    exact = trajectory(case, model, exact_batches)
    rounded = trajectory(case, make_model(case), batches(torch.float32))
    with open(os.path.join(HERE, f"{name}.textproto"), "w") as file:
        loss = LOSSES[case.loss][0].format(output=case.outputs[-1], targets=case.targets)
        gradients = "".join(f'gradients {{ of: "{of}"  with_respect_to: "{target}"  name: "{gradient}" }}\n'
                            for of, target, gradient in case.gradients)
        more = f"\nclip {{ global_norm: {case.clip} }}" if case.clip else ""
        more += f'\nfreeze: "{case.freeze}"' if case.freeze else ""
        file.write(SPEC.format(name=name, gradients=gradients, loss=loss, rule=RULES[case.rule][0], more=more, batch=BATCH, steps=STEPS))
    error = max(abs(a - b) / abs(a) for field in exact for a, b in zip(exact[field], rounded[field]))
    print(f"{name:12} {sum(p.numel() for p in model.parameters()):6} parameters, {os.path.getsize(os.path.join(HERE, f'{name}.onnx')):6} bytes, "
          f"loss {exact['loss'][0]:.5f} -> {exact['loss'][-1]:.5f}, f32 within {error:.1e}")
    return exact


def main():
    expected, outputs = {}, {}
    expected_path, outputs_path = os.path.join(HERE, "expected.json"), os.path.join(HERE, "outputs.npz")
    if os.path.exists(expected_path) and sys.argv[1:]:
        with open(expected_path) as file:
            expected = json.load(file)
        outputs = dict(np.load(outputs_path))
    arrays = write_batches()
    for name in sys.argv[1:] or CASES:
        expected[name] = write_case(CASES[name], name, arrays, outputs)
    with open(expected_path, "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")
    np.savez(outputs_path, **outputs)


if __name__ == "__main__":
    main()
