"""Shared by the bars that run training on a simulated or real GPU and compare its losses with the CPU's."""
import json
import os

from bar import REFERENCES, compile_spec, events, gradc, report, run

# Relative, for every loss: dense networks, convolutional networks, token models, recurrent networks.
TOLERANCES = {"expected.json": 1e-5, "expected-convolutions.json": 1e-4, "expected-tokens.json": 1e-4, "expected-recurrent.json": 1e-5}
# At the stored rate, an activation of layer4.1 crosses 0 in step 6 by less than an f32 rounding error; from then on, any two ways of
# rounding diverge. At half the rate they agree.
CALMER = {"resnet18": ("learning_rate: 0.0005 ", "learning_rate: 0.00025 ")}


def losses(program, log, **environment):
    run(program, "--log", log, "--quiet", env=dict(os.environ, **environment))
    return [step["loss"] for step in events(log, "step")]


def spec_of(case, folder):
    """The stored spec, or a copy of it with its smaller learning rate."""
    path = os.path.join(REFERENCES, f"{case}.textproto")
    if case not in CALMER:
        return path
    with open(path) as file:
        text = file.read()
    old, new = CALMER[case]
    assert old in text, f"{path} has no '{old}'"
    text = text.replace(old, new).replace('model: "', f'model: "{REFERENCES}/').replace('path: "', f'path: "{REFERENCES}/')
    copy = os.path.join(folder, f"{case}.textproto")
    with open(copy, "w") as file:
        file.write(text)
    return copy


def off_by(expected, found):
    """The worst relative error; infinite if a step is missing or NaN."""
    if len(expected) != len(found) or not found:
        return float("inf")
    errors = [abs(f - e) / abs(e) for e, f in zip(expected, found)]
    return max(e if e == e else float("inf") for e in errors)


def follow(what, folder, runs_of, compile_options):
    """Runs each stored case on the CPU and on the GPU, by `runs_of(case)`, and reports the worst errors as `what`.

    `runs_of` yields (name, more options of `gradc compile`, the run's environment)."""
    held, lines = True, []
    for name, tolerance in TOLERANCES.items():
        with open(os.path.join(REFERENCES, name)) as file:
            cases = list(json.load(file))
        worst, found = 0.0, {}
        for case in cases:
            spec = spec_of(case, folder)
            expected = losses(compile_spec(spec, folder), os.path.join(folder, f"{case}.cpu.jsonl"))
            compiled = {}
            for run_name, options, environment in runs_of(case):
                options = tuple(options)
                if options not in compiled:
                    compiled[options] = os.path.join(folder, f"{case}.gpu{len(compiled)}")
                    gradc("compile", spec, "-o", compiled[options], "--target=cuda:sm_90", *compile_options, *options)
                found[case] = losses(compiled[options], os.path.join(folder, f"{case}.{run_name}.jsonl"), **environment)
                error = off_by(expected, found[case])
                print(f"{case}, {run_name}: {len(found[case])} steps within {error:.1e}", flush=True)
                worst = max(worst, error)
        # The comparison can fail: another case's losses do not pass.
        if off_by(found[cases[0]], found[cases[-1]]) <= tolerance:
            report(f"{what}: {cases[-1]} passed for {cases[0]}", False)
        held = held and worst <= tolerance
        lines.append(f"{worst:.1e} ({tolerance:.0e} wanted)")
    report(f"{what}: worst loss off by {lines[0]}, with convolutions by {lines[1]}, of token models by {lines[2]}, "
           f"of recurrent ones by {lines[3]}", held)
