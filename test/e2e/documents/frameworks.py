"""Trains the stored exports of examples/from_*, and checks that the exporters kept what training needs.

    frameworks.py
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bars"))
from bar import ROOT, compile_spec, events, gradc, run, scratch

NAMES = {  # a few of the parameters and of the statistics
    "pytorch": ({"features.0.weight", "features.1.weight", "features.5.bias", "classifier.2.weight"},
                {"features.1.running_mean", "features.5.running_var"}),
    "keras": ({"sequential/conv1/kernel", "sequential/norm1/gamma", "sequential/norm2/beta", "sequential/head/kernel"},
              {"sequential/norm1/moving_mean", "sequential/norm2/moving_variance"}),
    "jax": ({"conv1.kernel", "norm1.scale", "norm2.bias", "head.kernel"}, {"norm1.mean", "norm2.var"}),
}


def ops(model):
    lines = gradc("inspect", model).partition("\nops\n")[2].partition("initializers")[0].splitlines()
    return {name: int(count) for count, name in map(str.split, lines)}


def expect(framework, holds, what):
    if not holds:
        sys.exit(f"from_{framework}: {what}")


for framework, (parameters, statistics) in NAMES.items():
    folder, source = scratch(), os.path.join(ROOT, f"examples/from_{framework}")
    spec, trained = os.path.join(source, "train.textproto"), os.path.join(folder, "trained.onnx")
    checked = json.loads(gradc("check", spec, "--json"))
    trains = {v["name"] for v in checked["initializers"] if v["trains"]}
    running = {v["name"] for v in checked["initializers"] if v["reason"].startswith("a running statistic")}
    expect(framework, parameters <= trains and len(trains) == 10, f"these train: {trains}")
    expect(framework, statistics <= running and len(running) == 4, f"these are running statistics: {running}")
    expect(framework, not checked["notes"], f"check notes {checked['notes']}")
    kept = ops(os.path.join(source, "net.onnx"))
    expect(framework, kept["BatchNormalization"] == 2 and kept["Dropout"] == 1, f"the export has {kept}")

    run(compile_spec(spec, folder), "--data-dir", source, "--log", os.path.join(folder, "log"), "--checkpoint",
        os.path.join(folder, "run"), "--export", trained, "--quiet", cwd=folder)
    accuracy = events(os.path.join(folder, "log"), "eval")[-1]["accuracy"]
    print(f"from_{framework}: {accuracy:.4f} after 5 epochs", flush=True)
    expect(framework, accuracy > 0.93, f"accuracy {accuracy}, expected more than 0.93")
    after = ops(trained)
    expect(framework, all(after[op] == kept[op] for op in ("BatchNormalization", "Conv", "Dropout")), f"the trained model has {after}")
