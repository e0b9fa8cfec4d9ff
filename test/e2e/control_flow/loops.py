"""Loops that conditions end: evaluated, compiled, and on a (simulated) GPU, they equal Python's results, whether the trip count is a number
of the model, of the run, or missing, and whatever ends them. Steps after the last one do not run, and steps copy nothing.

    loops.py
"""
import array
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import BIN, gradc, program, read_npy, write_npy
from onnx_writer import BOOL, FLOAT, INT64, Model, message, node, value_info

SIZE, NEVER, LARGEST = 16, 1e30, 2**63 - 1
SIMULATED = dict(os.environ, GRADC_LIBCUDA=os.path.join(BIN, "../test/gradc-simulated-cuda.so"))


def goes(value, limit, to):
    """Nodes that tell whether the largest element is below a limit."""
    return [node("ReduceMax", [value], [to + ".largest"], "max", keepdims=0), node("Less", [to + ".largest", limit], [to], "less")]


def loop(name, inputs, output, nodes, after):
    """A loop that carries "v"; `nodes` compute `after`, and "goes" from it."""
    body = message((1, nodes), (2, name), (11, [value_info("i", INT64, []), value_info("go", BOOL, []), value_info("v", FLOAT, [SIZE])]),
                   (12, [value_info("goes", BOOL, []), value_info(after, FLOAT, [SIZE])]))
    return message((1, inputs), (2, [output]), (3, name), (4, "Loop"), (5, message((1, "body"), (6, body), (20, 5))))


def begin(name):
    model = Model(name)
    x, limit = model.input("x", FLOAT, [SIZE]), model.input("limit", FLOAT, [])
    model.nodes += goes(x, limit, "first")
    return model


def end(model, node):
    model.nodes.append(node)
    model.output("y", FLOAT, [SIZE])
    model.save(path(model.name + ".onnx"))


def doubling(name, trips):
    """Doubles x until its largest element is no longer below the limit: `trips` times at most, a number or the name of an input, at most 8."""
    model = begin(name)
    if isinstance(trips, str) and trips:
        trips = model.node("Min", [model.input(trips, INT64, []), model.initializer("most", INT64, [], [8])], ["bounded"], "min")
    elif trips:
        trips = model.initializer("trips", INT64, [], [trips])
    end(model, loop("doubling", [trips, "first", "x"], "y", [node("Add", ["v", "v"], ["w"], "add"), *goes("w", "limit", "goes")], "w"))


def adding():
    """Adds an element of a table of eight ones in each step."""
    model = begin("adding")
    model.initializer("table", FLOAT, [8], [1.0] * 8)
    model.initializer("trips", INT64, [], [1000])
    nodes = [node("Gather", ["table", "i"], ["one"], "lookup"), node("Add", ["v", "one"], ["w"], "add"), *goes("w", "limit", "goes")]
    end(model, loop("adding", ["trips", "first", "x"], "y", nodes, "w"))


def counted():
    """Doubles x three times at most, which only the condition says: it also counts."""
    model = begin("counted")
    model.initializer("two", INT64, [], [2])
    nodes = [node("Add", ["v", "v"], ["w"], "add"), *goes("w", "limit", "small"), node("Less", ["i", "two"], ["few"], "few"),
             node("And", ["few", "small"], ["goes"], "both")]
    end(model, loop("counted", ["", "first", "x"], "y", nodes, "w"))


def nested():
    """Each step doubles until 8, then triples."""
    model = begin("nested")
    model.initializer("eight", FLOAT, [], [8.0])
    model.initializer("three", FLOAT, [], [3.0])
    inner = loop("inner", ["", "small", "v"], "u", [node("Add", ["v", "v"], ["w"], "add"), *goes("w", "eight", "goes")], "w")
    nodes = [*goes("v", "eight", "small"), inner, node("Mul", ["u", "three"], ["t"], "triple"), *goes("t", "limit", "goes")]
    end(model, loop("outer", ["", "first", "x"], "y", nodes, "t"))


def give(**inputs):
    """Writes inputs and returns their options: x is counted down from its first element."""
    options = []
    for name, value in inputs.items():
        values = [value - i for i in range(SIZE)] if name == "x" else [value]
        write_npy(path(name + ".npy"), array.array("q" if isinstance(value, int) else "f", values), (SIZE,) if name == "x" else ())
        options += ["--input", f"{name}={path(name)}.npy"]
    return options


def run(file, *options):
    return subprocess.run([program("gradc"), "run", file, *options, "--output-dir", path("out")], capture_output=True, text=True, env=SIMULATED)


def compiled(name):
    gradc("compile", path(name + ".onnx"), "--target", "cpu,cuda:sm_90", "--llvm-image", "-o", path(name + "-cuda"))
    gradc("compile", path(name + ".onnx"), "-o", path(name + "-cpu"))
    return [(path(name + ".onnx"), "--reference"), (path(name + ".onnx"),), (path(name + "-cpu"),), (path(name + "-cuda"),)]


def check(name, cases):
    """`cases`: inputs, and what happens to the elements of x."""
    files = compiled(name)
    for inputs, after in cases:
        options = give(**inputs)
        expected = [after(inputs["x"] - i) for i in range(SIZE)]
        for file, *how in files:
            result = run(file, *how, *options)
            expect(f"{name} {inputs} {file} {how}: {result.stderr}", result.returncode == 0)
            with open(path("out/y.npy"), "rb") as result:
                found = list(read_npy(result.read())[1])
            expect(f"{name} {inputs} {file} {how}: {found}", found == expected)


def check_doubling(name, most, **more):
    def times(n):
        return lambda v: v * 2**n
    cases = [({"x": 5.0, "limit": 5.0}, 0), ({"x": 5.0, "limit": 9.0}, 1), ({"x": 1.0, "limit": 30.0}, 5)]
    if most < 60:
        cases.append(({"x": 1.0, "limit": NEVER}, most))
    check(name, [({**inputs, **more}, times(min(n, most))) for inputs, n in cases])


def check_steps():
    """Of a million steps, or of any number, ten run, and they change the output in place."""
    options = give(x=1.0, limit=1000.0)
    for name, threads in [("million", "1"), ("missing", "1"), ("missing", "2")]:
        gradc("bench", path(name + "-cpu"), *options, "--seconds", "0.05", "--threads", threads, "--trace", path("trace.json"))
        with open(path("trace.json")) as file:
            iterations = {int(n) for n in re.findall(r'"iteration":\[(\d+)\]', file.read())}
        expect(f"{name} on {threads}: iterations {iterations}", iterations == set(range(10)))
    plan = gradc("plan", path("million.onnx"))
    body = plan.split("loop of at most 1000000")[1].split("peak")[0]
    expect(f"the plan is {plan}", "copy" not in body and not re.search(r"\bif\b", body))


def check_counter():
    """A counter in the condition bounds a loop, which then has a gradient."""
    check("counted", [({"x": 5.0, "limit": 5.0}, lambda v: v), ({"x": 1.0, "limit": 3.0}, lambda v: v * 4),
                      ({"x": 1.0, "limit": NEVER}, lambda v: v * 8)])
    plan = gradc("plan", path("counted.onnx"))
    expect(f"the plan is {plan}", "loop of at most 3" in plan)
    with open(path("slope.textproto"), "w") as file:
        file.write('model: "counted.onnx" gradients { of: "y" with_respect_to: "x" }')
    gradc("compile", path("slope.textproto"), "-o", path("slope"))
    for limit, slope in (1.0, 1), (3.0, 4), (NEVER, 8):
        result = run(path("slope"), *give(x=1.0, limit=limit))
        expect(f"gradients up to {limit}: {result.stderr}", result.returncode == 0)
        with open(path("out/dy_dx.npy"), "rb") as file:
            found = list(read_npy(file.read())[1])
        expect(f"the gradients up to {limit} are {found}", found == [slope] * SIZE)


def check_indices():
    """Indices are checked in the steps that run."""
    check("adding", [({"x": 5.0, "limit": 13.0}, lambda v: v + 8)])
    options = give(x=5.0, limit=14.0)
    for file, *how in compiled("adding"):
        result = run(file, *how, *options)
        expect(f"{file} {how} said {result.stderr}", result.returncode and 'node "lookup": index 8 is out of range, expected -8 to 7' in result.stderr)


doubling("million", 10**6), doubling("few", 3), doubling("bounded", "n"), doubling("largest", LARGEST), doubling("missing", ""), adding(), counted(), nested()
check_doubling("million", 10**6)
check_doubling("few", 3)
for n in (-1, 0, 4, 99):
    check_doubling("bounded", min(max(n, 0), 8), n=n)
check_doubling("largest", LARGEST)
check_doubling("missing", LARGEST)
check("nested", [({"x": 1.0, "limit": 1000.0}, lambda v: v * 8 * 3**5), ({"x": 9.0, "limit": 9.0}, lambda v: v)])
check_steps()
check_counter()
check_indices()
