"""Weights from files, new ones, other classes, teachers, and adapters: steps follow PyTorch (make_transfer.py in this folder made the
references), and exported models compute what evaluation computed.

    transfer.py [NAME...]
"""
import array
import json
import math
import os
import random
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bars"))
from bar import compile_spec, events, gradc, read_npy, run, scratch
from onnx_writer import FLOAT, FLOAT16, INT8, UINT8, Model, tensor

with open(os.path.join(HERE, "expected.json")) as file:
    EXPECTED = json.load(file)
CLOSE = 1e-5
folder = scratch()
FIELDS = 'field {{ name: "{0}"  path: "{1}" }} field {{ name: "labels"  path: "{2}/labels.npy" }}'
JOB = """model: "{folder}/{model}.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} weight: {weight} }}
metric {{ accuracy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ adam {{ learning_rate: 0.01 }} }}
data {{ source {{ npy {{ {fields} }} }} stage {{ batch {{ size: 8 }} }} }}
evaluation {{ data {{ source {{ npy {{ {fields} }} }} stage {{ batch {{ size: 32 }} }} }} }}
steps: {steps}
"""


def write(name, more, model="student", weight=1, steps=20, change=lambda spec: spec):
    """A spec's path."""
    data = "rows.npy" if model == "sequence" else "x.npy"
    path = os.path.join(folder, f"{name}.textproto")
    with open(path, "w") as file:
        file.write(change(JOB.format(folder=HERE, model=model, weight=weight, steps=steps,
                                     fields=FIELDS.format("x", f"{HERE}/{data}", HERE))) + more)
    return path


def train(name, more, *options, **changes):
    """The losses of the steps, and the last evaluation; the trainer stays in the folder."""
    trainer = compile_spec(write(name, more, **changes), folder)
    log = trainer + ".jsonl"
    run(trainer, "--log", log, "--export", trainer + ".onnx", "--quiet", *options, cwd=folder)
    return [step["loss"] for step in events(log, "step")], events(log, "eval")[-1]


def check(what, holds, found=""):
    if not holds:
        sys.exit(f"{what} is wrong {found}")


def expect(what, expected, found, limit=CLOSE):
    same = len(expected) == len(found) and found
    error = max(abs(f - e) / max(abs(e), 1e-3) for e, f in zip(expected, found)) if same else math.inf
    print(f"{what}: {len(found)} numbers within {error:.1e}", flush=True)
    check(what, error <= limit, f"by {error:.1e}")


def tensors(path):
    """The shape and numbers of each F32 tensor of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    values = {}
    for name, tensor in header.items():
        begin, end = (8 + size + at for at in tensor["data_offsets"])
        values[name] = tensor["shape"], array.array("f", data[begin:end])
    return values


def initial(name, more, **changes):
    """The tensors of a compiled trainer."""
    trainer = compile_spec(write(name, more, **changes), folder)
    gradc("export", trainer, "-o", trainer + ".safetensors")
    return tensors(trainer + ".safetensors")


def exported_loss(model, data):
    """The mean cross-entropy of an ONNX model's logits."""
    gradc("run", model, "--input", f"x={HERE}/{data}", "--output-dir", folder)
    with open(os.path.join(folder, "logits.npy"), "rb") as file:
        (count, classes), logits = read_npy(file.read())
    with open(os.path.join(HERE, "labels.npy"), "rb") as file:
        _, labels = read_npy(file.read())
    total = 0.0
    for row in range(count):
        scores = logits[row * classes:(row + 1) * classes]
        total += math.log(sum(math.exp(s - max(scores)) for s in scores)) + max(scores) - scores[labels[row]]
    return total / count


TEACHER = 'teacher {{ model: "{0}/teacher.onnx" feed {{ input: "pixels" field: "x" }} {1} }}'


def distillation():
    block = TEACHER.format(HERE, 'output: "probabilities" logits: "logits" temperature: 2 weight: 0.25')
    losses, evaluation = train("distillation", block, weight=0.75)
    expect("distillation", EXPECTED["distillation"], losses)
    plain, _ = train("alone", "", weight=0.75)
    check("a teacher that changes nothing", max(abs(a - b) for a, b in zip(plain[1:], losses[1:])) > 0.01)
    # Evaluation and export are the student's.
    expect("the exported student", [evaluation["loss"] / 0.75], [exported_loss(f"{folder}/distillation.onnx", "x.npy")], 1e-6)
    with open(f"{folder}/distillation.onnx", "rb") as file:
        check("an export without the teacher", b"body.weight" not in file.read())
    parts, _ = train("parts", block + " micro_batches: 4", weight=0.75)
    expect("distillation in 4 parts", losses, parts)
    narrow, _ = train("bf16", block + " precision: BF16", weight=0.75)
    expect("distillation in BF16", losses, narrow, 2e-2)
    check("BF16", narrow != losses)


def masked():
    """A class that the teacher masks with -inf has no probability, whatever the student gives it: its term is 0, not 0 * -inf."""
    classes, lost = 5, 1
    weight = [((7 * i) % 11 - 5) / 8 for i in range(12 * classes)]
    found = {}
    for name, mask in ("lowest", -1e9), ("infinite", -math.inf):
        model = Model(name, opset=17)
        bias = [mask if i == lost else 0.1 * i for i in range(classes)]
        scores = model.node("Gemm", [model.input("x", FLOAT, ["N", 12]), model.initializer("w", FLOAT, [12, classes], weight),
                                     model.initializer("b", FLOAT, [classes], bias)], ["scores"], name="scores")
        model.output(scores, FLOAT, ["N", classes])
        model.save(f"{folder}/{name}-teacher.onnx")
        block = f'teacher {{ model: "{folder}/{name}-teacher.onnx" output: "scores" logits: "logits" temperature: 3 weight: 0.5 }}'
        found[name], _ = train(name, block, weight=0.5)
    expect("a teacher that masks a class", found["lowest"], found["infinite"], 1e-6)


def features():
    losses, _ = train("features", TEACHER.format(HERE, 'output: "scores" logits: "logits" temperature: 4 weight: 0.5 '
                                                 'match { student: "features" teacher: "taught" weight: 0.1 }'), weight=0.5)
    expect("distillation with features", EXPECTED["features"], losses)


def unlabeled():
    """Without a loss, steps and evaluations measure what the teacher teaches, and data need no labels."""
    block = TEACHER.format(HERE, 'output: "probabilities" logits: "logits" temperature: 2 weight: 0.25')

    def without_labels(spec):
        kept = "".join(line for line in spec.splitlines(keepends=True) if not line.startswith(("loss", "metric")))
        return kept.replace(f' field {{ name: "labels"  path: "{HERE}/labels.npy" }}', "")

    losses, evaluation = train("unlabeled", block, "--checkpoint", "unlabeled.run", change=without_labels)
    negligible, beside = train("negligible", block, weight=1e-30)
    expect("distillation without labels", negligible, losses)
    check("an evaluation of the teacher's loss alone", evaluation["loss"] > 0.01 > beside["loss"], (evaluation, beside))
    still, evaluation = train("still", block, steps=1, change=lambda spec: without_labels(spec).replace("size: 8", "size: 32").replace(
        "learning_rate: 0.01", "learning_rate: 1e-30"))
    expect("an evaluation of the same rows and weights", still, [evaluation["loss"]], 1e-6)
    with open(f"{folder}/unlabeled.onnx", "rb") as file:
        check("an export without the teacher", b"body.weight" not in file.read())
    # The scores that are distilled are those of classes.
    run(f"{folder}/unlabeled", "predict", "--checkpoint", f"{folder}/unlabeled.run", "--data", f"{HERE}/x.npy", "-o", f"{folder}/classes.csv")
    with open(f"{folder}/classes.csv") as file:
        check("predictions", file.readline().rstrip().split(",")[1:3] == ["class", "score"])


LORA = """lora { pattern: "mix.weight" pattern: "out.*" rank: 2 alpha: 4 }
lora { pattern: "*.weight" rank: 3 }
trainable: "fc.bias"
"""
ADAPTERS = f'initial_weights {{ path: "{HERE}/adapters.safetensors" allow_missing: "*" }}\n'


def adapters():
    losses, evaluation = train("adapters", LORA + ADAPTERS, "--checkpoint", "adapted", model="sequence")
    expect("adapters", EXPECTED["adapters"], losses)
    expect("the merged model", [evaluation["loss"]], [exported_loss(f"{folder}/adapters.onnx", "rows.npy")], 1e-6)
    with open(f"{folder}/adapters.onnx", "rb") as file:
        check("an export without adapters", b"lora" not in file.read())
    # In safetensors: the merged weights, or, from a checkpoint alone, the adapters next to the original weights.
    gradc("export", f"{folder}/adapters", "--checkpoint", f"{folder}/adapted", "-o", f"{folder}/merged.safetensors")
    gradc("export", f"{folder}/adapted", "-o", f"{folder}/alone.safetensors")
    merged, alone, before = tensors(f"{folder}/merged.safetensors"), tensors(f"{folder}/alone.safetensors"), initial("plain", "", model="sequence")
    check("the merged names", sorted(merged) == sorted(before), sorted(merged))
    names = [f"{layer}.weight.lora_{factor}" for layer in ("mix", "out", "fc") for factor in "AB"]
    check("the names of a checkpoint", sorted(alone) == sorted([*before, *names]), sorted(alone))
    check("frozen weights", all(alone[f"{layer}.weight"] == before[f"{layer}.weight"] for layer in ("mix", "out", "fc")))
    check("frozen parameters", all(merged[name] == before[name] for name in ("mix.bias", "out.bias")))
    inputs, outputs = before["mix.weight"][0]
    (rank, _), down = alone["mix.weight.lora_A"]
    up = alone["mix.weight.lora_B"][1]
    product = [before["mix.weight"][1][i * outputs + o] + 2 * sum(up[o * rank + r] * down[r * inputs + i] for r in range(rank))
               for i in range(inputs) for o in range(outputs)]
    expect("W + alpha / rank B A", product, list(merged["mix.weight"][1]))
    # A model that begins with the merged weights goes on from there.
    again = initial("again", f'initial_weights {{ path: "{folder}/merged.safetensors" }}', model="sequence")
    check("merged weights as initial ones", again == merged)
    # Initial adapters change nothing; their averages are merged as well.
    first, _ = train("fresh", LORA, model="sequence", steps=1)
    plain, _ = train("unadapted", "", model="sequence", steps=1)
    check("the first loss with fresh adapters", abs(first[0] - plain[0]) < 1e-6, (first, plain))
    losses, evaluation = train("averaged", LORA + ADAPTERS + "ema { decay: 0.9 }", model="sequence")
    expect("the merged averages", [evaluation["loss"]], [exported_loss(f"{folder}/averaged.onnx", "rows.npy")], 1e-6)
    expect("steps with averages", EXPECTED["adapters"], losses)
    dropped, _ = train("dropped", LORA.replace("rank: 3", "rank: 3 dropout: 0.5") + ADAPTERS, model="sequence")
    check("dropout", max(abs(a - b) for a, b in zip(losses, dropped)) > 1e-4)


def write_codes(kind):
    """Two layers whose weights are codes from -8 to 7: `floats` of these values, `bytes` before DequantizeLinear, `halves`, the same with
    scales in f16 and in Constant nodes, or `nibbles` of MatMulNBits."""
    draws, model, value, width = random.Random(5), Model(kind, opset=23), "x", 12
    model.input(value, FLOAT, ["N", width])
    for layer, outputs, result in ("fc1", 16, "fc1.out"), ("fc2", 5, "logits"):
        rows = [[draws.randint(-8, 7) for _ in range(outputs)] for _ in range(width)]
        sizes = [draws.randint(20, 60) / 1024 for _ in range(outputs)]  # exact in f16
        weight, flat = f"{layer}.weight", [code for row in rows for code in row]
        if kind == "floats":
            factor = model.initializer(weight, FLOAT, [width, outputs], [code * sizes[i % outputs] for i, code in enumerate(flat)])
        elif kind in ("bytes", "halves"):
            model.initializer(weight, INT8, [width, outputs], flat)
            if kind == "bytes":
                scales = model.initializer(f"{layer}.scales", FLOAT, [outputs], sizes)
            else:
                scales = model.node("Constant", [], [f"{layer}.scales"], value=tensor("scales", FLOAT16, [outputs], sizes))
            factor = model.node("DequantizeLinear", [weight, scales], [f"{layer}.floats"], f"{layer}.floats", axis=1, output_dtype=FLOAT)
        if kind == "nibbles":
            columns = [[row[o] + 8 for row in rows] + [8] * (16 - width) for o in range(outputs)]
            model.initializer(weight, UINT8, [outputs, 1, 8], [low | high << 4 for one in columns for low, high in zip(one[::2], one[1::2])])
            model.node("MatMulNBits", [value, weight, model.initializer(f"{layer}.scales", FLOAT, [outputs], sizes)], [result], layer,
                       domain="com.microsoft", K=width, N=outputs, bits=4, block_size=16)
        else:
            model.node("MatMul", [value, factor], [result], layer)
        if layer == "fc1":
            value, width = model.node("Relu", [result], ["hidden"], "relu"), outputs
    model.output("logits", FLOAT, ["N", 5])
    model.save(f"{folder}/{kind}.onnx")


def codes():
    """Beside codes, adapters learn what they learn beside the floats that the codes stand for. An export holds both."""
    def adapted(kind, more=""):
        write_codes(kind)
        return train(f"adapted-{kind}", f'lora {{ pattern: "*.weight" rank: 2 alpha: 4 {more} }}',
                     change=lambda spec: spec.replace(f"{HERE}/student.onnx", f"{folder}/{kind}.onnx"))

    floats, _ = adapted("floats")
    check("adapters that learn", floats[16] < floats[0] - 0.01, floats)  # the same batch
    for kind in "bytes", "halves", "nibbles":
        losses, _ = adapted(kind)
        expect(f"adapters beside {kind}", floats, losses)
        for more in "", "dropout: 0.5":
            _, evaluation = adapted(kind, more)
            expect(f"{kind} and adapters, exported", [evaluation["loss"]], [exported_loss(f"{folder}/adapted-{kind}.onnx", "x.npy")], 1e-6)
            with open(f"{folder}/adapted-{kind}.onnx", "rb") as file:
                held = file.read()
            check("an export with adapters", b"fc1.weight.lora_A" in held and b"fc2.weight.lora_B" in held and b"Dropout" not in held)


WEIGHTS = f"""initial_weights {{
  path: "{HERE}/weights.safetensors"  strip_prefix: "module."
  rename {{ from: "net.classifier" to: "fc2" }} rename {{ from: "net." to: "" }}
  transpose: "fc1.weight"  ignore: "module.ema.*"
}}
"""


def weights():
    found = initial("weights", WEIGHTS)
    check("the names", sorted(found) == sorted(EXPECTED["weights"]))
    for name, values in EXPECTED["weights"].items():
        check(f"initial {name}", list(found[name][1]) == values)
    again = initial("weights-again", f'initial_weights {{ path: "{folder}/weights.safetensors" }}')
    check("weights of an export of gradc's own", again == found)


def words(counter, key):
    """Philox 4x32-10."""
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [b >> 32 ^ counter[1] ^ key[0], b & 0xffffffff, a >> 32 ^ counter[3] ^ key[1], a & 0xffffffff]
        key = [(key[0] + 0x9E3779B9) & 0xffffffff, (key[1] + 0xBB67AE85) & 0xffffffff]
    return counter


def moments(values):
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))


def fresh():
    # The largest matrix of the models has 192 elements.
    before = initial("before", "seed: 3")
    same = initial("fresh", 'seed: 3  reinitialize { pattern: "fc1.*" }')
    check("others stay", all(same[name] == before[name] for name in ("fc2.weight", "fc2.bias")))
    for name in ("fc1.weight", "fc1.bias"):
        found, bound = same[name][1], 1 / math.sqrt(12)
        check(f"the range of {name}", all(abs(v) <= bound for v in found) and max(map(abs, found)) > 0.8 * bound)
    check("the same bits for a seed", initial("twice", 'seed: 3  reinitialize { pattern: "fc1.*" }') == same)
    check("other numbers for another seed", initial("other", 'seed: 4  reinitialize { pattern: "fc1.*" }')["fc1.bias"] != same["fc1.bias"])
    # The following words: those of a name do not depend on other draws.
    value = words([5, 0, 0, 1], [3, KEY])[0] * 2.0**-32
    bound = 1 / math.sqrt(12)
    check("a uniform number", struct.pack("f", 2 * bound * value - bound) == struct.pack("f", same["fc1.weight"][1][5]))
    for kind, deviation in (("kaiming_normal {}", math.sqrt(2 / 12)), ("kaiming_uniform { slope: 1 }", math.sqrt(1 / 12)),
                            ("kaiming_normal { fan_out: true }", math.sqrt(2 / 16)), ("xavier_normal { gain: 2 }", 2 * math.sqrt(2 / 28)),
                            ("xavier_uniform {}", math.sqrt(2 / 28)), ("normal { mean: 1 deviation: 0.1 }", 0.1),
                            ("uniform { low: 1 high: 3 }", 2 / math.sqrt(12)), ("constant: 0.5", 0)):
        mean, found = moments(initial("kind", f'reinitialize {{ pattern: "fc1.weight" {kind} }}')["fc1.weight"][1])
        wanted = 1 if kind.startswith("normal") else 2 if kind.startswith("uniform {") else 0.5 if "constant" in kind else 0
        print(f"{kind}: mean {mean:.3f}, deviation {found:.3f}")
        check(kind, abs(found - deviation) <= 0.15 * deviation and abs(mean - wanted) <= 0.25 * deviation + 1e-9)
    # Later blocks and values win: new ones over those of a file.
    found = initial("both", WEIGHTS + 'seed: 3  reinitialize { pattern: "fc1.*" }')
    check("fresh values over a file's", found["fc1.weight"] == same["fc1.weight"] and list(found["fc2.bias"][1]) == EXPECTED["weights"]["fc2.bias"])


# The low half of the XXH64 of "fc1.weight".
KEY = 944029701


def head():
    for where in 'weight: "fc2.weight"', 'output: "logits"':
        found = initial("head", f"head {{ {where} classes: 7 }}")
        check("the head's shapes", found["fc2.weight"][0] == [7, 16] and found["fc2.bias"][0] == [7], found["fc2.weight"][0])
        check("the head's values", all(0 < max(map(abs, found[name][1])) <= 0.25 for name in ("fc2.weight", "fc2.bias")))
    # Values from a file: those of the old head are ignored, those of the new one are used.
    old = initial("old", WEIGHTS + 'head { output: "logits" classes: 7 }')
    check("weights beside a new head", list(old["fc1.bias"][1]) == EXPECTED["weights"]["fc1.bias"] and old["fc2.bias"] == found["fc2.bias"])
    gradc("export", f"{folder}/head", "-o", f"{folder}/seven.safetensors")
    new = initial("new", f'seed: 8  initial_weights {{ path: "{folder}/seven.safetensors" }} head {{ output: "logits" classes: 7 }}')
    check("weights of the new head", new == found)
    losses, evaluation = train("seven", 'head { output: "logits" classes: 7 }  freeze: "fc1.*"')
    expect("the exported head", [evaluation["loss"]], [exported_loss(f"{folder}/seven.onnx", "x.npy")], 1e-6)
    shown = gradc("inspect", f"{folder}/seven.onnx")
    check("the exported shape", re.search(r"logits\s.*7", shown), shown)
    check("learning", losses[-1] < losses[0])


def tied():
    """Two products with one matrix, which an exporter has written twice, and a classifier."""
    model, numbers = Model("tied", opset=17), [math.sin(i) / 4 for i in range(12 * 12)]
    turned = [numbers[j * 12 + i] for i in range(12) for j in range(12)]
    x = model.input("x", FLOAT, ["N", 12])
    for node, name, values in ("in", "embed", numbers), ("out", "decode", turned):
        x = model.node("MatMul", [x, model.initializer(name, FLOAT, [12, 12], values)], [f"{node}.out"], node)
    fc = model.initializer("fc.weight", FLOAT, [5, 12], [math.cos(i) / 4 for i in range(60)])
    model.output(model.node("Gemm", [x, fc], ["logits"], "fc", transB=1), FLOAT, ["N", 5])
    path = os.path.join(folder, "tied.onnx")
    model.save(path)
    return path


def ties():
    """Tied weights are a single one with a resized head and with values from a file, which only needs one of them, in training and in the
    export."""
    tie = f'tie {{ a: "embed" b: "decode" transpose: true }}\nhead {{ weight: "fc.weight" classes: 6 }}\n'
    tied()
    change = lambda spec: spec.replace(f"{HERE}/student.onnx", f"{folder}/tied.onnx")
    before = initial("tied-before", tie + 'reinitialize { pattern: "embed" }', change=change)
    gradc("export", f"{folder}/tied-before", "-o", f"{folder}/tied-before.safetensors")
    again = initial("tied-weights", tie + f'initial_weights {{ path: "{folder}/tied-before.safetensors" }}', change=change)
    check("weights of a tied model", again == before and list(before) == ["embed", "fc.weight"], list(before))
    _, evaluation = train("tied-trained", tie, change=change)
    expect("the export of a tied model", [evaluation["loss"]], [exported_loss(f"{folder}/tied-trained.onnx", "x.npy")], 1e-6)
    # An untied export begins with the values of both.
    untied = initial("untied", "", change=lambda spec: spec.replace(f"{HERE}/student.onnx", f"{folder}/tied-trained.onnx"))
    embed, decode = (untied[name][1] for name in ("embed", "decode"))
    check("tied values", all(embed[i * 12 + j] == decode[j * 12 + i] for i in range(12) for j in range(12)))
    check("trained values", embed != before["embed"][1] and untied["fc.weight"][0] == [6, 12])


def blocks():
    """Train blocks together with a teacher, adapters, and a new head."""
    block = TEACHER.format(HERE, 'output: "probabilities" logits: "logits" temperature: 2 weight: 0.25')
    losses, _ = train("block", block + 'train { name: "all" }', weight=0.75)
    expect("distillation as a train block", EXPECTED["distillation"], losses)
    # A block's own losses exclude the teacher.
    own = 'loss { softmax_cross_entropy { logits: "logits" labels: "labels" } weight: 0.75 }'
    losses, _ = train("two-blocks", block + f'train {{ name: "alone" {own} }} train {{ name: "taught" steps: 19 }}', weight=0.75)
    plain, _ = train("one-block", "", weight=0.75)
    taught, _ = train("no-block", block, weight=0.75)
    expect("a block's own loss", plain[:1], losses[:1], 1e-6)
    check("the other block's loss", taught[0] - plain[0] > 0.01 and losses[1] - plain[1] > 0.01, (taught[:1], plain[:2], losses[:2]))
    # Each block trains its adapters; the export contains both, merged.
    turns = 'train { name: "mix" trains: "mix.*" } train { name: "rest" trains: "out.*" trains: "fc.*" }\n'
    train("one-turn", LORA + turns, "--checkpoint", "turned", model="sequence", steps=1)
    gradc("export", f"{folder}/turned", "-o", f"{folder}/turned.safetensors")
    found = tensors(f"{folder}/turned.safetensors")
    check("the adapters of the first block", any(found["mix.weight.lora_B"][1]) and not any(found["out.weight.lora_B"][1]))
    watch = 'watch { every: 5 pattern: "*.lora_B" gradients: true weights: true }\n'
    losses, evaluation = train("turns", LORA + turns + watch, model="sequence")
    expect("adapters of two blocks, merged", [evaluation["loss"]], [exported_loss(f"{folder}/turns.onnx", "rows.npy")], 1e-6)
    # First a new head, then everything.
    head = 'head { output: "logits" classes: 7 }\n'
    before = initial("thawing", head)
    for steps, same in (5, True), (6, False):
        train("thawing", head + 'group { pattern: "fc1.*" frozen_until_step: 5 }', "--checkpoint", f"thawed{steps}", steps=steps)
        gradc("export", f"{folder}/thawed{steps}", "-o", f"{folder}/thawed.safetensors")
        found = tensors(f"{folder}/thawed.safetensors")
        check(f"the frozen layer after {steps} steps", (found["fc1.weight"] == before["fc1.weight"]) == same)
        check(f"the head after {steps} steps", found["fc2.weight"] != before["fc2.weight"])


CASES = (distillation, masked, features, unlabeled, adapters, codes, weights, fresh, head, ties, blocks)
chosen = [case for case in CASES if not sys.argv[1:] or case.__name__ in sys.argv[1:]]
for case in chosen:
    case()
print(f"transfer: {len(chosen)} cases hold")
