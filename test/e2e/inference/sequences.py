"""Sequences and optionals as inputs and outputs: one port per tensor, with the number given by options; an optional is present if an option
names it.

    sequences.py
"""
import array
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import gradc, program, read_npy, write_npy
from onnx_writer import FLOAT, INT64, STRING, Model, message, node


def sequence_info(name, element=FLOAT, optional=False):
    """A typed name: a sequence of tensors without shapes."""
    kind = message((4, message((1, message((1, message((1, element))))))))
    return message((1, name), (2, message((9, message((1, kind)))) if optional else kind))


def optional_info(name):
    return message((1, name), (2, message((9, message((1, message((1, message((1, FLOAT), (2, message((1, message((1, 2))))))))))))))


def tensor(name, *values):
    write_npy(path(name), array.array("f", values), (len(values),))
    return path(name)


def outputs():
    files = sorted(os.listdir(path("out")))
    return {file.removesuffix(".npy"): read_npy(open(path(f"out/{file}"), "rb").read()) for file in files}


def run(model, *options):
    shutil.rmtree(path("out"), ignore_errors=True)
    gradc("run", path(model), *options, "--output-dir", path("out"))
    return {name: list(values) for name, (_, values) in outputs().items()}


def refused(code, said, *command):
    done = subprocess.run([program("gradc"), *command], capture_output=True, text=True)
    expect(f"{said}: exit code {done.returncode}, {done.stderr}", done.returncode == code and said in done.stderr)


def write_map():
    """y = each tensor of s and x, and z = its size."""
    body = message((1, [node("Add", ["e", "x_in"], ["sum"]), node("Size", ["e"], ["size"])]), (2, "g"),
                   (11, [message((1, "e")), message((1, "x_in"))]), (12, [message((1, "sum")), message((1, "size"))]))
    model = Model("map", opset=17)
    model.inputs.append(sequence_info("s"))
    x = model.input("x", FLOAT, [1])
    model.nodes.append(message((1, ["s", x]), (2, ["y", "z"]), (3, "map"), (4, "SequenceMap"), (5, [message((1, "body"), (6, body), (20, 5))])))
    model.outputs += [sequence_info("y"), sequence_info("z", INT64)]
    model.save(path("map.onnx"))


def check_sequences():
    write_map()
    a, b, x = tensor("a.npy", 1, 2), tensor("b.npy", 3), tensor("x.npy", 10)
    found = run("map.onnx", "--input", f"s.0={a}", "--input", f"s.1={b}", "--input", f"x={x}")
    expect(f"map: {found}", found == {"y.0": [11, 12], "y.1": [13], "z.0": [2], "z.1": [1]})
    # An artifact, whose shapes come from options.
    gradc("compile", path("map.onnx"), "--shape", "s.0=2", "--shape", "s.1=1", "--emit=so", "-o", path("map.so"))
    found = run("map.so", "--input", f"s.0={a}", "--input", f"s.1={b}", "--input", f"x={x}")
    expect(f"artifact: {found}", found["y.0"] == [11, 12] and found["y.1"] == [13])
    told = 'graph input "s" is a sequence: expected to be told of how many tensors, at most 1024, by --shape s=2 or by an --input or --shape for each: s.0, s.1'
    refused(3, told, "check", path("map.onnx"))
    refused(3, told, "check", path("map.onnx"), "--shape", "s=2000")
    refused(3, 'graph input "s.0" has no shape; give it one with --shape s.0=32x64', "check", path("map.onnx"), "--shape", "s=1")
    # Of two lengths.
    model = Model("two", opset=17)
    model.inputs += [sequence_info("s"), sequence_info("t")]
    body = message((1, [node("Add", ["a", "b"], ["c"])]), (2, "g"), (11, [message((1, "a")), message((1, "b"))]), (12, [message((1, "c"))]))
    model.nodes.append(message((1, ["s", "t"]), (2, ["y"]), (3, "map"), (4, "SequenceMap"), (5, [message((1, "body"), (6, body), (20, 5))])))
    model.outputs.append(sequence_info("y"))
    model.save(path("two.onnx"))
    refused(3, "SequenceMap expected sequences of one length, found 1 and 2 tensors", "check", path("two.onnx"), *shapes("s.0=2", "t.0=2", "t.1=2"))
    for element, what in (STRING, "string"), (17, "float8e4m3fn"):
        model = Model("element", opset=17)
        model.inputs.append(sequence_info("s", element))
        model.nodes.append(node("SequenceLength", ["s"], ["y"]))
        model.output("y", INT64, [])
        model.save(path("element.onnx"))
        refused(3, f'graph input "s" is a sequence of {what}, which is not supported', "check", path("element.onnx"), "--shape", "s=1")


def shapes(*given):
    return [word for shape in given for word in ("--shape", shape)]


def check_optionals():
    """y = the optional if it is present, otherwise 5."""
    model = Model("optional", opset=18)
    model.inputs.append(optional_info("o"))
    other = model.initializer("other", FLOAT, [2], [5.0, 5.0])
    has = model.node("OptionalHasElement", ["o"], ["has"])
    branch = lambda op, name: message((1, [node(op, [name], [f"{op}.y"])]), (2, "g"), (12, [message((1, f"{op}.y"))]))
    branches = [message((1, "then_branch"), (6, branch("OptionalGetElement", "o")), (20, 5)),
                message((1, "else_branch"), (6, branch("Identity", other)), (20, 5))]
    model.nodes.append(message((1, [has]), (2, ["y"]), (3, "if"), (4, "If"), (5, branches)))
    model.output("y", FLOAT, [2])
    model.save(path("optional.onnx"))
    expect("an optional that is there", run("optional.onnx", "--input", f"o={tensor('o.npy', 1, 2)}") == {"y": [1, 2]})
    expect("an absent one", run("optional.onnx") == {"y": [5, 5]})
    model = Model("absent", opset=18)
    model.inputs.append(optional_info("o"))
    model.output(model.node("OptionalGetElement", ["o"], ["y"], "get"), FLOAT, [2])
    model.save(path("absent.onnx"))
    expect("there", run("absent.onnx", "--input", f"o={tensor('o.npy', 1, 2)}") == {"y": [1, 2]})
    refused(3, "OptionalGetElement operand 0 is missing", "check", path("absent.onnx"))


check_sequences()
check_optionals()
