"""Two ways to choose a configuration of a kernel in Triton, and random weights in planes.

`autotuned` is Triton's autotuner: it empties the second-level cache before every launch that it
times, and nothing else runs. `chained` is successive halving, as `steady-kernels tune` does it on a
CPU, over launches that follow each other in a recorded graph, each free to start while the one
before it runs and over weights of its own, as in a model. Both make candidates; the model decides.
A configuration is a dictionary: constants of the kernel, and `warps` and `STAGES`.
"""
import concurrent.futures
import datetime
import json
import multiprocessing
import os
import pathlib
import random
import statistics
import sys

import numpy as np
import torch
import triton

BYTES = {"q4_0": 18, "q5_k": 22, "q6_k": 26}  # of a unit
OF_EIGHT = {"q4_0": 0, "q5_k": 4, "q6_k": 2}
WAYS = ["autotuner", "chained"]


def planes_bytes(kind, rows, cols):
    units = cols // 32
    return rows * (units * BYTES[kind] + units // 8 * OF_EIGHT[kind])


def random_planes(kind, rows, cols, numbers):
    """Weights as kernels/layouts/planes.h has them, and their exact values."""
    units = cols // 32
    nibbles = numbers.integers(0, 256, (rows, units, 16), dtype=np.uint8)
    q = np.concatenate([nibbles & 15, nibbles >> 4], axis=2).astype(np.int32)
    planes = [nibbles]
    if kind == "q4_0":
        d = (numbers.random((rows, units)) * 1e-2).astype(np.float16)
        planes += [d]
        weights = (q - 8) * d.astype(np.float64)[:, :, None]
    elif kind == "q5_k":
        fifths = numbers.integers(0, 256, (rows, units, 4), dtype=np.uint8)
        for j in range(32):  # bit 8b + w belongs to value 4w + b
            q[:, :, j] |= ((fifths[:, :, j % 4] >> (j // 4)) & 1).astype(np.int32) << 4
        scales = numbers.integers(0, 64, (rows, units, 2), dtype=np.uint8)
        d = (numbers.random((rows, units // 8, 2)) * [2e-4, 3e-3]).astype(np.float16)
        planes += [fifths, scales, d]
        each = np.repeat(d.astype(np.float64), 8, axis=1) * scales
        weights = q * each[:, :, :1] - each[:, :, 1:]
    else:
        upper = numbers.integers(0, 256, (rows, units, 8), dtype=np.uint8)
        for j in range(32):  # bits 8b + 2(w % 4) of pair word w / 4 belong to value 4w + b
            b, w = j % 4, j // 4
            bits = (upper[:, :, 4 * (w // 4) + b] >> (2 * (w % 4))) & 3
            q[:, :, j] |= bits.astype(np.int32) << 4
        scales = numbers.integers(-60, 60, (rows, units, 2), dtype=np.int8)
        d = (numbers.random((rows, units // 8)) * 1e-3).astype(np.float16)
        planes += [upper, scales, d]
        each = np.repeat(d.astype(np.float64), 8, axis=1)[:, :, None] * np.repeat(
            scales.astype(np.float64), 16, axis=2)
        weights = (q - 32) * each
    packed = np.concatenate([np.ascontiguousarray(p).view(np.uint8).reshape(rows // 8, -1)
                             for p in planes], axis=1)
    assert packed.size == planes_bytes(kind, rows, cols)
    return packed.reshape(-1), weights.reshape(rows, cols)


def any_planes(kind, rows, cols):
    """Weights whose values do not matter."""
    return torch.randint(0, 63, (planes_bytes(kind, rows, cols),), dtype=torch.uint8,
                         device="cuda")


def on_gpu(array):
    return torch.from_numpy(array.copy()).cuda()


def multiprocessors():
    return torch.cuda.get_device_properties(0).multi_processor_count


def compile_all(work, jobs):
    """Fills Triton's cache, so that the autotuner does not compile one after the other. `work` of a
    job returns what is wrong with it, or nothing."""
    context = multiprocessing.get_context("spawn")
    workers = min(16, os.cpu_count() or 1)
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        for problem in pool.map(work, jobs, chunksize=4):
            if problem:
                print("not compiled:", problem)


def autotuned(kernel, key, listed, knobs, grid, args, constants):
    """All configurations with their times in microseconds, fastest first."""
    choices = [triton.Config({knob: c[knob] for knob in knobs}, num_warps=c["warps"],
                             num_stages=c["STAGES"]) for c in listed]
    tuner = triton.autotune(
        configs=choices, key=[key],
        do_bench=lambda call, quantiles: triton.testing.do_bench(call, warmup=5, rep=40,
                                                                 quantiles=quantiles))(kernel)
    tuner[grid](*args, **{name: constants[name] for name in constants if name not in knobs})
    times = []
    for chosen, choice in zip(listed, choices):
        median = tuner.configs_timings[choice]
        times.append((1e3 * (median[0] if isinstance(median, (list, tuple)) else median), chosen))
    return sorted(times, key=lambda each: each[0])


def recorded(launch, chosen, cases):
    """A graph of a launch per case, or None where it cannot run."""
    stream = torch.cuda.Stream()
    try:
        with torch.cuda.stream(stream):
            launch(cases[0], chosen, overlap=True)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for case in cases:
                launch(case, chosen, overlap=True)
        return graph
    except triton.runtime.errors.OutOfResources:
        return None


def replay_us(graph, launches):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return 1e3 * begin.elapsed_time(end) / launches


def chained(launch, listed, cases):
    """The last four of successive halving with their times, and of how many; every other is slower
    in its round."""
    players = []
    for chosen in listed:
        graph = recorded(launch, chosen, cases)
        if graph is not None:
            players.append((graph, chosen))
    turns, of = 3, len(players)
    while True:
        times = [[] for _ in players]
        for _ in range(turns):
            for i in random.sample(range(len(players)), len(players)):
                times[i].append(replay_us(players[i][0], len(cases)))
        ranked = sorted((statistics.median(t), i) for i, t in enumerate(times))
        if len(players) <= 4:
            return [(us, players[i][1]) for us, i in ranked], of
        players = [players[i] for _, i in ranked[:max(4, len(players) // 2)]]
        turns *= 2


def first_right(times, of, worst_error, name_of):
    for us, chosen in times[:5]:
        print(f"    {us:8.2f} us  {name_of(chosen)}")
    us, chosen = next((us, c) for us, c in times if worst_error(c) <= 1)
    return {**chosen, "us": round(us, 2), "of": of}


def save(path, chosen_of):
    path.write_text(json.dumps({
        "triton": triton.__version__, "gpu": torch.cuda.get_device_name(0),
        "date": datetime.date.today().isoformat(), **chosen_of}, indent=1) + "\n")


def tune_shapes(script, shapes, compile_in_worker, configurations, choose):
    """Chooses for each shape in both ways, and writes the choice."""
    compile_all(compile_in_worker,
                [(shape, chosen, overlap) for shape in shapes for overlap in (False, True)
                 for chosen in configurations(shape, (True, False) if overlap else (True,))])
    chosen_of = {way: {} for way in WAYS}
    for shape in shapes:
        for way, chosen in zip(WAYS, choose(shape)):
            chosen_of[way][shape] = chosen
    save(script.choice, chosen_of)


def check_shapes(script, worst_error, name_of):
    """Whether a choice misses its bound."""
    choice = json.loads(script.choice.read_text())
    failed = False
    for way in WAYS:
        for shape, chosen in choice[way].items():
            error = worst_error(shape, chosen)
            failed = failed or not error <= 1
            print(f"{way} {shape}: {error:.3f} of the bound, {name_of(chosen)}")
    return failed


def run_verb(verbs):
    """The verb on the command line; returns the exit code."""
    if len(sys.argv) != 2 or sys.argv[1] not in verbs:
        name = pathlib.Path(sys.argv[0]).name
        sys.exit(f"{name}: found {sys.argv[1:]}; allowed: {', '.join(verbs)}")
    return 1 if verbs[sys.argv[1]]() else 0
