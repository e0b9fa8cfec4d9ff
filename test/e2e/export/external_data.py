"""Weights in a file next to the exported model: the same numbers as in a model in one file, found by the name in ONNX's external data, and
read back. The file must not replace an input, nor the weights of an older model where the new one cannot be written.

    external_data.py ROOT
"""
import os
import resource
import shutil
import struct
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/e2e"), os.path.join(ROOT, "test")]
from case import folder, path
from bar import DIGITS, compile_spec, gradc, program, run
from onnx_writer import FLOAT, Model, field, fields

GRAPH, INITIALIZER, NAME, RAW, EXTERNAL = 7, 5, 8, 9, 13


def initializers(file):
    """The bytes of each initializer, by name, and whether they were in another file."""
    with open(file, "rb") as model:
        graph = dict(fields(model.read()))[GRAPH]
    found = {}
    for number, tensor in fields(graph):
        if number != INITIALIZER:
            continue
        parts = dict(fields(tensor))
        entries = {entry[1].decode(): entry[2].decode() for entry in (dict(fields(value)) for number, value in fields(tensor) if number == EXTERNAL)}
        data = parts.get(RAW)
        if entries:
            assert RAW not in parts and entries["location"] == os.path.basename(file) + ".data", entries
            assert int(entries["offset"]) % 64 == 0, entries
            with open(os.path.join(os.path.dirname(file), entries["location"]), "rb") as weights:
                weights.seek(int(entries["offset"]))
                data = weights.read(int(entries["length"]))
        found[parts[NAME].decode()] = (data, bool(entries))
    return found


def refused(code, message, *command):
    done = subprocess.run([str(part) for part in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == code and message in done.stderr, (command, done.returncode, done.stderr)


def spec(name, model, export):
    with open(os.path.join(DIGITS, "train.textproto")) as file:
        text = file.read().replace('"digits.npz"', f'"{DIGITS}/digits.npz"').replace('"mlp.onnx"', f'"{model}"')
    with open(path(name), "w") as file:
        file.write(text[:text.index("export {")] + export)
    return path(name)


def weights_apart():
    shutil.copy(os.path.join(DIGITS, "mlp.onnx"), folder)
    options = ["--steps", 20, "--seed", 3, "--quiet"]
    one = compile_spec(spec("one.textproto", "mlp.onnx", ""), folder)
    two = compile_spec(spec("two.textproto", "mlp.onnx", "export { external_data: true }"), folder)
    run(one, *options, "--export", path("one.onnx"), "--checkpoint", path("one-run"))
    run(two, *options, "--export", path("two.onnx"), "--checkpoint", path("two-run"))
    plain, apart = initializers(path("one.onnx")), initializers(path("two.onnx"))
    assert not any(external for _, external in plain.values()) and plain.keys() == apart.keys()
    assert {name for name, (_, external) in apart.items() if external} == {"fc1.weight", "fc2.weight", "fc3.weight"}, apart.keys()
    for name, (data, _) in plain.items():
        assert data == apart[name][0], name
    gradc("export", two, "--checkpoint", path("two-run"), "-o", path("again.onnx"))
    assert {name: data for name, (data, _) in initializers(path("again.onnx")).items()} == {name: data for name, (data, _) in apart.items()}

    # The written file is read: another step from it is the same in either form.
    for source, export in (("one.onnx", ""), ("two.onnx", "export { external_data: true }")):
        trainer = compile_spec(spec("more.textproto", source, export), folder)
        run(trainer, "--steps", 1, "--quiet", "--export", path("more-" + source), "--checkpoint", path("more-" + source + ".run"))
    assert [data for data, _ in initializers(path("more-one.onnx")).values()] == [data for data, _ in initializers(path("more-two.onnx")).values()]

    # The file of the weights would overwrite the input, under another name of the model.
    shutil.copy(path("two.onnx"), path("renamed.onnx"))
    trainer = compile_spec(spec("over.textproto", "renamed.onnx", "export { external_data: true }"), folder)
    before = open(path("two.onnx.data"), "rb").read()
    refused(1, "cannot write", trainer, "--steps", 1, "--export", path("two.onnx"), "--checkpoint", path("over-run"))
    refused(1, "cannot write", program("gradc"), "export", trainer, "-o", path("two.onnx"))
    assert open(path("two.onnx.data"), "rb").read() == before
    refused(1, "longer than 200 bytes", two, "--steps", 1, "--export", path("n" * 210 + ".onnx"), "--checkpoint", path("long-run"))


def prepared():
    """With preprocessing, into the file named in the spec."""
    model = Model("plain", opset=17)
    x = model.input("x", FLOAT, ["N", 64])
    weight = model.initializer("w", FLOAT, [64, 64], [0.01 * (i % 7) for i in range(4096)])
    model.output(model.node("MatMul", [x, weight], ["y"], "fc"), FLOAT, ["N", 64])
    model.save(path("plain.onnx"))
    with open(path("plain.textproto"), "w") as file:
        file.write('model: "plain.onnx"  loss { mean_squared_error { predictions: "y" targets: "t" } }  optimizer { sgd { learning_rate: 0.1 } }\n'
                   'data { source { csv { path: "t.csv" field { name: "x" column: "x*" } field { name: "t" column: "t*" } } } stage { batch { size: 2 } } }\n'
                   'feed { input: "x" field: "x" }  epochs: 1  export { onnx: "after.onnx" external_data: true preprocessing: true }\n')
    with open(path("t.csv"), "w") as file:
        file.write(",".join([f"x{i}" for i in range(64)] + [f"t{i}" for i in range(64)]) + "\n" + (",".join(["0"] * 128) + "\n") * 2)
    run(compile_spec(path("plain.textproto"), folder), "--quiet", cwd=folder)
    found = initializers(path("after.onnx"))
    assert found["w"] == (struct.pack("<4096f", *(0.01 * (i % 7) for i in range(4096))), True)
    gradc("check", path("after.onnx"), "--shape", "x=2x64")


def unwritable():
    """A graph that is larger than a file may be, and weights that are not: neither file of the older export changes."""
    with open(path("plain.onnx"), "rb") as file:
        model = file.read()
    with open(path("told.onnx"), "wb") as file:
        file.write(model + field(6, "a doc string " * 50_000))
    with open(path("plain.textproto")) as file:
        text = file.read().replace("plain.onnx", "told.onnx").replace("after.onnx", "whole.onnx").replace("t.csv", "ones.csv")
    with open(path("told.textproto"), "w") as file:
        file.write(text)
    with open(path("t.csv")) as file:
        title = file.readline()
    with open(path("ones.csv"), "w") as file:
        file.write(title + (",".join(["1"] * 128) + "\n") * 2)
    trainer = compile_spec(path("told.textproto"), folder)
    run(trainer, "--quiet", cwd=folder)
    written = [path("whole.onnx"), path("whole.onnx.data")]
    contents = [open(file, "rb").read() for file in written]
    assert len(contents[0]) > 500_000 > 100_000 > len(contents[1]), [len(content) for content in contents]
    done = subprocess.run([trainer, "--quiet", "--epochs", "3"], cwd=folder, stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)))
    assert done.returncode == 1 and "cannot write" in done.stderr and "whole.onnx" in done.stderr, (done.returncode, done.stderr)
    assert [open(file, "rb").read() for file in written] == contents


weights_apart()
prepared()
unwritable()
print("external data: three weights apart, the same bits")
