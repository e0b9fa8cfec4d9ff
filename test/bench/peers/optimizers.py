"""Update rules in plain array operations, following PyTorch, for peers without their own."""

SLOTS = {"momentum": 1, "adam": 2, "adamw": 2}


def update(xp, rule, parameter, gradient, slots, step):
    """(the new parameter, its new slots). `xp` has sqrt; `step` counts from 1, in f32."""
    rate = rule["learning_rate"]
    if rule["name"] == "momentum":
        velocity = rule["momentum"] * slots[0] + (gradient + rule["l2"] * parameter)
        return parameter - rate * velocity, [velocity]
    beta1, beta2 = rule["beta1"], rule["beta2"]
    m = beta1 * slots[0] + (1 - beta1) * gradient
    v = beta2 * slots[1] + (1 - beta2) * gradient * gradient
    if rule["weight_decay"]:
        parameter = parameter * (1 - rate * rule["weight_decay"])
    correction1, correction2 = 1 - beta1**step, 1 - beta2**step
    return parameter - (rate / correction1) * m / (xp.sqrt(v) / xp.sqrt(correction2) + rule["epsilon"]), [m, v]
