#!/usr/bin/env python3
"""The kernels of triton_attention.py on a GPU: held against float64, and chosen in two ways.

    python3 kernels/mla_decode/triton_attention_tune.py check   # what triton_attention.json chooses
    python3 kernels/mla_decode/triton_attention_tune.py tune    # chooses, and writes that file

kernels/generated/triton_search.py has the two ways. Tiles are chosen first, and the join for the
tiles that were chosen.
"""
import functools
import json
import sys

import numpy as np
import torch

from triton_attention import (KERNELS, KNOBS, RANK, ROT, SCRIPT, constants_of, name_of)
from triton_search import (WAYS, any_planes, autotuned, chained, compile_all, first_right, on_gpu,
                           random_planes, run_verb, save)

WIDTH = RANK + ROT
N_HEADS, N_VALUE = 20, 256  # of GLM-4.7-Flash
TUNED_WITH = 2112           # positions
SCALE = 1 / 16


# What is chosen from: as many programs as multiprocessors, about. When consumers may start is
# nothing that the autotuner could see.
def configurations(role, early=(True,)):
    made = []
    for warps in (4, 8, 16):
        if role == "tiles":
            sizes = [{"HEADS": heads, "PARTS": 4 * heads, "TILE": tile, "STAGES": 1}
                     for heads in (16, 32) for tile in (16, 32, 64)]
        else:
            sizes = [{"ROWS": rows, "AT_ONCE": parts, "STAGES": stages}
                     for rows in (32, 64, 128, 256) for parts in (4, 8, 16) for stages in (1, 3)]
        made += [{**size, "EARLY": e, "warps": warps} for size in sizes for e in early]
    return made


@functools.cache
def values_of(n_value, seed):
    packed, weights = random_planes("q4_0", N_HEADS * n_value, RANK, np.random.default_rng(seed))
    return on_gpu(packed), weights.reshape(N_HEADS, n_value, RANK)


def grid_of(role, chosen, n_value=N_VALUE):
    if role == "tiles":
        return (-(-N_HEADS // chosen["HEADS"]) * chosen["PARTS"],)
    return (N_HEADS * n_value // chosen["ROWS"],)


def options_of(role, chosen, overlap):
    return {**constants_of(role, chosen), "num_warps": chosen["warps"],
            "num_stages": chosen["STAGES"], "launch_pdl": overlap}


def launch(args, role, chosen, overlap=False, n_value=N_VALUE):
    KERNELS[role][grid_of(role, chosen, n_value)](*args, **options_of(role, chosen, overlap))


def worst_error(of_tiles, of_join):
    """Largest error of both kernels together, divided by 2/127 of the head's largest value."""
    worst, (v_b, exact_values) = 0.0, values_of(N_VALUE, 1)
    for positions in (1, 2, of_tiles["TILE"], of_tiles["TILE"] + 1, 700, 2112, 9000):
        numbers = np.random.default_rng(positions)
        cache = numbers.uniform(-1, 1, (positions, WIDTH)).astype(np.float16)
        query = numbers.standard_normal((N_HEADS, WIDTH)).astype(np.float16)
        scores = query.astype(np.float64) @ cache.astype(np.float64).T * SCALE
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        latent = p / p.sum(axis=1, keepdims=True) @ cache[:, :RANK].astype(np.float64)
        exact = np.einsum("hvr,hr->hv", exact_values, latent)
        parts = of_tiles["PARTS"]
        empty = lambda size: torch.full((size,), float("nan"), device="cuda")
        sums, most = empty(parts * N_HEADS * RANK), empty(parts * N_HEADS * 2)
        out = empty(N_HEADS * N_VALUE)
        position = torch.tensor([positions - 1], dtype=torch.int32, device="cuda")
        launch((on_gpu(query), on_gpu(cache), position, sums, most, N_HEADS, SCALE), "tiles",
               of_tiles)
        launch((sums, most, position, v_b, out, N_HEADS, N_VALUE, of_tiles["TILE"], parts), "join",
               of_join)
        y = out.cpu().numpy().reshape(N_HEADS, N_VALUE)
        bound = 2 / 127 * np.max(np.abs(exact), axis=1, keepdims=True)
        error = np.max(np.abs(y - exact) / bound)
        worst = max(worst, float(error) if np.isfinite(error) else float("inf"))
    return worst


def random_case(role, of_tiles=None, positions=TUNED_WITH):
    """Arguments whose values do not matter."""
    position = torch.tensor([positions - 1], dtype=torch.int32, device="cuda")
    sums = torch.randn(128 * N_HEADS * RANK, device="cuda")
    most = torch.rand(128 * N_HEADS * 2, device="cuda") + 1
    if role == "join":
        return (sums, most, position, any_planes("q4_0", N_HEADS * N_VALUE, RANK),
                torch.zeros(N_HEADS * N_VALUE, device="cuda"), N_HEADS, N_VALUE, of_tiles["TILE"],
                of_tiles["PARTS"])
    halves = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.float16)
    return (halves(N_HEADS, WIDTH), halves(positions, WIDTH), position, sums, most, N_HEADS, SCALE)


def compile_in_worker(job):
    """Fills Triton's cache, so that the autotuner does not compile one after the other."""
    role, chosen, overlap = job
    try:
        case = random_case(role, {"TILE": 16, "PARTS": 64}, positions=64)
        KERNELS[role].warmup(*case, grid=(1,), **options_of(role, chosen, overlap))
        return ""
    except Exception as error:  # what does not compile is not chosen
        return f"{role}: {name_of(chosen)}: {str(error)[-300:]}"


ANY_TILES = {"HEADS": 32, "PARTS": 128, "TILE": 32, "STAGES": 1, "EARLY": True, "warps": 8}
ANY_JOIN = {"ROWS": 32, "AT_ONCE": 16, "STAGES": 1, "EARLY": True, "warps": 8}


def choose(way, role, of_tiles=None):
    """What a way chooses for a kernel; the join is chosen for these tiles."""
    right = ((lambda c: worst_error(c, ANY_JOIN)) if role == "tiles"
             else (lambda c: worst_error(of_tiles, c)))
    if way == "autotuner":
        listed = configurations(role)
        times = autotuned(KERNELS[role], "RANK", listed, KNOBS[role],
                          lambda meta: grid_of(role, meta), random_case(role, of_tiles),
                          constants_of(role, listed[0]))
        of = len(times)
    else:
        cases = [random_case(role, of_tiles) for _ in range(32)]
        times, of = chained(lambda case, c, overlap: launch(case, role, c, overlap),
                            configurations(role, early=(True, False)), cases)
    print(f"{role}, {way}: of {of} the best")
    return first_right(times, of, right, name_of)


def tune():
    compile_all(compile_in_worker,
                [(role, chosen, overlap) for role in KERNELS for overlap in (False, True)
                 for chosen in configurations(role, (True, False) if overlap else (True,))])
    chosen_of = {}
    for way in WAYS:
        of_tiles = choose(way, "tiles")
        chosen_of[way] = {"tiles": of_tiles, "join": choose(way, "join", of_tiles)}
    save(SCRIPT.choice, chosen_of)


def check():
    choice = json.loads(SCRIPT.choice.read_text())
    failed = False
    for way in WAYS:
        of_tiles, of_join = choice[way]["tiles"], choice[way]["join"]
        error = worst_error(of_tiles, of_join)
        failed = failed or not error <= 1
        print(f"{way}: {error:.3f} of the bound, {name_of(of_tiles)}; {name_of(of_join)}")
    return failed


if __name__ == "__main__":
    sys.exit(run_verb({"check": check, "tune": tune}))
