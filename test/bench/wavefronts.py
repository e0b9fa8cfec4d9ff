"""Two directions of an LSTM as two loops, against forms that a compiler could make of them: one loop with both bodies, one loop over
joined kernels, and the latter with the directions shared between threads however small they are. Inference; medians of interleaved rounds.

    wavefronts.py [--rounds 5] [--seconds 0.1] [--shape ROWS,UNITS]...     needs gradc on the path
"""
import argparse
import glob
import json
import os
import re
import statistics
import subprocess
import tempfile

STEPS = 64
SHAPES = [(1, 16), (1, 64), (8, 32), (8, 64), (8, 128), (32, 128)]


class Module:
    """The text of a module whose step has `rows` rows and `units` units, with `lead` before the dims of every tensor of a step."""

    def __init__(self, rows, units, lead=""):
        self.units = units
        self.lead = lead
        self.sizes = [int(size) for size in lead.split("x") if size] + [rows, units]
        self.state, self.gates = self.tensor(rows, units), self.tensor(rows, 4 * units)
        self.weight = self.tensor(units, 4 * units)
        self.stack, self.outputs = self.tensor(rows, 4 * units, steps=True), self.tensor(rows, units, steps=True)

    def tensor(self, *dims, steps=False):
        return f"tensor<{f'{STEPS}x' if steps else ''}{self.lead}{'x'.join(map(str, dims))}xf32>"

    def cell(self, p):
        """From values %{p}h, %{p}c, %{p}x and %{p}w to %{p}hn and %{p}cn."""
        rank = len(self.sizes)
        gate = lambda i: (f"grad.slice %{p}s starts {[0] * (rank - 1) + [i * self.units]} sizes {self.sizes} strides {[1] * rank} "
                          f": {self.gates}")
        return f"""
    %{p}m = grad.matmul %{p}h, %{p}w : {self.state}, {self.weight}
    %{p}s = grad.add %{p}m, %{p}x : {self.gates}
    %{p}0 = {gate(0)}
    %{p}1 = {gate(1)}
    %{p}2 = {gate(2)}
    %{p}3 = {gate(3)}
    %{p}i = grad.sigmoid %{p}0 : {self.state}
    %{p}f = grad.sigmoid %{p}1 : {self.state}
    %{p}o = grad.sigmoid %{p}2 : {self.state}
    %{p}g = grad.tanh %{p}3 : {self.state}
    %{p}kept = grad.mul %{p}f, %{p}c : {self.state}
    %{p}new = grad.mul %{p}i, %{p}g : {self.state}
    %{p}cn = grad.add %{p}kept, %{p}new : {self.state}
    %{p}t = grad.tanh %{p}cn : {self.state}
    %{p}hn = grad.mul %{p}o, %{p}t : {self.state}"""

    def loop(self, names, stacks, reverse=""):
        """One loop over a cell for each of `names`; its stacked results are %y of each name."""
        each = lambda text: ", ".join(text.format(p) for p in names)
        count = len(names)
        carried = ", ".join([self.state] * (2 * count))
        stacked = ", ".join([self.outputs] * count)
        arguments = ", ".join([f"%{p}h: {self.state}, %{p}c: {self.state}" for p in names] + [f"%{p}x: {self.gates}" for p in names] +
                              [f"%{p}w: {self.weight}" for p in names])
        operands = ", ".join([carried] + [self.stack] * count + [self.weight] * count)
        return f"""
  {each("%{0}lasth, %{0}lastc")}, {each("%{0}y")} = grad.scan {STEPS}{reverse} from ({', '.join(['%zero'] * 2 * count)}) over ({stacks}) with ({each("%{0}u")}) : ({operands}) -> ({carried}, {stacked}) {{
  ^bb0({arguments}):{''.join(map(self.cell, names))}
    grad.yield {each("%{0}hn, %{0}cn")}, {each("%{0}hn")} : {carried}, {', '.join([self.state] * count)}
  }}"""

    def text(self, names, loops):
        port = lambda name, role: f'{{grad.name = "{name}", grad.role = "{role}"}}'
        inputs = ", ".join(f"%{p}in: {self.stack} {port(p + 'x', 'data')}" for p in names)
        outputs = ", ".join(f"{self.outputs} {port(p + 'y', 'output')}" for p in names)
        states = "".join(f"grad.state parameter @{p} : {self.weight} = dense<0.01> : {self.weight}\n" for p in names)
        reads = "".join(f"  %{p}u = grad.read @{p} : {self.weight}\n" for p in names)
        results = ", ".join(f"%{p}y" for p in names)
        return f"""{states}func.func @forward({inputs}) -> ({outputs}) attributes {{grad.entry = "forward", grad.batch = 1 : i64}} {{
  %zero = grad.constant dense<0.0> : {self.state}
{reads}{''.join(loops)}
  return {results} : {', '.join([self.outputs] * len(names))}
}}
"""


def module_of(form, rows, units):
    m = Module(rows, units, "" if form in ("two loops", "one loop") else "2x")
    if form == "two loops":
        return m.text("ab", [m.loop("a", "%ain"), m.loop("b", "%bin", " reverse")])
    return m.text("ab", [m.loop("ab", "%ain, %bin")]) if form == "one loop" else m.text("a", [m.loop("a", "%ain")])


def compile_form(form, rows, units, folder):
    source, artifact = os.path.join(folder, "module.mlir"), os.path.join(folder, f"{form}-{rows}-{units}")
    with open(source, "w") as file:
        file.write(module_of(form, rows, units))
    dump = os.path.join(folder, "dump")
    command = ["gradc", "compile", "--target", "cpu", "-o", artifact]
    subprocess.run([*command, source, "--dump-after-each", dump], check=True, stdout=subprocess.DEVNULL)
    if form == "shared":  # every unit of work may go to another thread
        with open(sorted(glob.glob(os.path.join(dump, "*plan-memory.mlir")))[-1]) as file:
            planned = re.sub(r"grain = \d+", "grain = 1", file.read())
        with open(source, "w") as file:
            file.write(planned)
        subprocess.run([*command, source], check=True, stdout=subprocess.DEVNULL)
    return artifact


def milliseconds(artifact, threads, seconds):
    done = subprocess.run(["gradc", "bench", artifact, "--threads", str(threads), "--seconds", str(seconds), "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)["ms"]["p10"]  # what other work disturbed least


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--shape", action="append", help="ROWS,UNITS")
    a = parser.parse_args()
    shapes = [tuple(map(int, shape.split(","))) for shape in a.shape or []] or SHAPES
    forms = ["two loops", "one loop", "joined", "shared"]
    with tempfile.TemporaryDirectory() as folder:
        artifacts = {(form, shape): compile_form(form, *shape, folder) for shape in shapes for form in forms}
        for shape in shapes:
            for threads in 1, 2:
                rounds = [[milliseconds(artifacts[form, shape], threads, a.seconds) for form in forms] for _ in range(a.rounds)]
                times = [statistics.median(column) for column in zip(*rounds)]
                ratios = ", ".join(f"{form} {times[0] / t:.2f}x" for form, t in zip(forms[1:], times[1:]))
                print(f"{shape[0]} rows, {shape[1]} units, {threads} threads: two loops {1e3 * times[0]:.1f} us; {ratios}", flush=True)


if __name__ == "__main__":
    main()
