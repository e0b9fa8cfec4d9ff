"""One measurement, one JSON line:  run.py --peer jax_scan|jax --workload T1|T2 [--threads 1] [--seconds 4]

Twenty batches are cycled from memory; the loss of every step is kept. `ms` is the median over chunks of about 50 ms, each
synchronized at its end, after a warm-up of twenty steps. One thread: the process is bound to one CPU.
"""
import argparse
import json
import os
import resource
import statistics
import time


def since_start():
    """Seconds since the kernel started this process."""
    with open("/proc/self/stat") as file:
        ticks = int(file.read().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def measure(call, values, wait, steps_per_call, seconds):
    began = time.perf_counter()
    kept = [call(0)]
    wait(kept[0])
    first, startup = time.perf_counter() - began, since_start()
    calls = max(2, -(-20 // steps_per_call))
    for i in range(1, calls):
        kept.append(call(i))
    wait(kept[-1])
    losses = [loss for handle in kept for loss in values(handle)][:20]

    began = time.perf_counter()
    for _ in range(3):
        handle = call(calls)
        calls += 1
    wait(handle)
    chunk = max(1, int(0.05 / ((time.perf_counter() - began) / 3)))
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        kept.clear()
        began = time.perf_counter()
        for _ in range(chunk):
            kept.append(call(calls))
            calls += 1
        wait(kept[-1])
        times.append((time.perf_counter() - began) / chunk / steps_per_call * 1e3)
    times.sort()
    return {
        "ms": round(statistics.median(times), 5),
        "ms_p10": round(times[len(times) // 10], 5),
        "ms_p90": round(times[len(times) * 9 // 10], 5),
        "steps": len(times) * chunk * steps_per_call,
        "first_step_s": round(first, 3),
        "startup_s": round(startup, 2),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "losses": losses,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True, choices=["jax", "jax_scan"])
    parser.add_argument("--workload", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4)
    arguments = parser.parse_args()
    if arguments.threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["JAX_PLATFORMS"] = "cpu"

    import peer_jax
    from workloads import WORKLOADS

    result = measure(*peer_jax.setup(arguments.peer, WORKLOADS[arguments.workload]), arguments.seconds)
    head = {"peer": arguments.peer, "workload": arguments.workload, "threads": arguments.threads}
    print(json.dumps(head | result), flush=True)
    os._exit(0)  # JAX's threads need not be waited for


if __name__ == "__main__":
    main()
