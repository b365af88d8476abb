#!/usr/bin/env python3
"""The attention's way over the cache as two Triton kernels: a latent of 512, 64 rotated values.

The first takes tiles of positions with all heads, as tiles_kernel in kernel_deep.cu does; the other
joins the tiles' sums and multiplies them with the heads' values. Queries in latent space and the
cache's new row come from a hand-written kernel (cuda_generated_triton.cu), and what the three hand
each other lies as in kernel_deep.cu. This script compiles what triton_attention.json chooses, for
sm_90a and without a GPU: PTX files, and triton_attention.h with their launch data.

    python3 kernels/mla_decode/triton_attention.py
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "generated"))

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from triton_planes import as_bytes, ask_rows, dot
from triton_write import Script, compiled

SCRIPT = Script(__file__)
RANK, ROT = 512, 64  # as kRank and kRot in kernel_deep.cu
MOST_PARTS = 128     # as MlaDecode::kParts


# Rows first … of the cache below `end`, latent and rotated; the others are zeros.
@triton.jit
def ask_tile(cache, first, end, TILE: tl.constexpr, RANK: tl.constexpr, ROT: tl.constexpr):
    t = first + tl.arange(0, TILE)[:, None]
    row = cache + t * (RANK + ROT)
    latent = tl.load(row + tl.arange(0, RANK)[None, :], mask=t < end, other=0.0,
                     cache_modifier=".cg")
    rotated = tl.load(row + RANK + tl.arange(0, ROT)[None, :], mask=t < end, other=0.0,
                      cache_modifier=".cg")
    return latent, rotated


# A program takes every PARTS-th tile of TILE positions, for HEADS heads. The first tile's rows are
# asked for before this token's own row and its queries are there.
@triton.jit(do_not_specialize=["n_heads"])
def tiles(query, cache, position, sums, most, n_heads, scale, RANK: tl.constexpr,
          ROT: tl.constexpr, HEADS: tl.constexpr, PARTS: tl.constexpr, TILE: tl.constexpr,
          EARLY: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    part = tl.program_id(0) % PARTS
    first = part * TILE
    last = tl.load(position)
    latent, rotated = ask_tile(cache, first, last, TILE, RANK, ROT)
    gdc_wait()
    if not EARLY:
        gdc_launch_dependents()
    if first <= last:
        c, r = tl.arange(0, RANK)[None, :], RANK + tl.arange(0, ROT)[None, :]
        h = tl.program_id(0) // PARTS * HEADS + tl.arange(0, HEADS)
        of_head = query + h[:, None] * (RANK + ROT)
        real = (h < n_heads)[:, None]
        query_latent = tl.load(of_head + c, mask=real, other=0.0)
        query_rotated = tl.load(of_head + r, mask=real, other=0.0)
        own = cache + last * (RANK + ROT)
        own_latent = tl.load(own + c)
        own_rotated = tl.load(own + r)
        largest = tl.full((HEADS,), float("-inf"), tl.float32)
        total = tl.zeros((HEADS,), tl.float32)
        sum_of = tl.zeros((HEADS, RANK), tl.float32)
        for begin in tl.range(first, last + 1, PARTS * TILE, num_stages=1):
            t = begin + tl.arange(0, TILE)
            keys = tl.where((t == last)[:, None], own_latent, latent)
            turned = tl.where((t == last)[:, None], own_rotated, rotated)
            scores = tl.dot(query_rotated, tl.trans(turned))
            scores = tl.dot(query_latent, tl.trans(keys), scores)
            scores = tl.where((t <= last)[None, :], scores * scale, float("-inf"))
            now = tl.maximum(largest, tl.max(scores, axis=1))
            keep = tl.exp(largest - now)
            weights = tl.exp(scores - now[:, None])
            total = total * keep + tl.sum(weights, axis=1)
            sum_of = tl.dot(weights.to(tl.float16), keys, sum_of * keep[:, None])
            largest = now
            latent, rotated = ask_tile(cache, begin + PARTS * TILE, last, TILE, RANK, ROT)
        at = part * n_heads + h
        tl.store(sums + at[:, None] * RANK + c, sum_of, mask=real)
        tl.store(most + 2 * at, largest, mask=h < n_heads)
        tl.store(most + 2 * at + 1, total, mask=h < n_heads)


# Half of each unit's values of some parts, [parts][UNITS][4][4].
@triton.jit
def load_sums(sums, at, there, UNITS: tl.constexpr, HALF: tl.constexpr):
    u = tl.arange(0, UNITS)[None, :, None, None] * 32 + HALF * 16
    i = tl.arange(0, 4)[None, None, :, None] * 4 + tl.arange(0, 4)[None, None, None, :]
    return tl.load(sums + at[:, None, None, None] + u + i, mask=there[:, None, None, None],
                   other=0.0, cache_modifier=".cg")


# A program joins the parts of a head for itself and makes ROWS of the head's values; it adds
# AT_ONCE parts at a time, and Triton pipelines that loop in STAGES stages.
@triton.jit(do_not_specialize=["n_heads", "n_value", "tile", "parts"])
def join(sums, most, position, v_b, out, n_heads, n_value, tile, parts, RANK: tl.constexpr,
         MOST: tl.constexpr, ROWS: tl.constexpr, AT_ONCE: tl.constexpr, STAGES: tl.constexpr,
         EARLY: tl.constexpr):
    U: tl.constexpr = RANK // 32
    if EARLY:
        gdc_launch_dependents()
    of_head = n_value // ROWS
    head = tl.program_id(0) // of_head
    rows = head * n_value + tl.program_id(0) % of_head * ROWS + tl.arange(0, ROWS)
    weights = ask_rows(v_b, rows, True, 0, U, RANK, 4)
    gdc_wait()
    if not EARLY:
        gdc_launch_dependents()
    used = tl.minimum(parts, tl.load(position) // tile + 1)
    p = tl.arange(0, MOST)
    at = 2 * (p * n_heads + head)
    largest = tl.load(most + at, mask=p < used, other=float("-inf"))
    total = tl.load(most + at + 1, mask=p < used, other=0.0)
    over_all = tl.max(largest, axis=0)
    factor = 1.0 / tl.sum(tl.exp(largest - over_all) * total, axis=0)
    low = tl.zeros((U, 4, 4), tl.float32)
    high = tl.zeros((U, 4, 4), tl.float32)
    for begin in tl.range(0, used, AT_ONCE, num_stages=STAGES):
        some = begin + tl.arange(0, AT_ONCE)
        place = some * n_heads + head
        own = tl.load(most + 2 * place, mask=some < used, other=float("-inf"))
        share = (tl.exp(own - over_all) * factor)[:, None, None, None]
        low += tl.sum(load_sums(sums, place * RANK, some < used, U, 0) * share, axis=0)
        high += tl.sum(load_sums(sums, place * RANK, some < used, U, 1) * share, axis=0)
    tl.store(out + rows, dot(weights, as_bytes(low, high, 4, U), 4))


KERNELS = {"tiles": tiles, "join": join}
PARAMETERS = {
    "tiles": {"query": "*fp16", "cache": "*fp16", "position": "*i32", "sums": "*fp32",
              "most": "*fp32", "n_heads": "i32", "scale": "fp32"},
    "join": {"sums": "*fp32", "most": "*fp32", "position": "*i32", "v_b": "*u8", "out": "*fp32",
             **dict.fromkeys(["n_heads", "n_value", "tile", "parts"], "i32")},
}
UNALIGNED = ("position", "most", "out")
KNOBS = {"tiles": ["HEADS", "PARTS", "TILE", "EARLY"],  # and the number of warps
         "join": ["ROWS", "AT_ONCE", "STAGES", "EARLY"]}


def constants_of(role, chosen):
    knobs = {knob: chosen[knob] for knob in KNOBS[role]}
    return {"RANK": RANK, **({"ROT": ROT} if role == "tiles" else {"MOST": MOST_PARTS}), **knobs}


def name_of(chosen):
    what = (f"{chosen['PARTS']} parts, tiles of {chosen['TILE']} with {chosen['HEADS']} heads"
            if "TILE" in chosen else f"rows {chosen['ROWS']}, {chosen['AT_ONCE']} parts at once, "
            f"stages {chosen['STAGES']}")
    consumers = "" if chosen["EARLY"] else ", consumers late"
    return f"{what}, warps {chosen['warps']}{consumers}"


def write_ptx(way, role, chosen):
    """Symbol, what a table of the header says, and how many scratch pointers the kernel has."""
    ptx, shared, scratch = compiled(KERNELS[role], PARAMETERS[role], constants_of(role, chosen),
                                    chosen["warps"], chosen["STAGES"], UNALIGNED)
    symbol, sha256 = SCRIPT.write_ptx(f"{way}_{role}", ptx, f"{way}, {role}: {name_of(chosen)}")
    sizes = (f"{chosen['HEADS']}, {chosen['PARTS']}, {chosen['TILE']}, 0" if role == "tiles"
             else f"0, 0, 0, {chosen['ROWS']}")
    row = (f"constexpr TritonAttention kTriton{way.capitalize()}{role.capitalize()} = {{\n"
           f"    {symbol},\n    \"{sha256}\",\n"
           f"    {sizes}, {32 * chosen['warps']}, {shared}}};\n")
    return symbol, row, scratch


HEADER = """\
{head}// Launch data of the kernels in the PTX files beside this header. For .cu files alone.
#pragma once

{symbols}

namespace steady::cuda {{

// Behind our parameters: pointers that Triton adds, for what these kernels do not use.
constexpr int kTritonAttentionScratch = {scratch};

struct TritonAttention {{
    const char* ptx;
    const char* sha256;       // of the file, so that a hash of this header's code tells its kernels
    int heads, parts, tile;   // of the tiles: heads of a program, parts of the positions
    int rows;                 // of the join: values of a program
    int threads, shared_bytes;
}};

{tables}
}}  // namespace steady::cuda
// clang-format on
"""


def generate():
    SCRIPT.remove_ptx()
    choice = json.loads(SCRIPT.choice.read_text())
    symbols, tables, scratch = [], "", set()
    for way in [way for way in ("autotuner", "chained") if way in choice]:
        for role, chosen in choice[way].items():
            symbol, row, pointers = write_ptx(way, role, chosen)
            symbols.append(f'extern "C" const char {symbol}[];')
            scratch.add(pointers)
            tables += row
    assert len(scratch) == 1, scratch
    SCRIPT.header.write_text(HEADER.format(
        head=SCRIPT.head(["clang-format off"]), symbols="\n".join(symbols),
        scratch=scratch.pop(), tables=tables))


if __name__ == "__main__":
    generate()
