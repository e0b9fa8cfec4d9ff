"""The interface of all peers, and how they are measured."""
import os
import statistics
import time
from typing import Any, Callable, NamedTuple


class Steps(NamedTuple):
    call: Callable[[int], Any]  # takes step i and returns a handle, perhaps before it is done
    values: Callable[[Any], list]  # the losses behind a handle; inference: the mean square of the output
    wait: Callable[[Any], None] = lambda handle: None  # until the handle's step is done
    per_call: int = 1


def mean_square(output):
    return [float((output.astype("float64") ** 2).mean())]


def since_start():
    """The seconds since the kernel started this process."""
    with open("/proc/self/stat") as file:
        ticks = int(file.read().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def resident(peak=False):
    """MiB of this process, now or at its peak; not getrusage's figure, which includes the parent's peak."""
    key = "VmHWM:" if peak else "VmRSS:"
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) / 1024


def measure(make, seconds, compared=20):
    """Sets up by make() -> Steps, then steps. `ms` is the median over chunks of about 50 ms, each waited for at its end, after a
    warm-up of the `compared` steps whose losses it returns. Memory is the highest resident size of this process, without compilers started by it; `before_mb` of it
    is resident before make()."""
    before, began = resident(), time.perf_counter()
    steps = make()
    kept = [steps.call(0)]
    steps.wait(kept[0])
    first, startup = time.perf_counter() - began, since_start()
    calls = max(2, -(-compared // steps.per_call))
    for i in range(1, calls):
        kept.append(steps.call(i))
    steps.wait(kept[-1])
    losses = [loss for handle in kept for loss in steps.values(handle)][:compared]

    began = time.perf_counter()
    for _ in range(3):
        handle = steps.call(calls)
        calls += 1
    steps.wait(handle)
    took = (time.perf_counter() - began) / 3
    chunk, least = max(1, int(0.05 / took)), 5 if took < 1 else 3
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        began = time.perf_counter()
        for _ in range(chunk):
            handle = steps.call(calls)
            calls += 1
        steps.wait(handle)
        times.append((time.perf_counter() - began) / chunk / steps.per_call * 1e3)
    times.sort()
    return {
        "ms": round(statistics.median(times), 5),
        "ms_p10": round(times[len(times) // 10], 5),
        "ms_p90": round(times[len(times) * 9 // 10], 5),
        "steps": len(times) * chunk * steps.per_call,
        "first_step_s": round(first, 3),
        "startup_s": round(startup, 2),
        "rss_mb": round(resident(peak=True)),
        "before_mb": round(before),
        "losses": losses,
    }
