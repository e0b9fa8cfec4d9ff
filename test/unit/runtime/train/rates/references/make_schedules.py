"""Makes schedules.inc: learning rates by the classes of torch.optim.lr_scheduler (made with PyTorch 2.15), for each the schedule's text, the run's
length, and the rate before each step. Needs torch: python make_schedules.py"""
import math
import os
import warnings

import torch
from torch.optim import lr_scheduler as torch_schedules

HERE = os.path.dirname(os.path.abspath(__file__))
RATE = 0.05
PER_EPOCH = 5  # steps, in schedules by epochs
warnings.filterwarnings("ignore", message=".*epoch parameter in.*")


def optimizer():
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=RATE)


def by_steps(make, steps):
    sgd = optimizer()
    schedule = make(sgd)
    rates = []
    for step in range(steps):
        rates.append(sgd.param_groups[0]["lr"])
        sgd.step()
        if step + 1 < steps:
            schedule.step()
    return rates


def momenta(steps, **options):
    """The momentum before each step of OneCycleLR; Adam's beta1 takes the same values."""
    found = []
    for kind, read in ((torch.optim.SGD, lambda group: group["momentum"]), (torch.optim.Adam, lambda group: group["betas"][0])):
        rule = kind([torch.nn.Parameter(torch.zeros(1))], lr=RATE, **({"momentum": 0.9} if kind is torch.optim.SGD else {}))
        schedule = torch_schedules.OneCycleLR(rule, max_lr=RATE, total_steps=steps, **options)
        values = []
        for step in range(steps):
            values.append(read(rule.param_groups[0]))
            rule.step()
            if step + 1 < steps:
                schedule.step()
        found.append(values)
    assert found[0] == found[1]
    return found[0]


def by_epochs(make, epochs, warm_up=None):
    """The warm-up counts steps, the other schedule epochs; their factors are multiplied."""
    sgd = optimizer()
    schedule, rising = make(sgd), warm_up and warm_up(sgd)
    rates = []
    for step in range(epochs * PER_EPOCH):
        rates.append(sgd.param_groups[0]["lr"])
        sgd.step()
        if rising:
            rising.step()
        if (step + 1) % PER_EPOCH == 0:
            schedule.step()
    return rates


def after_warm_up(make, steps, factor):
    def both(sgd):
        rise = torch_schedules.LinearLR(sgd, start_factor=factor, end_factor=1.0, total_iters=steps)
        return torch_schedules.SequentialLR(sgd, [rise, make(sgd)], milestones=[steps])

    return both


def in_sequence(milestones, *makers, order=None):
    """`order`: in which order the schedules are made, where one changes the rate that those after it begin with."""

    def sequence(sgd):
        made = {i: makers[i](sgd) for i in order or range(len(makers))}
        return torch_schedules.SequentialLR(sgd, [made[i] for i in range(len(makers))], milestones=milestones)

    return sequence


def line(start, end, steps):
    return lambda sgd: torch_schedules.LinearLR(sgd, start_factor=start, end_factor=end, total_iters=steps)


def held(factor):
    return lambda sgd: torch_schedules.ConstantLR(sgd, factor=factor, total_iters=1000)


def zero_warm_up(sgd, steps):
    """LinearLR does not begin at 0."""
    return torch_schedules.LambdaLR(sgd, lambda t: min(1.0, t / steps))


def linear(sgd):
    return torch_schedules.LinearLR(sgd, start_factor=0.1, end_factor=1.0, total_iters=8)


def one_cycle(steps, **options):
    return lambda sgd: torch_schedules.OneCycleLR(sgd, max_lr=RATE, total_steps=steps, cycle_momentum=False, **options)


def cyclic(base, **options):
    return lambda sgd: torch_schedules.CyclicLR(sgd, base_lr=base * RATE, max_lr=RATE, cycle_momentum=False, **options)


def by_factors(milestones, factors):
    return lambda sgd: torch_schedules.LambdaLR(sgd, lambda t: math.prod(f for m, f in zip(milestones, factors) if t >= m))


S = torch_schedules
CASES = [
    ("", by_steps(lambda sgd: S.LambdaLR(sgd, lambda t: 1.0), 5)),
    ("constant { }", by_steps(lambda sgd: S.LambdaLR(sgd, lambda t: 1.0), 5)),
    ("warm_up { steps: 8 factor: 0.1 }", by_steps(linear, 14)),
    ("warm_up { steps: 6 }", by_steps(lambda sgd: zero_warm_up(sgd, 6), 12)),
    ("step { size: 7 factor: 0.5 }", by_steps(lambda sgd: S.StepLR(sgd, 7, gamma=0.5), 40)),
    ("step { size: 3 }", by_steps(lambda sgd: S.StepLR(sgd, 3), 12)),
    ("piecewise { milestone: 5 milestone: 11 milestone: 30 }", by_steps(lambda sgd: S.MultiStepLR(sgd, [5, 11, 30]), 40)),
    ("piecewise { milestone: 5 milestone: 11 factor: 0.3 }", by_steps(lambda sgd: S.MultiStepLR(sgd, [5, 11], gamma=0.3), 20)),
    ("piecewise { milestone: 4 milestone: 9 factor: 0.5 factor: 0.2 }", by_steps(by_factors([4, 9], [0.5, 0.2]), 15)),
    ("exponential { factor: 0.93 }", by_steps(lambda sgd: S.ExponentialLR(sgd, 0.93), 40)),
    ("polynomial { length: 30 }", by_steps(lambda sgd: S.PolynomialLR(sgd, 30), 40)),
    ("polynomial { power: 2.5 }", by_steps(lambda sgd: S.PolynomialLR(sgd, 40, power=2.5), 40)),
    ("cosine { }", by_steps(lambda sgd: S.CosineAnnealingLR(sgd, 50), 50)),
    ("cosine { length: 33 end: 0.1 }", by_steps(lambda sgd: S.CosineAnnealingLR(sgd, 33, eta_min=0.1 * RATE), 33)),
    ("cosine { length: 10 restarts: true }", by_steps(lambda sgd: S.CosineAnnealingWarmRestarts(sgd, 10), 45)),
    ("cosine { length: 6 restarts: true growth: 2 end: 0.01 }",
     by_steps(lambda sgd: S.CosineAnnealingWarmRestarts(sgd, 6, T_mult=2, eta_min=0.01 * RATE), 60)),
    ("one_cycle { }", by_steps(one_cycle(50), 50)),
    ("one_cycle { linear: true rise: 0.4 initial_divisor: 10 final_divisor: 100 }",
     by_steps(one_cycle(50, anneal_strategy="linear", pct_start=0.4, div_factor=10, final_div_factor=100), 50)),
    ("one_cycle { three_phases: true }", by_steps(one_cycle(40, three_phase=True), 40)),
    ("cyclic { base: 0.1 up: 7 }", by_steps(cyclic(0.1, step_size_up=7), 50)),
    ("cyclic { base: 0.02 up: 4 down: 9 mode: TRIANGULAR2 }", by_steps(cyclic(0.02, step_size_up=4, step_size_down=9, mode="triangular2"), 50)),
    ("cyclic { base: 0.2 up: 6 down: 2 mode: EXP_RANGE factor: 0.97 }",
     by_steps(cyclic(0.2, step_size_up=6, step_size_down=2, mode="exp_range", gamma=0.97), 50)),
    ("unit: EPOCHS cyclic { base: 0.1 up: 2 }", by_epochs(cyclic(0.1, step_size_up=2), 8)),
    ("warm_up { steps: 8 factor: 0.1 } cosine { }",
     by_steps(after_warm_up(lambda sgd: S.CosineAnnealingLR(sgd, 42), 8, 0.1), 50)),
    ("warm_up { steps: 5 factor: 0.25 } step { size: 4 }",
     by_steps(after_warm_up(lambda sgd: S.StepLR(sgd, 4), 5, 0.25), 20)),
    ("unit: EPOCHS piecewise { milestone: 2 milestone: 5 }", by_epochs(lambda sgd: S.MultiStepLR(sgd, [2, 5]), 8)),
    ("unit: EPOCHS cosine { }", by_epochs(lambda sgd: S.CosineAnnealingLR(sgd, 8), 8)),
    ("unit: EPOCHS warm_up { steps: 8 factor: 0.1 } step { size: 1 factor: 0.9 }",
     by_epochs(lambda sgd: S.StepLR(sgd, 1, gamma=0.9), 6, linear)),
    ("constant { factor: 0.3 }", by_steps(held(0.3), 5)),
    ("linear { length: 10 start: 0.2 end: 0.7 }", by_steps(line(0.2, 0.7, 10), 15)),
    ("linear { start: 1 end: 0.1 }", by_steps(line(1, 0.1, 12), 12)),
    ("sequence { part { until: 8 linear { start: 0.1 } } part { until: 30 constant { } } part { cosine { } } }",
     by_steps(in_sequence([8, 30], linear, held(1), lambda sgd: S.CosineAnnealingLR(sgd, 20)), 50)),
    ("unit: EPOCHS sequence { part { until: 2 linear { start: 0.01 } } part { cosine { end: 0.1 } } }",
     by_epochs(in_sequence([2], line(0.01, 1, 2), lambda sgd: S.CosineAnnealingLR(sgd, 6, eta_min=0.1 * RATE)), 8)),
    ("warm_up { steps: 4 factor: 0.5 } sequence { part { until: 6 exponential { factor: 0.8 } } "
     "part { until: 20 step { size: 5 factor: 0.5 } } part { polynomial { power: 2 } } }",
     by_steps(in_sequence([4, 10, 24], line(0.5, 1, 4), lambda sgd: S.ExponentialLR(sgd, 0.8), lambda sgd: S.StepLR(sgd, 5, gamma=0.5),
                          lambda sgd: S.PolynomialLR(sgd, 16, power=2)), 40)),
    ("sequence { part { until: 10 cosine { length: 4 restarts: true } } part { until: 25 cyclic { base: 0.1 up: 3 } } "
     "part { piecewise { milestone: 3 milestone: 6 factor: 0.5 } } }",
     by_steps(in_sequence([10, 25], lambda sgd: S.CosineAnnealingWarmRestarts(sgd, 4), cyclic(0.1, step_size_up=3),
                          lambda sgd: S.MultiStepLR(sgd, [3, 6], gamma=0.5)), 40)),
    ("sequence { part { until: 20 one_cycle { } } part { constant { factor: 0.01 } } }",
     by_steps(in_sequence([20], one_cycle(20), held(0.01), order=(1, 0)), 30)),
]

MOMENTA = [
    ("one_cycle { cycle_momentum: true }", momenta(50)),
    ("one_cycle { cycle_momentum: true linear: true rise: 0.4 base_momentum: 0.5 max_momentum: 0.99 }",
     momenta(50, anneal_strategy="linear", pct_start=0.4, base_momentum=0.5, max_momentum=0.99)),
    ("one_cycle { cycle_momentum: true three_phases: true base_momentum: 0.8 }", momenta(40, three_phase=True, base_momentum=0.8)),
]

PLATEAU_METRICS = [1.0, 0.8, 0.9, 0.79999, 0.81, 0.5, 0.6, 0.7, 0.8, float("nan"), 0.55, 0.5, 0.499, 0.4999, 0.4995, 0.51, 0.52, 0.3, 0.31, 0.32,
                   0.33, 0.34, 0.35, 0.36, 0.37, 0.38]
PLATEAUS = [
    ("patience: 2", {"patience": 2}),
    ("patience: 1 factor: 0.5 cooldown: 2", {"patience": 1, "factor": 0.5, "cooldown": 2}),
    ("patience: 0 factor: 0.2 minimum: 0.01", {"patience": 0, "factor": 0.2, "min_lr": 0.01 * RATE}),
    ("patience: 0 factor: 0.1", {"patience": 0, "factor": 0.1}),
    ("patience: 2 threshold: 0.05 absolute: true", {"patience": 2, "threshold": 0.05, "threshold_mode": "abs"}),
    ("direction: MAX patience: 3 threshold: 0.1", {"mode": "max", "patience": 3, "threshold": 0.1}),
    ("direction: MAX patience: 4 threshold: 0.1 absolute: true", {"mode": "max", "patience": 4, "threshold": 0.1, "threshold_mode": "abs"}),
]


def plateau(options):
    sgd = optimizer()
    schedule = S.ReduceLROnPlateau(sgd, **options)
    rates = []
    for metric in PLATEAU_METRICS:
        schedule.step(metric)
        rates.append(sgd.param_groups[0]["lr"])
    return rates


def numbers(values):
    return ", ".join("NAN" if value != value else repr(float(value)) for value in values)


def main():
    with open(os.path.join(HERE, "schedules.inc"), "w") as out:
        out.write("// Made by make_schedules.py.\n")
        out.write(f"constexpr double optimizerRate = {RATE};\nconstexpr int64_t stepsPerEpoch = {PER_EPOCH};\n")
        out.write("const ScheduleCase scheduleCases[] = {\n")
        for text, rates in CASES:
            out.write(f'    {{"{text}", {{{numbers(rates)}}}}},\n')
        out.write(f"}};\nconst std::vector<double> plateauMetrics = {{{numbers(PLATEAU_METRICS)}}};\n")
        out.write("const ScheduleCase plateauCases[] = {\n")
        for text, options in PLATEAUS:
            out.write(f'    {{"{text}", {{{numbers(plateau(options))}}}}},\n')
        out.write("};\nconst ScheduleCase momentumCases[] = {\n")
        for text, values in MOMENTA:
            out.write(f'    {{"{text}", {{{numbers(values)}}}}},\n')
        out.write("};\n")


main()
