#!/usr/bin/env python3
"""The kernels of triton_experts.py on a GPU: held against float64, and chosen in two ways.

    python3 kernels/moe_decode/triton_experts_tune.py check   # what triton_experts.json chooses
    python3 kernels/moe_decode/triton_experts_tune.py tune    # chooses, and writes that file

kernels/generated/triton_search.py has the two ways.
"""
import functools
import sys

import numpy as np
import torch

from triton_experts import (COLS, HIDDEN, KERNELS, KNOBS, SCRIPT, SHAPES, SHARED, USED,
                            constants_of, name_of)
from triton_search import (any_planes, autotuned, chained, check_shapes, first_right, on_gpu,
                           random_planes, run_verb, tune_shapes)

EPS, SCALE, SMALLEST = 1e-5, 1.8, 6.103515625e-5  # the last as MoeRouter::kSmallestSum
N_HIDDEN = USED * HIDDEN + SHARED


# What is chosen from. When consumers may start is nothing that the autotuner could see.
def configurations(shape, early=(True,)):
    hidden = SHAPES[shape][0] == "hidden"
    made = []
    for rows in (1, 2, 4, 8, 16, 32) if hidden else (1, 2, 4, 8):
        for warps in (2, 4, 8, 16) if hidden else (1, 2, 4, 8):
            if rows * warps >= (4 if hidden else 2):
                made += [{"ROWS": rows, "STAGES": 1, "EARLY": e, "warps": warps} for e in early]
    return made


def choice_of(logits, bias, sigmoid, normalise):
    """Experts and weights as op moe_router has them."""
    each = np.exp(logits - np.max(logits))
    probability = 1 / (1 + np.exp(-logits)) if sigmoid else each / np.sum(each)
    ids = np.argsort(-(probability + bias), kind="stable")[:USED]
    factor = SCALE / max(np.sum(probability[ids]), SMALLEST) if normalise else SCALE
    return ids, probability[ids] * factor


def in_bytes(v):
    """Values rounded to bytes in units, as the kernels hand them over, and what they then are."""
    units = v.reshape(-1, 32)
    scale = (np.max(np.abs(units), axis=1) / 127).astype(np.float32)
    q = np.rint(units / np.maximum(scale, 1e-30)[:, None]).clip(-127, 127).astype(np.int8)
    sums = q.reshape(-1, 2, 16).sum(axis=2).astype(np.int16)
    scales = np.stack([scale.view(np.uint32), sums.reshape(-1).view(np.uint32)], axis=1)
    made = [part.reshape(-1).view(np.uint8) for part in (q[:, :16], q[:, 16:], scales)]
    return np.concatenate(made), (q * scale.astype(np.float64)[:, None]).reshape(-1)


def from_bytes(made):
    n = made.size // 40
    q = np.concatenate([made[:16 * n].view(np.int8).reshape(n, 16),
                        made[16 * n:32 * n].view(np.int8).reshape(n, 16)], axis=1)
    scales = made[32 * n:].reshape(n, 8)
    sums = np.ascontiguousarray(scales[:, 4:]).view(np.int16)
    assert (sums == q.reshape(n, 2, 16).sum(axis=2)).all(), "sums of bytes"
    return (q * np.ascontiguousarray(scales[:, :4]).view(np.float32).astype(np.float64)).reshape(-1)


@functools.cache
def weights_of(kind, rows, cols, seed):
    packed, weights = random_planes(kind, rows, cols, np.random.default_rng(seed))
    return on_gpu(packed), weights


def hidden_error(shape, chosen, n=5):
    """Largest error of the hidden values divided by 2/127 of the largest of them."""
    kind, worst = SHAPES[shape][1], 0.0
    gate, up = (weights_of("q4_0", n * HIDDEN, COLS, seed) for seed in (1, 2))
    shared_gate, shared_up = (weights_of(kind, SHARED, COLS, seed) for seed in (3, 4))
    for sigmoid, normalise, seed in ((1, 1, 5), (0, 0, 6), (0, 1, 7)):
        numbers = np.random.default_rng(seed)
        x, norm = (numbers.standard_normal(COLS).astype(np.float32) for _ in range(2))
        logits = numbers.permutation(np.linspace(-3, 3, n)).astype(np.float32)
        bias = (numbers.random(n) * 1e-3).astype(np.float32)
        ids, weights = choice_of(logits.astype(np.float64), bias if sigmoid else 0, sigmoid,
                                 normalise)
        v = x.astype(np.float64)
        v = v / np.sqrt(np.mean(v * v) + EPS) * norm
        exact = []
        for e in [*ids, None]:
            rows = slice(0, None) if e is None else slice(e * HIDDEN, (e + 1) * HIDDEN)
            g = (shared_gate if e is None else gate)[1][rows] @ v
            exact.append(g / (1 + np.exp(-g)) * ((shared_up if e is None else up)[1][rows] @ v))
        exact = np.concatenate(exact)
        made_ids = torch.full((USED,), -1, dtype=torch.int32, device="cuda")
        made_weights = torch.full((USED,), float("nan"), device="cuda")
        out = torch.full((N_HIDDEN // 32 * 40,), 255, dtype=torch.uint8, device="cuda")
        args = (on_gpu(x), on_gpu(norm), on_gpu(logits), on_gpu(bias), gate[0], up[0],
                shared_gate[0], shared_up[0], made_ids, made_weights, out, n, USED, N_HIDDEN // 32,
                HIDDEN, sigmoid, sigmoid, normalise, SCALE, SMALLEST, EPS)
        launch(args, shape, chosen)
        values = from_bytes(out.cpu().numpy())
        same = made_ids.cpu().tolist() == ids.tolist() and np.allclose(
            made_weights.cpu().numpy(), weights, rtol=1e-5)
        error = np.max(np.abs(values - exact)) / (2 / 127 * np.max(np.abs(exact)))
        worst = max(worst, float(error) if same and np.isfinite(error) else float("inf"))
    return worst


def down_error(shape, chosen, n=5):
    """Largest error of the outputs from the same bytes, divided by 1e-5 of the sum of all
    products' sizes."""
    kind, numbers = SHAPES[shape][1], np.random.default_rng(8)
    w, shared = weights_of("q4_0", n * COLS, HIDDEN, 9), weights_of(kind, COLS, SHARED, 10)
    ids = numbers.permutation(n)[:USED].astype(np.int32)
    weights = numbers.random(USED).astype(np.float32)
    before = numbers.standard_normal(COLS).astype(np.float32)
    values, read = in_bytes(numbers.standard_normal(N_HIDDEN))
    exact, size = before.astype(np.float64), np.abs(before).astype(np.float64)
    for k, e in enumerate([*ids, None]):
        rows = shared[1] if e is None else w[1][e * COLS:(e + 1) * COLS]
        h = read[k * HIDDEN:(k + 1) * HIDDEN] * (1.0 if e is None else float(weights[k]))
        exact = exact + rows @ h
        size = size + np.abs(rows) @ np.abs(h)
    x = on_gpu(before)
    launch((x, w[0], shared[0], on_gpu(values), on_gpu(ids), on_gpu(weights), COLS), shape, chosen)
    error = np.max(np.abs(x.cpu().numpy() - exact) / (1e-5 * size))
    return float(error) if np.isfinite(error) else float("inf")


def worst_error(shape, chosen):
    return (hidden_error if SHAPES[shape][0] == "hidden" else down_error)(shape, chosen)


def grid_of(shape, chosen):
    return (N_HIDDEN // 32 if SHAPES[shape][0] == "hidden" else COLS // chosen["ROWS"],)


def options_of(shape, chosen, overlap):
    return {**constants_of(shape, chosen), "num_warps": chosen["warps"],
            "num_stages": chosen["STAGES"], "launch_pdl": overlap}


def launch(args, shape, chosen, overlap=False):
    kernel = KERNELS[SHAPES[shape][0]]
    kernel[grid_of(shape, chosen)](*args, **options_of(shape, chosen, overlap))


def random_case(shape, n=8):
    """Arguments with weights whose values do not matter, of which half the experts are read."""
    role, kind = SHAPES[shape]
    floats = lambda size: torch.randn(size, device="cuda")
    ids = torch.randperm(n, device="cuda")[:USED].to(torch.int32)
    values = torch.randint(0, 63, (N_HIDDEN // 32 * 40,), dtype=torch.uint8, device="cuda")
    if role == "down":
        return (floats(COLS), any_planes("q4_0", n * COLS, HIDDEN),
                any_planes(kind, COLS, SHARED), values, ids, floats(USED), COLS)
    matrices = [any_planes("q4_0", n * HIDDEN, COLS) for _ in range(2)]
    matrices += [any_planes(kind, SHARED, COLS) for _ in range(2)]
    return (floats(COLS), floats(COLS), floats(n), floats(n), *matrices, ids, floats(USED), values,
            n, USED, N_HIDDEN // 32, HIDDEN, 1, 1, 1, SCALE, SMALLEST, EPS)


def compile_in_worker(job):
    """Fills Triton's cache, so that the autotuner does not compile one after the other."""
    shape, chosen, overlap = job
    small = lambda value: value[:4096] if torch.is_tensor(value) else value
    try:
        KERNELS[SHAPES[shape][0]].warmup(*map(small, random_case(shape, n=USED)), grid=(1,),
                                         **options_of(shape, chosen, overlap))
        return ""
    except Exception as error:  # what does not compile is not chosen
        return f"{shape}: {name_of(chosen)}: {str(error)[-300:]}"


def choose(shape):
    """What each way chooses for a shape."""
    kernel, listed = KERNELS[SHAPES[shape][0]], configurations(shape)
    right = lambda times, of: first_right(times, of, lambda c: worst_error(shape, c), name_of)
    times = autotuned(kernel, "KIND", listed, KNOBS, lambda meta: grid_of(shape, meta),
                      random_case(shape), constants_of(shape, listed[0]))
    print(f"{shape}, autotuner: of {len(times)} the slowest {times[-1][0]:.2f} us, the best")
    alone = right(times, len(times))
    cases = [random_case(shape) for _ in range(16)]
    times, of = chained(lambda case, c, overlap: launch(case, shape, c, overlap),
                        configurations(shape, early=(True, False)), cases)
    print(f"{shape}, chained: of {of} the best")
    return alone, right(times, of)


def tune():
    tune_shapes(SCRIPT, SHAPES, compile_in_worker, configurations, choose)


def check():
    return check_shapes(SCRIPT, worst_error, name_of)


if __name__ == "__main__":
    sys.exit(run_verb({"check": check, "tune": tune}))
