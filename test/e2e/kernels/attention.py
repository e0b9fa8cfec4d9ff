"""Trains models with one attention each, as a whole and in parts, and verifies the kernels of both: attention.py FOLDER"""
import array
import math
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bars"))
from bar import FLOAT, Model, compile_spec, events, gradc, run, write_npy

INT64, BOOL = 7, 9
POSITIONS, WIDTH, SIZE, ROWS, BATCH = 20, 12, 8, 7, 4  # the last batch has three rows


class Attention:
    """x [N, POSITIONS, WIDTH] times a trained matrix, and an attention over its columns."""

    def __init__(self, heads, key_heads, opset=18):
        self.m, self.heads, self.key_heads = Model("attention", opset=opset), heads, key_heads
        x, numbers = self.m.input("x", FLOAT, ["N", POSITIONS, WIDTH]), random.Random(3)
        columns = [heads * SIZE, key_heads * SIZE, key_heads * SIZE]
        weight = [numbers.gauss(0, 0.4) for _ in range(WIDTH * sum(columns))]
        product = self.m.node("MatMul", [x, self.m.initializer("weight", FLOAT, [WIDTH, sum(columns)], weight)], ["projected"])
        self.m.node("Split", [product, self.ints("columns", columns)], ["q", "k", "v"], axis=-1)
        self.heads_of = [self.head(name, n) for name, n in zip("qkv", (heads, key_heads, key_heads))]

    def ints(self, name, values):
        return self.m.initializer(name, INT64, [len(values)], values)

    def head(self, name, heads):
        split = self.m.node("Reshape", [name, self.ints(f"{name}.shape", [0, POSITIONS, heads, SIZE])], [f"{name}.split"])
        return self.m.node("Transpose", [split], [f"{name}.heads"], perm=[0, 2, 1, 3])

    def seen(self):
        """Whether a token is not padding, [N, POSITIONS]."""
        return self.m.node("Greater", [self.m.input("tokens", INT64, ["N", POSITIONS]), self.m.initializer("padding", INT64, [], [0])], ["seen"])

    def masked(self, mask, whole, ratio=0):
        """In PyTorch's form: half of the scale on each side, and a mask that is added."""
        root = self.m.initializer("root", FLOAT, [], [SIZE ** -0.25])
        query = self.m.node("Mul", [self.heads_of[0], root], ["q.scaled"])
        key = self.m.node("Mul", [self.m.node("Transpose", [self.heads_of[1]], ["k.t"], perm=[0, 1, 3, 2]), root], ["k.scaled"])
        scores = self.m.node("Add", [self.m.node("MatMul", [query, key], ["scores"]), mask], ["masked"])
        weights = self.m.node("Softmax", [scores], ["weights"], axis=-1)
        if ratio:
            options = [self.m.initializer("ratio", FLOAT, [], [ratio]), self.m.initializer("training", BOOL, [], [1])]
            weights = self.m.node("Dropout", [weights, *options], ["weights.kept"])
        return self.finish(self.m.node("MatMul", [weights, self.heads_of[2]], ["attended"]), None if whole else weights)

    def finish(self, attended, weights):
        """The mean of squares; it also reads `weights`, so that the attention stays in parts."""
        loss = self.m.node("ReduceMean", [self.m.node("Mul", [attended, attended], ["squares"])], ["loss"], keepdims=0)
        if weights:
            none = self.m.node("Mul", [self.m.node("ReduceMean", [weights], ["mass"], keepdims=0), self.m.initializer("zero", FLOAT, [], [0.0])], ["none"])
            loss = self.m.node("Add", [loss, none], ["loss.parts"])
        self.m.output(loss, FLOAT, [])
        return self.m, loss


def causal(whole, ratio=0):
    a = Attention(2, 2)
    hidden = a.m.node("Expand", [a.m.initializer("hidden", FLOAT, [1], [-math.inf]), a.ints("square", [POSITIONS, POSITIONS])], ["all"])
    return a.masked(a.m.node("Trilu", [hidden, a.m.initializer("one", INT64, [], [1])], ["above"], upper=1), whole, ratio)


def dropping(whole):
    return causal(whole, ratio=0.3)


def padding(whole):
    a = Attention(3, 3)
    numbers = [a.m.initializer(name, FLOAT, [], [value]) for name, value in (("visible", 0.0), ("low", -1e9))]
    mask = a.m.node("Where", [a.seen(), *numbers], ["per_token"])
    return a.masked(a.m.node("Unsqueeze", [mask, a.ints("axes", [1, 2])], ["mask"]), whole)


def imported(whole):
    a = Attention(4, 2, opset=24)
    mask = a.m.node("Unsqueeze", [a.seen(), a.ints("axes", [1, 2])], ["mask"])
    outputs = ["attended"] if whole else ["attended", "", "", "weights"]
    a.m.node("Attention", [*a.heads_of, mask], outputs, qk_matmul_output_mode=3)
    return a.finish("attended", None if whole else "weights")


def write_spec(folder, make, whole):
    model, loss = make(whole)
    name = f"{make.__name__}{'' if whole else '.parts'}"
    model.save(os.path.join(folder, name + ".onnx"))
    spec = os.path.join(folder, name + ".textproto")
    with open(spec, "w") as file:
        file.write(f"""model: "{name}.onnx"
loss {{ scalar: "{loss}" }}
optimizer {{ sgd {{ learning_rate: 0.1 }} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x.npy" }} {'' if make in (causal, dropping) else 'field { name: "tokens"  path: "tokens.npy" }'} }} }}
  stage {{ batch {{ size: {BATCH} }} }}
}}
epochs: 2
""")
    return spec


def write_data(folder):
    numbers = random.Random(5)
    write_npy(os.path.join(folder, "x.npy"), array.array("f", (numbers.gauss(0, 1) for _ in range(ROWS * POSITIONS * WIDTH))), (ROWS, POSITIONS, WIDTH))
    # Rows of every length, and one of padding alone.
    tokens = [int(position < row * 3) for row in range(ROWS) for position in range(POSITIONS)]
    write_npy(os.path.join(folder, "tokens.npy"), array.array("q", tokens), (ROWS, POSITIONS))


def losses(program, folder, threads):
    log = f"{program}.{threads}.jsonl"
    run(program, "--data-dir", folder, "--log", log, "--quiet", f"--threads={threads}")
    return [step["loss"] for step in events(log, "step")]


def check(folder, make):
    whole, parts = (write_spec(folder, make, w) for w in (True, False))
    plans = [sorted(set(re.findall(r" (attention(?:_grad)?)(?:_\d+)*\b", gradc("plan", spec)))) for spec in (whole, parts)]
    if plans != [["attention", "attention_grad"], []]:
        sys.exit(f"{make.__name__}: kernels of attentions in the plans, whole and in parts: {plans}")
    print(gradc("verify", whole))
    program = compile_spec(whole, folder)
    found, expected = losses(program, folder, 1), losses(compile_spec(parts, folder), folder, 1)
    if found != losses(program, folder, 3):
        sys.exit(f"{make.__name__}: other losses with three threads")
    if len(found) != 4 or not all(math.isclose(f, e, rel_tol=1e-5) for f, e in zip(found, expected)):
        sys.exit(f"{make.__name__}: losses {found}, in parts {expected}")


def main():
    folder = sys.argv[1]
    write_data(folder)
    for make in (causal, dropping, padding, imported):
        check(folder, make)
    print("4 attentions, each with its gradient")


main()
