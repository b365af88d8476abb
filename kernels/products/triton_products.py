#!/usr/bin/env python3
"""The joined products as a Triton kernel, for shapes of GLM-4.7-Flash and DeepSeek-V2-Lite.

This script compiles what triton_products.json chooses, for sm_90a and without a GPU: a PTX file for
each choice and shape, and triton_products.h with their launch data. A program embeds the PTX and
loads it through the driver, so neither a build nor a run needs Triton. A test without a GPU,
tests/architecture/generated_test.cpp, fails when this script or the choice changed and the
generated files did not. As in kernel.cu, a vector is rounded to bytes and multiplied by dp4a.

    python3 kernels/products/triton_products.py
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "generated"))

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from triton_planes import as_bytes, ask_rows, dot, gated, load_half, normed
from triton_write import Script, compiled

SCRIPT = Script(__file__)
KINDS = {"q4_0": 4, "q6_k": 6}  # as in triton_planes.py
PLAIN, NORMED, GATED = 1, 2, 3  # as ProductsShape::input

# What gets a kernel: weight type, columns, input, residual (2: added to one), and the rows of the
# matrices to tune with. Of kernels that differ in rows alone, a call takes the nearest.
SHAPES = {
    "q4_0_2048_normed_1344": ("q4_0", 2048, NORMED, 1, (768, 576)),  # attn_q_a and attn_kv_a
    "q4_0_2048_normed_3648": ("q4_0", 2048, NORMED, 1, (3072, 576)),  # attn_q and attn_kv_a
    "q4_0_2048_normed_20480": ("q4_0", 2048, NORMED, 1, (10240, 10240)),  # ffn_gate and ffn_up
    "q4_0_5120_plain": ("q4_0", 5120, PLAIN, 2, (2048,)),  # attn_output
    "q4_0_10240_gated": ("q4_0", 10240, GATED, 2, (2048,)),  # ffn_down of the dense block
    "q6_k_2048_normed": ("q6_k", 2048, NORMED, 1, (154880,)),  # the output matrix
}


# Units FIRST … of a vector that is read as it is, or gated.
@triton.jit
def vector(x, other, FIRST: tl.constexpr, UNITS: tl.constexpr, INPUT: tl.constexpr,
           KIND: tl.constexpr):
    low = load_half(x, FIRST, UNITS, 0)
    high = load_half(x, FIRST, UNITS, 1)
    if INPUT == 3:
        up_low = load_half(other, FIRST, UNITS, 0)
        up_high = load_half(other, FIRST, UNITS, 1)
        low = gated(low, up_low)
        high = gated(high, up_high)
    return as_bytes(low, high, KIND, UNITS)


# Which matrix a group of rows belongs to, and where that begins.
@triton.jit
def place(group, w0, w1, w2, y0, y1, y2, rows0, rows1, ROWS: tl.constexpr):
    first = group * ROWS
    second = first >= rows0
    third = first >= rows0 + rows1
    w = tl.where(third, w2, tl.where(second, w1, w0))
    y = tl.where(third, y2, tl.where(second, y1, y0))
    begin = tl.where(third, rows0 + rows1, tl.where(second, rows0, 0))
    return w, y, first - begin + tl.arange(0, ROWS)


@triton.jit
def put(y, rows, sums, residual, RESIDUAL: tl.constexpr):
    if RESIDUAL == 2:
        sums += tl.load(residual + rows, cache_modifier=".cg")
    tl.store(y + rows, sums)


# A program takes groups of ROWS rows; HEAD and TAIL units make a row, since tensors have powers of
# two. The first group's weights are asked for before the kernel before is done. Where AHEAD is set
# the next group's are on their way while this one's are multiplied; else Triton pipelines the loop
# in STAGES stages. EARLY: the kernel behind may start at once, or when the vector is prepared.
@triton.jit(do_not_specialize=["rows0", "rows1", "rows2"])
def products(w0, w1, w2, y0, y1, y2, x, other, residual, rows0, rows1, rows2, eps,
             KIND: tl.constexpr, COLS: tl.constexpr, HEAD: tl.constexpr, TAIL: tl.constexpr,
             INPUT: tl.constexpr, RESIDUAL: tl.constexpr, ROWS: tl.constexpr,
             PER_SM: tl.constexpr, AHEAD: tl.constexpr, STAGES: tl.constexpr,
             EARLY: tl.constexpr):
    tl.static_assert(32 * (HEAD + TAIL) == COLS)
    tl.static_assert(INPUT != 2 or TAIL == 0)
    if EARLY:
        gdc_launch_dependents()
    group = tl.program_id(0)
    programs = tl.num_programs(0)
    groups = (rows0 + rows1 + rows2) // ROWS
    w, y, rows = place(group, w0, w1, w2, y0, y1, y2, rows0, rows1, ROWS)
    if AHEAD:
        head = ask_rows(w, rows, True, 0, HEAD, COLS, KIND)
        if TAIL > 0:
            tail = ask_rows(w, rows, True, HEAD, TAIL, COLS, KIND)
    if INPUT == 2:
        weights_low = load_half(other, 0, HEAD, 0)
        weights_high = load_half(other, 0, HEAD, 1)
        gdc_wait()
        x_head = normed(load_half(x, 0, HEAD, 0), load_half(x, 0, HEAD, 1), weights_low,
                        weights_high, eps, HEAD, KIND)
    else:
        gdc_wait()
        x_head = vector(x, other, 0, HEAD, INPUT, KIND)
    if TAIL > 0:
        x_tail = vector(x, other, HEAD, TAIL, INPUT, KIND)
    if not EARLY:
        gdc_launch_dependents()
    if PER_SM == 0:
        sums = dot(head, x_head, KIND)
        if TAIL > 0:
            sums += dot(tail, x_tail, KIND)
        put(y, rows, sums, residual, RESIDUAL)
    elif AHEAD:
        for g in tl.range(group, groups, programs, num_stages=1):
            next_w, next_y, next_rows = place(g + programs, w0, w1, w2, y0, y1, y2, rows0, rows1,
                                              ROWS)
            more = g + programs < groups
            next_head = ask_rows(next_w, next_rows, more, 0, HEAD, COLS, KIND)
            sums = dot(head, x_head, KIND)
            if TAIL > 0:
                next_tail = ask_rows(next_w, next_rows, more, HEAD, TAIL, COLS, KIND)
                sums += dot(tail, x_tail, KIND)
                tail = next_tail
            put(y, rows, sums, residual, RESIDUAL)
            head = next_head
            y, rows = next_y, next_rows
    else:
        for g in tl.range(group, groups, programs, num_stages=STAGES):
            w, y, rows = place(g, w0, w1, w2, y0, y1, y2, rows0, rows1, ROWS)
            sums = dot(ask_rows(w, rows, True, 0, HEAD, COLS, KIND), x_head, KIND)
            if TAIL > 0:
                sums += dot(ask_rows(w, rows, True, HEAD, TAIL, COLS, KIND), x_tail, KIND)
            put(y, rows, sums, residual, RESIDUAL)


PARAMETERS = {**dict.fromkeys(["w0", "w1", "w2"], "*u8"),
              **dict.fromkeys(["y0", "y1", "y2", "x", "other", "residual"], "*fp32"),
              **dict.fromkeys(["rows0", "rows1", "rows2"], "i32"), "eps": "fp32"}
KNOBS = ["ROWS", "PER_SM", "AHEAD", "STAGES", "EARLY"]  # and the number of warps


def constants_of(shape, chosen):
    kind, cols, make, residual, _ = SHAPES[shape]
    units = cols // 32
    head = 1 << (units.bit_length() - 1)
    return {"KIND": KINDS[kind], "COLS": cols, "HEAD": head, "TAIL": units - head, "INPUT": make,
            "RESIDUAL": residual, **{knob: chosen[knob] for knob in KNOBS}}


def name_of(chosen):
    way = "ahead" if chosen["AHEAD"] else f"stages {chosen['STAGES']}"
    per_sm = f"{chosen['PER_SM']} per SM" if chosen["PER_SM"] else "all groups"
    consumers = "" if chosen["EARLY"] else ", consumers late"
    return f"rows {chosen['ROWS']}, warps {chosen['warps']}, {per_sm}, {way}{consumers}"


def write_ptx(way, shape, chosen):
    """Symbol, row of the header's table, and how many scratch pointers the kernel has."""
    kind, cols, make, residual, tuned_with = SHAPES[shape]
    ptx, shared, scratch = compiled(products, PARAMETERS, constants_of(shape, chosen),
                                    chosen["warps"], chosen["STAGES"])
    assert shared <= 32 * 1024, f"{shape} needs {shared} bytes of shared memory"
    symbol, sha256 = SCRIPT.write_ptx(f"{way}_{shape}", ptx,
                                      f"{way}, {shape}: {name_of(chosen)}")
    numbers = [cols, make, residual, sum(tuned_with), chosen["ROWS"], chosen["PER_SM"],
               32 * chosen["warps"], shared]
    row = (f"    {{{symbol},\n     \"{sha256}\",\n"
           f"     Type::{kind}, {', '.join(map(str, numbers))}}},")
    return symbol, row, scratch


HEADER = """\
{head}// Launch data of the kernels in the PTX files beside this header. For .cu files alone.
#pragma once

#include "kernels/products/op.h"

{symbols}

namespace steady::cuda {{

// Parameters: three matrices, three outputs, x, norm or up, residual (pointers); rows of the
// matrices (int); eps (float); then pointers that Triton adds, for what these kernels do not use.
constexpr int kTritonScratch = {scratch};

struct TritonProducts {{
    const char* ptx;
    const char* sha256;  // of the file, so that a hash of this header's code tells its kernels too
    Type type;
    int cols, input, residual;  // as in ProductsShape
    int tuned_rows;             // of all matrices
    int rows;                   // of a group
    int per_multiprocessor;     // programs; 0: one for each group
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
    for way in ["autotuner", "chained"]:
        tables += f"constexpr TritonProducts kTriton{way.capitalize()}[] = {{\n"
        for shape, chosen in choice[way].items():
            symbol, row, pointers = write_ptx(way, shape, chosen)
            symbols.append(f'extern "C" const char {symbol}[];')
            scratch.add(pointers)
            tables += row + "\n"
        tables += "};\n"
    assert len(scratch) == 1, scratch
    SCRIPT.header.write_text(HEADER.format(
        head=SCRIPT.head(["clang-format off"]), symbols="\n".join(symbols),
        scratch=scratch.pop(), tables=tables))


if __name__ == "__main__":
    generate()
