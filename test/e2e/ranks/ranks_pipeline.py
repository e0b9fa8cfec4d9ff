"""Ranks that are the stages of a pipeline, over MPI: the losses of one process with the same micro-batches, checkpoints that fit any
number of ranks and any strategy, and what ends such a training.

    ranks_pipeline.py ROOT
"""
import os
import random
import re
import shutil
import signal
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from bar import FLOAT, Model, compile_spec, events, run, scratch, write_mlp_job
from rank_runs import digits_trainer, losses, mpi_environment, ranks_of, start, wait_for_steps, write_spec

STEPS, PARTS = 50, "micro_batches: 4\nclip { global_norm: 1 }\nema { decay: 0.9 }\n"
folder = scratch()


def trainer_of(name, distribution, more=PARTS):
    os.mkdir(os.path.join(folder, name))
    return digits_trainer(os.path.join(folder, name), f"{distribution}  stall_seconds: 3", more=more)


def train(trainer, name, ranks, steps, *options):
    """The losses of a training, its last evaluation, and the checkpoint at its end."""
    log, run_folder = os.path.join(folder, name + ".jsonl"), os.path.join(folder, name)
    run(trainer, "--ranks", ranks, "--log", log, "--checkpoint", run_folder, "--steps", steps, *options, cwd=os.path.dirname(trainer))
    with open(os.path.join(run_folder, f"step-{steps}.ckpt"), "rb") as file:
        return losses(log), events(log, "eval")[-1], file.read()


def worst(expected, found):
    assert len(expected) == len(found) > 0, f"{len(found)} losses, expected {len(expected)}"
    return max(abs(a - b) for a, b in zip(expected, found))


def follow_one_process(name, stages, more=PARTS, replicas=1):
    ranks = stages * replicas
    data_parallel = "data_parallel: true" if replicas > 1 else ""
    trainer = trainer_of(name, f"strategy: PIPELINE  stages: {stages}  {data_parallel}", more)
    alone, evaluated, _ = train(trainer, f"{name}-alone", 1, STEPS)
    found = train(trainer, f"{name}-stages", ranks, STEPS)
    assert worst(alone[:20], found[0][:20]) <= 1e-6, f"{stages} stages: losses differ by {worst(alone[:20], found[0][:20])}"
    assert abs(evaluated["loss"] - found[1]["loss"]) <= 1e-4, f"{stages} stages: evaluations {evaluated} and {found[1]}"
    os.environ["GRADC_RANKS_MEMORY"] = "separate"
    again = train(trainer, f"{name}-again", ranks, STEPS)
    del os.environ["GRADC_RANKS_MEMORY"]
    assert again[0] == found[0] and again[2] == found[2], f"{stages} stages: other bits again"
    return trainer, alone


def resume_as_others(kind, turns, alone):
    """A checkpoint of stages goes on in one process and with other strategies, and theirs with stages."""
    for number, (first, ranks, second, more) in enumerate(turns):
        name = f"{kind}-resumed{number}"
        train(first, name, ranks, 25)
        os.remove(os.path.join(folder, name + ".jsonl"))
        rest = train(second, name, more, 40, "--resume")[0]
        assert worst(alone[25:40], rest) <= 1e-5, f"{name}: losses differ by {worst(alone[25:40], rest)}"


def tied_spec(where):
    """A perceptron whose last layer has the weight of its first one, transposed: two stages read it."""
    spec, numbers = write_mlp_job(where, (16, 64, 16), batch=24, batches=4), random.Random(5)
    model = Model("tied", opset=20)
    x = model.input("x", FLOAT, ["N", 16])
    tied, middle = (model.initializer(name, FLOAT, [rows, 64], [numbers.gauss(0, 0.2) for _ in range(rows * 64)])
                    for name, rows in (("tied", 16), ("middle", 64)))
    for name, weight in (("first", tied), ("second", middle)):
        x = model.node("Tanh", [model.node("MatMul", [x, weight], [name], name)], [f"{name}.out"], f"{name}.tanh")
    turned = model.node("Transpose", [tied], ["turned"], "turned", perm=[1, 0])
    model.node("MatMul", [x, turned], ["logits"], "last")
    model.output("logits", FLOAT, ["N", 16])
    model.save(os.path.join(where, "mlp.onnx"))
    return spec


def normalized_spec(where):
    """The digits by the network of examples/from_pytorch, which normalizes batches."""
    with open(os.path.join(ROOT, "examples/from_pytorch/train.textproto")) as file:
        text = re.sub(r"(?m)^(epochs|checkpoint|export).*\n", "", file.read())
    spec = os.path.join(where, "net.textproto")
    with open(spec, "w") as file:
        file.write(text.replace("net.onnx", os.path.join(ROOT, "examples/from_pytorch/net.onnx"))
                   .replace("../digits", os.path.join(ROOT, "examples/digits")))
    return spec


def digits_spec(where):
    return write_spec(where, None)


def small_spec(where):
    """A perceptron whose first bias is small: the other stage computes its slots, too, and does not read the bias that it receives."""
    return write_mlp_job(where, (5, 16, 3), batch=8, batches=4)


def fixed_spec(where):
    """A perceptron with a factor that two frozen weights determine: evaluations read it as a state of its own, which no stage writes."""
    spec, numbers = write_mlp_job(where, (16, 64, 16), batch=24, batches=4), random.Random(5)
    with open(spec) as file:
        data = file.read().partition("\ndata {")[2]
    with open(spec, "a") as file:
        file.write(f'freeze: "down"  freeze: "up"\nevaluation {{ data {{{data}}}\n')
    model = Model("fixed", opset=20)
    x = model.input("x", FLOAT, ["N", 16])
    weights = {name: model.initializer(name, FLOAT, shape, [numbers.gauss(0, 0.2) for _ in range(shape[0] * shape[-1])])
               for name, shape in (("first", (16, 64)), ("bias", (1, 64)), ("more", (1, 64)), ("down", (64, 48)), ("up", (48, 64)),
                                   ("last", (64, 16)))}
    x = model.node("MatMul", [x, weights["first"]], ["x.first"], "first")
    for name in ("bias", "more"):
        x = model.node("Add", [x, weights[name]], [f"x.{name}"], name)
    x = model.node("Tanh", [x], ["x.tanh"], "tanh")
    product = model.node("MatMul", [weights["down"], weights["up"]], ["product"], "product")
    x = model.node("MatMul", [x, product], ["x.product"], "middle")
    model.node("MatMul", [x, weights["last"]], ["logits"], "last")
    model.output("logits", FLOAT, ["N", 16])
    model.save(os.path.join(where, "mlp.onnx"))
    return spec


def follow_with(name, spec_of, more=""):
    """Of other models and precisions: stages follow one process that trains the same parts. Returns the losses of both in evaluations."""
    where = os.path.join(folder, name)
    os.mkdir(where)
    spec = spec_of(where)
    with open(spec, "a") as file:
        file.write(f"{more}\nmicro_batches: 4\ndistribution {{ strategy: PIPELINE  stages: 2 }}\n")
    trainer = compile_spec(spec, where)
    found, evaluated = [], []
    for ranks in (1, 2):
        log = os.path.join(where, f"{ranks}.jsonl")
        run(trainer, "--ranks", ranks, "--log", log, "--steps", 20, cwd=where)
        found.append(losses(log))
        evaluated.append([event["loss"] for event in events(log, "eval")])
    assert worst(*found) <= 1e-6, f"{name}: losses differ by {worst(*found)}"
    return evaluated


def end(training, code, *phrases):
    said = training.communicate(timeout=60)[0]
    missing = [phrase for phrase in phrases if phrase not in said]
    assert training.returncode == code and not missing, f"{code} expected, {training.returncode} found, without {missing}:\n{said}"
    assert said.count("error: ") == (code in (1, 2)), said


def end_together(trainer):
    """By a signal, with a checkpoint of all stages; and once a stage is lost."""
    where, checkpoints = os.path.dirname(trainer), os.path.join(os.path.dirname(trainer), "run")
    command = [trainer, "--ranks", "2", "--steps", "2000000000", "--checkpoint", "run"]
    for rank, number, code, phrases in ((0, signal.SIGTERM, 128 + signal.SIGTERM, ("stopped after step", "--checkpoint run --resume")),
                                        (1, signal.SIGKILL, 1, ("rank 1 (process", "has ended unexpectedly"))):
        seen = len(os.listdir(checkpoints)) if os.path.isdir(checkpoints) else 0
        training = start(command + ["--resume"] * (seen > 0), where)
        wait_for_steps(training, checkpoints, seen + 1)
        os.kill(ranks_of(training.pid)[rank], number)
        end(training, code, *phrases)


def refuse_other_numbers(trainer):
    where = os.path.dirname(trainer)
    said = "found 3 ranks, expected 2: one for each of the stages"
    end(start([trainer, "--ranks", "3"], where), 2, said)
    end(start([shutil.which("mpirun"), "-n", "3", trainer], where, env=mpi_environment()), 2, said)
    end(start([trainer, "--ranks", "2", "--elastic"], where), 2,
        "option '--elastic' goes with strategies that any number of ranks can train with, found strategy: PIPELINE")


def replicas_of_stages(mirrored):
    """Replicas of the pipeline share the rows of each part; the same program runs any number of them."""
    trainer, alone = follow_one_process("replicas", 2, replicas=2)
    found = train(trainer, "one-replica", 2, STEPS)[0]
    assert worst(alone[:20], found[:20]) <= 1e-6, f"one replica: losses differ by {worst(alone[:20], found[:20])}"
    follow_one_process("replicas-whole", 2, more="", replicas=3)
    resume_as_others("replicas", ((trainer, 4, trainer, 2), (trainer, 4, trainer, 1), (trainer, 2, mirrored, 3), (mirrored, 2, trainer, 4)), alone)
    end(start([trainer, "--ranks", "3"], os.path.dirname(trainer)), 2, "found 3 ranks, expected a multiple of 2: one for each of the stages")


follow_with("tied", tied_spec)
follow_with("small", small_spec)
evaluations = follow_with("fixed", fixed_spec)
assert worst(*evaluations) <= 1e-5, f"fixed: evaluations {evaluations}"
follow_with("normalized", normalized_spec)
follow_with("bf16", digits_spec, "precision: BF16")
follow_with("fp16", digits_spec, "precision: FP16  loss_scaling {}")
# A stage computes losses that need no other stage, and sends gradients of all parameters: their kernels must not mix parts of the batch.
follow_with("penalized", digits_spec, "regularizer { l2: 0.001 }")
follow_with("taught", digits_spec, f'teacher {{ model: "{ROOT}/examples/distillation/teacher.onnx"  output: "logits"  temperature: 2 }}')
two, losses_alone = follow_one_process("two", 2)
follow_one_process("three", 3)
follow_one_process("whole", 2, more="")
mirrored = trainer_of("mirrored", "strategy: MIRRORED")
resume_as_others("two", ((two, 2, two, 1), (two, 2, mirrored, 3), (mirrored, 3, two, 2)), losses_alone)
replicas_of_stages(mirrored)
end_together(two)
refuse_other_numbers(two)
