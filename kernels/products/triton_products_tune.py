#!/usr/bin/env python3
"""The kernels of triton_products.py on a GPU: held against float64, and chosen in two ways.

    python3 kernels/products/triton_products_tune.py check   # what triton_products.json chooses
    python3 kernels/products/triton_products_tune.py tune    # chooses, and writes that file

kernels/generated/triton_search.py has the two ways.
"""
import functools
import sys

import numpy as np
import torch

from triton_products import (GATED, KNOBS, NORMED, SCRIPT, SHAPES, constants_of, name_of,
                             products)
from triton_search import (any_planes, autotuned, chained, check_shapes, first_right,
                           multiprocessors, on_gpu, random_planes, run_verb, tune_shapes)


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
    packed, weights = random_planes(kind, rows, cols, numbers)
    x = numbers.standard_normal(cols).astype(np.float32)
    other = numbers.standard_normal(cols).astype(np.float32)
    before = numbers.standard_normal(rows).astype(np.float32)
    v = x.astype(np.float64)
    if make == NORMED:
        v = v / np.sqrt(np.mean(v * v) + 1e-5) * other
    if make == GATED:
        v = v / (1 + np.exp(-v)) * other
    exact = weights @ v + (before if residual == 2 else 0)
    step = np.repeat(np.max(np.abs(v.reshape(-1, 32)), axis=1) / 127 * 0.51, 32)
    bound = np.abs(weights) @ step + 1e-4 * np.abs(exact) + 1e-6
    return on_gpu(packed), on_gpu(x), on_gpu(other), on_gpu(before), exact, bound


def arguments(matrices, outputs, x, other, residual, rows):
    fill = lambda values, with_what: list(values) + [with_what] * (3 - len(values))
    return (*fill(matrices, matrices[0]), *fill(outputs, outputs[0]), x, other, residual,
            *fill(rows, 0), 1e-5)


def grid_of(chosen, rows):
    groups = sum(rows) // chosen["ROWS"]
    most = multiprocessors() * chosen["PER_SM"]
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
    matrices = [any_planes(kind, n, cols) for n in rows]
    outputs = [torch.zeros(n, device="cuda") for n in rows]
    x, other = torch.randn(cols, device="cuda"), torch.randn(cols, device="cuda")
    return arguments(matrices, outputs, x, other, torch.zeros(sum(rows), device="cuda"), rows)


def choose(shape):
    """What each way chooses for a shape."""
    rows, listed = SHAPES[shape][4], configurations(shape)
    right = lambda times, of: first_right(times, of, lambda c: worst_error(shape, c), name_of)
    times = autotuned(products, "COLS", listed, KNOBS, lambda meta: grid_of(meta, rows),
                      random_case(shape), constants_of(shape, listed[0]))
    print(f"{shape}, autotuner: of {len(times)} the slowest {times[-1][0]:.2f} us, the best")
    alone = right(times, len(times))
    cases = [random_case(shape) for _ in range(4 if sum(rows) > 16384 else 48)]
    times, of = chained(lambda case, c, overlap: launch(case, shape, c, rows, overlap),
                        configurations(shape, early=(True, False)), cases)
    print(f"{shape}, chained: of {of} the best")
    return alone, right(times, of)


def tune():
    tune_shapes(SCRIPT, SHAPES, compile_in_worker, configurations, choose)


def check():
    return check_shapes(SCRIPT, worst_error, name_of)


if __name__ == "__main__":
    sys.exit(run_verb({"check": check, "tune": tune}))
