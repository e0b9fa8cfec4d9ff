"""Ranks that update parts of the parameters, servers that update all of them, and ranks that share products, over MPI: the losses of one process, checkpoints that
fit any number of ranks and any strategy, and what ends such a training.

    ranks_parts.py ROOT
"""
import os
import random
import resource
import shutil
import signal
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from bar import FLOAT, Model, compile_spec, events, program, run, scratch, write_mlp_job
from onnx_writer import FLOAT16
from rank_runs import digits_trainer, losses, mpi_environment, ranks_of, start, wait_for_steps

STALL = 3
folder = scratch()


def trainer_of(name, distribution):
    os.mkdir(os.path.join(folder, name))
    return digits_trainer(os.path.join(folder, name), f"{distribution}  stall_seconds: {STALL}")


mirrored = trainer_of("mirrored", "strategy: MIRRORED")


def end(training, code, *phrases):
    said = training.communicate(timeout=60)[0]
    missing = [phrase for phrase in phrases if phrase not in said]
    assert training.returncode == code and not missing, f"{code} expected, {training.returncode} found, without {missing}:\n{said}"
    assert said.count("error: ") == (code in (1, 2, 3)), said


def train(trainer, name, ranks, steps, *options):
    """The losses of a training, and the checkpoint at its end."""
    log, run_folder = os.path.join(folder, name + ".jsonl"), os.path.join(folder, name)
    run(trainer, "--ranks", ranks, "--log", log, "--checkpoint", run_folder, "--steps", steps, *options, cwd=os.path.dirname(trainer))
    with open(os.path.join(run_folder, f"step-{steps}.ckpt"), "rb") as file:
        return losses(log), file.read()


alone = train(mirrored, "alone", 1, 50)[0]


def follow_one_process(name, trainer, counts):
    for ranks in counts:
        found = train(trainer, f"{name}{ranks}", ranks, 50)
        worst = max(abs(a - b) for a, b in zip(alone[:20], found[0]))
        assert len(found[0]) == 50 and worst <= 1e-6, f"{name}, {ranks} ranks: losses differ by {worst}"
    os.environ["GRADC_RANKS_MEMORY"] = "separate"
    again = train(trainer, f"{name}-messages", ranks, 50)
    del os.environ["GRADC_RANKS_MEMORY"]
    assert again == found, f"{name}, {ranks} ranks: other bits over messages"
    evaluations = [events(os.path.join(folder, run + ".jsonl"), "eval")[-1]["loss"] for run in ("alone", f"{name}{ranks}")]
    assert abs(evaluations[0] - evaluations[1]) <= 1e-4, f"{name}: evaluations {evaluations}"


def resume_as_others(name, trainer, first, others):
    """By other numbers of ranks, and by ranks of another strategy."""
    for number, (other, ranks) in enumerate(others):
        run_name = f"{name}-part{number}"
        train(trainer, run_name, first, 25)
        os.remove(os.path.join(folder, run_name + ".jsonl"))
        rest = train(other, run_name, ranks, 40, "--resume")[0]
        worst = max(abs(a - b) for a, b in zip(alone[25:40], rest))
        assert len(rest) == 15 and worst <= 1e-5, f"{run_name}: {len(rest)} losses, which differ by {worst}"


def end_together(name, trainer, count=3):
    """By a signal, with a checkpoint of all parts; once a rank is lost; and where a checkpoint cannot be written."""
    where, checkpoints = os.path.dirname(trainer), os.path.join(os.path.dirname(trainer), "run")
    command = [trainer, "--ranks", str(count), "--steps", "2000000000", "--checkpoint", "run"]

    def begin(*options):
        seen = len(os.listdir(checkpoints)) if options else 0
        training = start(command + list(options), where)
        wait_for_steps(training, checkpoints, seen + 1)
        return training, ranks_of(training.pid)
    training, ranks = begin()
    os.kill(ranks[1], signal.SIGTERM)
    end(training, 128 + signal.SIGTERM, "stopped after step", "--checkpoint run --resume")
    training, ranks = begin("--resume")
    os.kill(ranks[2], signal.SIGKILL)
    end(training, 1, f"rank 2 (process {ranks[2]} on '", "has ended unexpectedly")
    training, ranks = begin("--resume")
    resource.prlimit(ranks[0], resource.RLIMIT_FSIZE, (20000, 20000))
    end(training, 1, "error: cannot write 'run/", "File too large", "; the previous checkpoint 'run/step-")


def servers_and_workers():
    trainer = trainer_of("servers", "strategy: PARAMETER_SERVER  servers: 2")
    where = os.path.dirname(trainer)
    end(start([trainer, "--ranks", "2"], where), 2, "found 2 ranks, expected more: 2 of them are servers")
    end(start([shutil.which("mpirun"), "-n", "2", trainer], where, env=mpi_environment()), 2,
        "found 2 ranks, expected more: 2 of them are servers")
    follow_one_process("two-servers", trainer, (4,))


def products_with(name, replaced, options, close):
    """Of a perceptron whose hidden layers are in shards; tanh, since a rounding may put the operand of a ReLU on the other side of 0."""
    where = os.path.join(folder, name)
    os.mkdir(where)
    with open(write_mlp_job(where, (32, 128, 64, 10), batch=24, batches=4, activation="Tanh")) as file:
        spec = file.read().replace(*replaced)
    found = []
    for ranks, distribution in ((1, ""), (2, "strategy: TENSOR  ranks: 2")):
        with open(os.path.join(where, f"{name}{ranks}.textproto"), "w") as file:
            file.write(f"{spec}{options}\ndistribution {{ {distribution} }}\n")
        found.append(train(compile_spec(file.name, where), f"{name}-run{ranks}", ranks, 20)[0])
    worst = max(abs(a - b) / max(a, 1) for a, b in zip(*found))
    assert len(found[1]) == 20 and worst <= close, f"{name}: losses differ by {worst}"


def products():
    """Ranks that share products: each number has its own artifact, and checkpoints and exports are those of one process."""
    by_two, by_four = (trainer_of(f"tensor{ranks}", f"strategy: TENSOR  ranks: {ranks}") for ranks in (2, 4))
    follow_one_process("TENSOR-by-four", by_four, (4,))
    follow_one_process("TENSOR-by-two", by_two, (2,))
    resume_as_others("TENSOR", by_four, 4, ((by_two, 2), (mirrored, 1)))
    train(by_two, "export", 2, 25, "--export", os.path.join(folder, "shards.onnx"))
    os.remove(os.path.join(folder, "export.jsonl"))
    run(mirrored, "--checkpoint", os.path.join(folder, "export"), "--steps", 25, "--resume",
        "--export", os.path.join(folder, "whole.onnx"), cwd=os.path.dirname(mirrored))
    exported = [open(os.path.join(folder, name + ".onnx"), "rb").read() for name in ("shards", "whole")]
    assert exported[0] == exported[1], "an export of shards is not that of the checkpoint"
    adam, momentum = "optimizer { adam {} }", "optimizer { momentum { momentum: 0.9 } }"
    products_with("norms", (adam, momentum), "clip { global_norm: 0.3 } ema { decay: 0.9 }", 1e-6)
    products_with("norm-of-each", (adam, momentum), "clip { norm: 0.1 } regularizer { l2: 0.01 }", 1e-6)
    products_with("half", (adam, adam), "precision: FP16 loss_scaling {}", 1e-3)
    end_together("TENSOR", by_four, 4)
    where = os.path.dirname(by_two)
    for options, code, phrase in (
            ([], 2, "found 1 process, expected 2, for which the spec's distribution { ranks } shards the parameters: start it with "
                    "--ranks 2, or compile it for 1"),
            (["--ranks", "3"], 2, "found 3 ranks, expected 2"),
            (["--ranks", "2", "--elastic"], 2, "option '--elastic' goes with strategies that any number of ranks can train with"),
            (["predict", "--checkpoint", os.path.join(folder, "export"), "--data", "digits.npz"], 3,
             "the parameters are in shards for 2 ranks, found one process")):
        end(start([by_two, *options], where), code, phrase)
    print("TENSOR")


def replicas_of_products():
    """Replicas share rows, and the ranks of each share products; the same program runs any number of replicas."""
    trainer = trainer_of("replicas", "strategy: TENSOR  ranks: 2  data_parallel: true")
    follow_one_process("TENSOR-replicas", trainer, (2, 4))
    resume_as_others("TENSOR-replicas", trainer, 4, ((trainer, 2), (mirrored, 3)))
    end(start([trainer, "--ranks", "3"], os.path.dirname(trainer)), 2, "found 3 ranks, expected a multiple of 2, for which")


def panels_with_padding():
    """Ranks divide 250 columns as panels of 16 or 32, the last one padded; all of them have the bits of ranks that divide nothing."""
    where = os.path.join(folder, "panels")
    os.mkdir(where)
    spec = write_mlp_job(where, (16, 250, 10), batch=12, batches=4)

    def losses_of(strategy):
        with open(spec) as file, open(os.path.join(where, strategy + ".textproto"), "w") as renamed:
            renamed.write(file.read() + f"distribution {{ strategy: {strategy} }}\n")
        return train(compile_spec(renamed.name, where), "panels-" + strategy, 3, 12)
    mirrored_losses, sharded_losses = losses_of("MIRRORED"), losses_of("SHARDED_OPTIMIZER")
    assert len(mirrored_losses[0]) == 12 and mirrored_losses == sharded_losses, "padded panels: other bits than without parts"


def parameters_of_16_bits():
    """Ranks sum gradients of f16 in f32; those that update parts of parameters are refused."""
    where = os.path.join(folder, "short")
    os.mkdir(where)
    with open(write_mlp_job(where, (16, 32, 10), batch=12, batches=4)) as file:
        spec = file.read().replace("adam {}", "sgd { learning_rate: 0.1 }")
    numbers, model = random.Random(3), Model("half", opset=20)
    value = model.node("Cast", [model.input("x", FLOAT, ["N", 16])], ["x.half"], "cast", to=FLOAT16)
    first, second = (model.initializer(name, FLOAT16, dims, [numbers.gauss(0, 0.2) for _ in range(dims[0] * dims[1])])
                     for name, dims in (("first", (16, 32)), ("second", (32, 10))))
    hidden = model.node("Tanh", [model.node("MatMul", [value, first], ["h"], "h")], ["t"], "t")
    model.output(model.node("MatMul", [hidden, second], ["logits"], "fc"), FLOAT16, ["N", 10])
    model.save(os.path.join(where, "mlp.onnx"))

    def write(name, distribution):
        with open(os.path.join(where, name + ".textproto"), "w") as file:
            file.write(f"{spec}distribution {{ {distribution} }}\n")
        return file.name
    trainer = compile_spec(write("mirrored", ""), where)
    one, *others = (train(trainer, f"half{ranks}", ranks, 12)[0] for ranks in (1, 2, 3))
    for found in others:
        worst = max(abs(a - b) for a, b in zip(one, found))
        assert len(found) == 12 and worst <= 2e-3, f"f16 parameters: losses differ by {worst}"
    end(start([program("gradc"), "compile", write("parts", "strategy: SHARDED_OPTIMIZER"), "-o", os.path.join(where, "parts")], where), 3,
        "expected parameters of f32 or f64 for ranks that each update a part of them, found", "choose strategy: MIRRORED")


def gradients_of_16_bits():
    """All ranks skip a step that overflows on one of them, and have one scale, whatever part of the parameters each updates."""
    where = os.path.join(folder, "scaled")
    os.mkdir(where)
    with open(write_mlp_job(where, (16, 32, 10), batch=12, batches=4, activation="Tanh")) as file:
        spec = file.read() + "precision: FP16\n"

    def steps(name, scaling, distribution, ranks):
        with open(os.path.join(where, name + ".textproto"), "w") as file:
            file.write(f"{spec}loss_scaling {{ {scaling} }}\ndistribution {{ {distribution} }}\n")
        train(compile_spec(file.name, where), name, ranks, 40)
        return [tuple(step[key] for key in ("loss", "scale", "skipped")) for step in events(os.path.join(folder, name + ".jsonl"), "step")]
    for kind, scaling in (("usual", ""), ("overflowing", "initial: 1073741824  growth_interval: 7")):
        one, mirrors, shards, served = (
            steps(f"{kind}-{strategy}{ranks}", scaling, f"strategy: {strategy}", ranks)
            for strategy, ranks in (("MIRRORED", 1), ("MIRRORED", 2), ("SHARDED_OPTIMIZER", 2), ("PARAMETER_SERVER", 3)))
        assert mirrors == shards, f"{kind}: ranks that update parts: other bits, scales or skipped steps"
        assert (one[-1][2] > 0) == (kind == "overflowing") and mirrors[-1][2] == served[-1][2], (one[-1], mirrors[-1], served[-1])
        if kind == "usual": # else a rank's part of the rows may overflow later than all of them
            for found in (mirrors, served):
                worst = max(abs(a[0] - b[0]) for a, b in zip(one, found))
                assert len(found) == 40 and worst <= 2e-3, f"f16: losses differ by {worst}"
                assert [step[1:] for step in found] == [step[1:] for step in one], "other scales than in one process"


for name, counts in (("SHARDED_OPTIMIZER", (2, 3)), ("PARAMETER_SERVER", (2, 3))):
    trainer = trainer_of(name, f"strategy: {name}")
    follow_one_process(name, trainer, counts)
    resume_as_others(name, trainer, 3, ((trainer, 4), (trainer, 1), (mirrored, 2)))
    end_together(name, trainer)
    print(name)
products()
replicas_of_products()
servers_and_workers()
panels_with_padding()
parameters_of_16_bits()
gradients_of_16_bits()
