#!/usr/bin/env python3
"""The kernels of triton_products.py on a GPU: held against float64, and chosen in two ways.

    python3 kernels/products/triton_products_tune.py check   # what triton_products.json chooses
    python3 kernels/products/triton_products_tune.py tune    # chooses, and writes that file

`autotuner` is Triton's: it empties the second-level cache before every launch that it times, and
nothing else runs. `chained` is successive halving, as `steady-kernels tune` does it on a CPU, over
launches that follow each other in a recorded graph, each free to start while the one before it runs
and over weights of its own, as in a model. Both make candidates; the model decides.
"""
import concurrent.futures
import datetime
import functools
import itertools
import json
import multiprocessing
import os
import random
import statistics
import sys

import numpy as np
import torch
import triton

from triton_products import (CHOICE, GATED, KNOBS, NORMED, SHAPES, WAYS, constants_of, name_of,
                             products)


# What is chosen from. PER_SM 0: a program for each group of rows. When consumers may start is
# nothing that the autotuner could see.
def configurations(shape, early=(True,)):
    large = sum(SHAPES[shape][4]) > 16384
    made = []
    for rows in (4, 8, 16) if large else (1, 2, 4, 8):
        for warps in (4, 8) if large else (1, 2, 4, 8):
            for per_sm in (1, 2, 4) if large else (0, 2):
                ways = [(True, 1)] if per_sm == 0 else [(True, 1), (False, 2), (False, 3)]
                for ahead, stages in ways if large else ways[:2]:
                    if per_sm * warps <= 32 and rows * warps > 2:
                        made += [{"ROWS": rows, "PER_SM": per_sm, "AHEAD": ahead,
                                  "STAGES": stages, "EARLY": e, "warps": warps} for e in early]
    return made


@functools.cache
def planes_case(shape, rows, seed=1):
    """Random weights in planes, a vector, and the exact result."""
    kind, cols, make, residual, _ = SHAPES[shape]
    numbers = np.random.default_rng(seed)
    units, size = cols // 32, 26 if kind == "q6_k" else 18
    nibbles = numbers.integers(0, 256, (rows, units, 16), dtype=np.uint8)
    low, high = nibbles & 15, nibbles >> 4
    q = np.concatenate([low, high], axis=2).astype(np.int32)
    chunks = (rows // 8, 8)
    planes = [nibbles.reshape(*chunks, units * 16).reshape(rows // 8, -1)]
    if kind == "q6_k":
        upper = numbers.integers(0, 256, (rows, units, 8), dtype=np.uint8)
        for j in range(32):  # bits 8b + 2(w % 4) of pair word w / 4 belong to value 4w + b
            b, w = j % 4, j // 4
            bits = (upper[:, :, 4 * (w // 4) + b] >> (2 * (w % 4))) & 3
            q[:, :, j] |= bits.astype(np.int32) << 4
        scales = numbers.integers(-60, 60, (rows, units, 2), dtype=np.int8)
        d = (numbers.random((rows, units // 8)) * 1e-3).astype(np.float16)
        planes += [upper.reshape(rows // 8, -1), scales.view(np.uint8).reshape(rows // 8, -1),
                   d.view(np.uint8).reshape(rows // 8, -1)]
        each = np.repeat(d.astype(np.float64), 8, axis=1)[:, :, None] * np.repeat(
            scales.astype(np.float64), 16, axis=2)
        weights = (q - 32) * each
    else:
        d = (numbers.random((rows, units)) * 1e-2).astype(np.float16)
        planes += [d.view(np.uint8).reshape(rows // 8, -1)]
        weights = (q - 8) * d.astype(np.float64)[:, :, None]
    packed = np.concatenate(planes, axis=1)
    assert packed.size == rows * units * size + (rows * units // 8 * 2 if kind == "q6_k" else 0)
    x = numbers.standard_normal(cols).astype(np.float32)
    other = numbers.standard_normal(cols).astype(np.float32)
    before = numbers.standard_normal(rows).astype(np.float32)
    v = x.astype(np.float64)
    if make == NORMED:
        v = v / np.sqrt(np.mean(v * v) + 1e-5) * other
    if make == GATED:
        v = v / (1 + np.exp(-v)) * other
    exact = weights.reshape(rows, cols) @ v + (before if residual == 2 else 0)
    step = np.repeat(np.max(np.abs(v.reshape(-1, 32)), axis=1) / 127 * 0.51, 32)
    bound = np.abs(weights.reshape(rows, cols)) @ step + 1e-4 * np.abs(exact) + 1e-6
    to = lambda a: torch.from_numpy(a.copy()).cuda()
    return to(packed.reshape(-1)), to(x), to(other), to(before), exact, bound


def arguments(matrices, outputs, x, other, residual, rows):
    fill = lambda values, with_what: list(values) + [with_what] * (3 - len(values))
    return (*fill(matrices, matrices[0]), *fill(outputs, outputs[0]), x, other, residual,
            *fill(rows, 0), 1e-5)


def grid_of(chosen, rows):
    groups = sum(rows) // chosen["ROWS"]
    most = torch.cuda.get_device_properties(0).multi_processor_count * chosen["PER_SM"]
    return (min(groups, most) if most else groups,)


def launch(args, shape, chosen, rows, overlap=False):
    products[grid_of(chosen, rows)](*args, **options_of(shape, chosen, overlap))


def options_of(shape, chosen, overlap):
    return {**constants_of(shape, chosen), "num_warps": chosen["warps"],
            "num_stages": chosen["STAGES"], "launch_pdl": overlap}


def worst_error(shape, chosen):
    """The largest error divided by its bound, with two matrices where the shape has two."""
    rows = SHAPES[shape][4] if sum(SHAPES[shape][4]) <= 16384 else (4096,)
    w, x, other, before, exact, bound = planes_case(shape, sum(rows))
    size = w.numel() // sum(rows)
    matrices, outputs, begin = [], [], 0
    for n in rows:
        matrices.append(w[begin * size:(begin + n) * size])
        outputs.append(torch.full((n,), float("nan"), device="cuda"))
        begin += n
    launch(arguments(matrices, outputs, x, other, before, rows), shape, chosen, rows)
    y = torch.cat(outputs).double().cpu().numpy()
    return float(np.max(np.abs(y - exact) / bound)) if np.isfinite(y).all() else float("inf")


def small_arguments():
    w = torch.zeros(1 << 16, dtype=torch.uint8, device="cuda")
    f = torch.zeros(1 << 14, device="cuda")
    return arguments([w], [f], f, f, f, (16,))


def compile_in_worker(job):
    """Fills Triton's cache, so that the autotuner does not compile one after the other."""
    shape, chosen, overlap = job
    try:
        products.warmup(*small_arguments(), grid=(1,), **options_of(shape, chosen, overlap))
        return ""
    except Exception as error:  # what does not compile is not chosen
        return f"{shape}: {name_of(chosen)}: {str(error)[-300:]}"


def random_case(shape):
    """Arguments with weights whose values do not matter."""
    kind, cols, _, _, rows = SHAPES[shape]
    size = cols // 32 * (26 if kind == "q6_k" else 18) + (cols // 256 * 2 if kind == "q6_k" else 0)
    matrices = [torch.randint(0, 63, (n * size,), dtype=torch.uint8, device="cuda") for n in rows]
    outputs = [torch.zeros(n, device="cuda") for n in rows]
    x, other = torch.randn(cols, device="cuda"), torch.randn(cols, device="cuda")
    return arguments(matrices, outputs, x, other, torch.zeros(sum(rows), device="cuda"), rows)


def autotuned(shape):
    """All configurations with their times, fastest first."""
    rows, listed = SHAPES[shape][4], configurations(shape)
    choices = [triton.Config({knob: c[knob] for knob in KNOBS}, num_warps=c["warps"],
                             num_stages=c["STAGES"]) for c in listed]
    tuner = triton.autotune(
        configs=choices, key=["COLS"],
        do_bench=lambda call, quantiles: triton.testing.do_bench(call, warmup=5, rep=40,
                                                                 quantiles=quantiles))(products)
    constants = {name: value for name, value in constants_of(shape, listed[0]).items()
                 if name not in KNOBS}
    tuner[lambda meta: grid_of(meta, rows)](*random_case(shape), **constants)
    times = []
    for chosen, choice in zip(listed, choices):
        median = tuner.configs_timings[choice]
        times.append((1e3 * (median[0] if isinstance(median, (list, tuple)) else median), chosen))
    return sorted(times, key=lambda each: each[0])


def recorded(shape, chosen, cases):
    """A graph of a launch per case, or None where it cannot run."""
    rows = SHAPES[shape][4]
    stream = torch.cuda.Stream()
    try:
        with torch.cuda.stream(stream):
            launch(cases[0], shape, chosen, rows, overlap=True)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for case in cases:
                launch(case, shape, chosen, rows, overlap=True)
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


def chained(shape):
    """The last four of successive halving with their times; every other is slower in its round."""
    large = sum(SHAPES[shape][4]) > 16384
    cases = [random_case(shape) for _ in range(4 if large else 48)]
    players = []
    for chosen in configurations(shape, early=(True, False)):
        graph = recorded(shape, chosen, cases)
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


def first_right(shape, times, of):
    for us, chosen in times[:5]:
        print(f"    {us:8.2f} us  {name_of(chosen)}")
    us, chosen = next((us, c) for us, c in times if worst_error(shape, c) <= 1)
    return {**chosen, "us": round(us, 2), "of": of}


def tune():
    jobs = [(shape, chosen, overlap) for shape in SHAPES for overlap in (False, True)
            for chosen in configurations(shape, (True, False) if overlap else (True,))]
    context = multiprocessing.get_context("spawn")
    workers = min(16, os.cpu_count() or 1)
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        for problem in pool.map(compile_in_worker, jobs, chunksize=4):
            if problem:
                print("not compiled:", problem)
    chosen_of = {"autotuner": {}, "chained": {}}
    for shape in SHAPES:
        times = autotuned(shape)
        print(f"{shape}, autotuner: of {len(times)} the slowest {times[-1][0]:.2f} us, the best")
        chosen_of["autotuner"][shape] = first_right(shape, times, len(times))
        times, of = chained(shape)
        print(f"{shape}, chained: of {of} the best")
        chosen_of["chained"][shape] = first_right(shape, times, of)
    CHOICE.write_text(json.dumps({
        "triton": triton.__version__, "gpu": torch.cuda.get_device_name(0),
        "date": datetime.date.today().isoformat(), **chosen_of}, indent=1) + "\n")


def check():
    choice = json.loads(CHOICE.read_text())
    failed = False
    for way in WAYS:
        for shape, chosen in choice[way].items():
            error = worst_error(shape, chosen)
            failed = failed or not error <= 1
            print(f"{way} {shape}: {error:.3f} of the bound, {name_of(chosen)}")
    return failed


def main():
    verbs = {"check": check, "tune": tune}
    if len(sys.argv) != 2 or sys.argv[1] not in verbs:
        sys.exit(f"triton_products_tune.py: found {sys.argv[1:]}; allowed: {', '.join(verbs)}")
    return 1 if verbs[sys.argv[1]]() else 0


if __name__ == "__main__":
    sys.exit(main())
