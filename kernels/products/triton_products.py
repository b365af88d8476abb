#!/usr/bin/env python3
"""The joined products as a Triton kernel, for shapes of GLM-4.7-Flash and DeepSeek-V2-Lite.

This script compiles what triton_products.json chooses, for sm_90a and without a GPU: a PTX file for
each choice and shape, and triton_products.h with their launch data. A program embeds the PTX and
loads it through the driver, so neither a build nor a run needs Triton. A test without a GPU,
tests/architecture/generated_test.cpp, fails when this script or the choice changed and the
generated files did not. As in kernel.cu, a vector is rounded to bytes and multiplied by dp4a.

    python3 kernels/products/triton_products.py
"""
import hashlib
import json
import os
import pathlib
import re

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

HERE = pathlib.Path(__file__).resolve().parent
CHOICE = HERE / "triton_products.json"
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


# Bytes times bytes, four at a time, added to a sum.
@triton.jit
def dp4a(a, b, c):
    return tl.inline_asm_elementwise("dp4a.s32.s32 $0, $1, $2, $3;", "=r,r,r,r", [a, b, c],
                                     dtype=tl.int32, is_pure=True, pack=1)


@triton.jit
def nearest(v):
    return tl.inline_asm_elementwise("cvt.rni.s32.f32 $0, $1;", "=r,f", [v], dtype=tl.int32,
                                     is_pure=True, pack=1)


# Half of each unit's 32 values, [UNITS][4][4]: HALF is 0 or 1.
@triton.jit
def load_half(p, FIRST: tl.constexpr, UNITS: tl.constexpr, HALF: tl.constexpr):
    u = FIRST + tl.arange(0, UNITS)[:, None, None]
    at = u * 32 + HALF * 16 + tl.arange(0, 4)[None, :, None] * 4 + tl.arange(0, 4)[None, None, :]
    return tl.load(p + at, cache_modifier=".cg")


# Four bytes to a word, [UNITS][4].
@triton.jit
def words(v, inverse):
    q = nearest(v * inverse[:, None, None]) & 255
    return tl.sum(q << (8 * tl.arange(0, 4))[None, None, :], axis=2)


# A vector as bytes: the words of both halves of each unit, what the weights' zero point takes off
# their products (32 or 8 times the bytes), and the units' scales.
@triton.jit
def as_bytes(low, high, Q6: tl.constexpr, UNITS: tl.constexpr):
    most = tl.max(tl.max(tl.maximum(tl.abs(low), tl.abs(high)), axis=2), axis=1)
    inverse = tl.where(most > 0.0, 127.0 / most, 0.0)
    x_low = words(low, inverse)
    x_high = words(high, inverse)
    zero = tl.full((UNITS, 4), -0x1F1F1F20 if Q6 else -0x07070708, tl.int32)
    none = tl.zeros((UNITS, 4), tl.int32)
    return x_low, x_high, dp4a(x_low, zero, none), dp4a(x_high, zero, none), most * (1.0 / 127.0)


# Units FIRST … of a vector that is read as it is, or gated.
@triton.jit
def vector(x, other, FIRST: tl.constexpr, UNITS: tl.constexpr, INPUT: tl.constexpr,
           Q6: tl.constexpr):
    low = load_half(x, FIRST, UNITS, 0)
    high = load_half(x, FIRST, UNITS, 1)
    if INPUT == 3:
        up_low = load_half(other, FIRST, UNITS, 0)
        up_high = load_half(other, FIRST, UNITS, 1)
        low = low / (1.0 + tl.exp(-low)) * up_low
        high = high / (1.0 + tl.exp(-high)) * up_high
    return as_bytes(low, high, Q6, UNITS)


# A normed vector; the norm's weights were asked for before.
@triton.jit
def normed(x, weights_low, weights_high, eps, UNITS: tl.constexpr, Q6: tl.constexpr):
    low = load_half(x, 0, UNITS, 0)
    high = load_half(x, 0, UNITS, 1)
    squares = tl.sum(tl.sum(tl.sum(low * low + high * high, axis=2), axis=1), axis=0)
    factor = tl.rsqrt(squares / (32 * UNITS) + eps)
    return as_bytes(low * factor * weights_low, high * factor * weights_high, Q6, UNITS)


# Where a chunk of eight rows begins in kernels/layouts/planes.h, in elements of SIZE bytes.
@triton.jit
def of_chunk(rows, SIZE: tl.constexpr, COLS: tl.constexpr, BYTES: tl.constexpr,
             OF_EIGHT: tl.constexpr):
    U: tl.constexpr = COLS // 32
    return (rows // 8) * ((8 * U * BYTES + U * OF_EIGHT) // SIZE)


@triton.jit
def load_nibbles(w, rows, more, FIRST: tl.constexpr, UNITS: tl.constexpr, COLS: tl.constexpr,
                 BYTES: tl.constexpr, OF_EIGHT: tl.constexpr):
    r = rows[:, None, None]
    u = FIRST + tl.arange(0, UNITS)[None, :, None]
    at = of_chunk(r, 4, COLS, BYTES, OF_EIGHT) + (r % 8) * (COLS // 32 * 4) + u * 4
    at = at + tl.arange(0, 4)[None, None, :]
    return tl.load(w.to(tl.pointer_type(tl.int32)) + at, mask=more, other=0,
                   eviction_policy="evict_first")


# A part of SIZE bytes per unit that lies BEFORE bytes per unit behind the chunk's begin.
@triton.jit
def load_part(w, rows, more, TYPE: tl.constexpr, SIZE: tl.constexpr, BEFORE: tl.constexpr,
              FIRST: tl.constexpr, UNITS: tl.constexpr, COLS: tl.constexpr, BYTES: tl.constexpr,
              OF_EIGHT: tl.constexpr):
    U: tl.constexpr = COLS // 32
    r = rows[:, None]
    u = FIRST + tl.arange(0, UNITS)[None, :]
    at = of_chunk(r, SIZE, COLS, BYTES, OF_EIGHT) + 8 * U * BEFORE // SIZE + (r % 8) * U + u
    return tl.load(w.to(tl.pointer_type(TYPE)) + at, mask=more, other=0,
                   eviction_policy="evict_first")


@triton.jit
def load_of_eight(w, rows, more, UNITS: tl.constexpr, COLS: tl.constexpr, BYTES: tl.constexpr):
    U: tl.constexpr = COLS // 32
    r = rows[:, None]
    u = tl.arange(0, UNITS)[None, :]
    at = of_chunk(r, 2, COLS, BYTES, 2) + 4 * U * BYTES + (r % 8) * (U // 8) + u // 8
    return tl.load(w.to(tl.pointer_type(tl.float16)) + at, mask=more, other=0.0,
                   eviction_policy="evict_first")


# A group's weights of units FIRST …, asked for: nibbles, scales, and what Q6_K has besides.
@triton.jit
def ask(w, rows, more, FIRST: tl.constexpr, UNITS: tl.constexpr, COLS: tl.constexpr,
        Q6: tl.constexpr):
    if Q6:
        q = load_nibbles(w, rows, more, FIRST, UNITS, COLS, 26, 2)
        upper = load_part(w, rows, more, tl.int64, 8, 16, FIRST, UNITS, COLS, 26, 2)
        both = load_part(w, rows, more, tl.int16, 2, 24, FIRST, UNITS, COLS, 26, 2)
        d = load_of_eight(w, rows, more, UNITS, COLS, 26)
    else:
        q = load_nibbles(w, rows, more, FIRST, UNITS, COLS, 18, 0)
        d = load_part(w, rows, more, tl.float16, 2, 16, FIRST, UNITS, COLS, 18, 0)
        upper = d
        both = d
    return q, d, upper, both


@triton.jit
def pairs(word):
    shifted = word[:, :, None] >> (2 * tl.arange(0, 4))[None, None, :]
    return (shifted & 0x03030303) << 4


# Sums of the rows' products with the vector.
@triton.jit
def dot(weights, x, Q6: tl.constexpr):
    q, d, upper, both = weights
    x_low, x_high, zero_low, zero_high, scale = x
    low = q & 0x0F0F0F0F
    high = (q >> 4) & 0x0F0F0F0F
    if Q6:
        low = low | pairs(upper.to(tl.int32))
        high = high | pairs((upper >> 32).to(tl.int32))
        a = tl.sum(dp4a(low, x_low[None, :, :], zero_low[None, :, :]), axis=2)
        b = tl.sum(dp4a(high, x_high[None, :, :], zero_high[None, :, :]), axis=2)
        wide = both.to(tl.int32)
        sums = ((wide << 24) >> 24) * a + (wide >> 8) * b
    else:
        first = dp4a(low, x_low[None, :, :], zero_low[None, :, :] + zero_high[None, :, :])
        sums = tl.sum(dp4a(high, x_high[None, :, :], first), axis=2)
    return tl.sum(sums.to(tl.float32) * d.to(tl.float32) * scale[None, :], axis=1)


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
             Q6: tl.constexpr, COLS: tl.constexpr, HEAD: tl.constexpr, TAIL: tl.constexpr,
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
        head = ask(w, rows, True, 0, HEAD, COLS, Q6)
        if TAIL > 0:
            tail = ask(w, rows, True, HEAD, TAIL, COLS, Q6)
    if INPUT == 2:
        weights_low = load_half(other, 0, HEAD, 0)
        weights_high = load_half(other, 0, HEAD, 1)
        gdc_wait()
        x_head = normed(x, weights_low, weights_high, eps, HEAD, Q6)
    else:
        gdc_wait()
        x_head = vector(x, other, 0, HEAD, INPUT, Q6)
    if TAIL > 0:
        x_tail = vector(x, other, HEAD, TAIL, INPUT, Q6)
    if not EARLY:
        gdc_launch_dependents()
    if PER_SM == 0:
        sums = dot(head, x_head, Q6)
        if TAIL > 0:
            sums += dot(tail, x_tail, Q6)
        put(y, rows, sums, residual, RESIDUAL)
    elif AHEAD:
        for g in tl.range(group, groups, programs, num_stages=1):
            next_w, next_y, next_rows = place(g + programs, w0, w1, w2, y0, y1, y2, rows0, rows1,
                                              ROWS)
            more = g + programs < groups
            next_head = ask(next_w, next_rows, more, 0, HEAD, COLS, Q6)
            sums = dot(head, x_head, Q6)
            if TAIL > 0:
                next_tail = ask(next_w, next_rows, more, HEAD, TAIL, COLS, Q6)
                sums += dot(tail, x_tail, Q6)
                tail = next_tail
            put(y, rows, sums, residual, RESIDUAL)
            head = next_head
            y, rows = next_y, next_rows
    else:
        for g in tl.range(group, groups, programs, num_stages=STAGES):
            w, y, rows = place(g, w0, w1, w2, y0, y1, y2, rows0, rows1, ROWS)
            sums = dot(ask(w, rows, True, 0, HEAD, COLS, Q6), x_head, Q6)
            if TAIL > 0:
                sums += dot(ask(w, rows, True, HEAD, TAIL, COLS, Q6), x_tail, Q6)
            put(y, rows, sums, residual, RESIDUAL)


POINTERS = ["w0", "w1", "w2", "y0", "y1", "y2", "x", "other", "residual"]
COUNTS = ["rows0", "rows1", "rows2"]
WAYS = ["autotuner", "chained"]  # to choose; triton_products_tune.py says how
KNOBS = ["ROWS", "PER_SM", "AHEAD", "STAGES", "EARLY"]  # and the number of warps


def constants_of(shape, chosen):
    kind, cols, make, residual, _ = SHAPES[shape]
    units = cols // 32
    head = 1 << (units.bit_length() - 1)
    return {"Q6": kind == "q6_k", "COLS": cols, "HEAD": head, "TAIL": units - head, "INPUT": make,
            "RESIDUAL": residual, **{knob: chosen[knob] for knob in KNOBS}}


def name_of(chosen):
    way = "ahead" if chosen["AHEAD"] else f"stages {chosen['STAGES']}"
    per_sm = f"{chosen['PER_SM']} per SM" if chosen["PER_SM"] else "all groups"
    consumers = "" if chosen["EARLY"] else ", consumers late"
    return f"rows {chosen['ROWS']}, warps {chosen['warps']}, {per_sm}, {way}{consumers}"


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def compiled(shape, chosen):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    constants = constants_of(shape, chosen)
    kinds = {"w": "*u8", "y": "*fp32"}
    signature = {name: kinds.get(name[0], "*fp32") for name in POINTERS}
    signature.update({name: "i32" for name in COUNTS}, eps="fp32")
    signature.update(dict.fromkeys(constants, "constexpr"))
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(len(POINTERS))}
    source = ASTSource(fn=products, signature=signature, constexprs=constants, attrs=aligned)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={
        "num_warps": chosen["warps"], "num_stages": chosen["STAGES"]})
    return made.asm["ptx"], made.metadata.shared


def scratch_pointers(ptx):
    """Pointers that Triton adds behind our parameters; we need none of what they are for."""
    entry = re.search(r"\.entry products\((.*?)\)", ptx, re.S).group(1)
    types = re.findall(r"\.param \.(\w+)", entry)
    ours = ["u64"] * len(POINTERS) + ["u32"] * len(COUNTS) + ["f32"]
    assert types[:len(ours)] == ours and set(types[len(ours):]) <= {"u64"}, types
    return len(types) - len(ours)


def generated_from():
    return ["Generated by `python3 kernels/products/triton_products.py`: do not edit.",
            f"script sha256 {sha256(pathlib.Path(__file__))}",
            f"choice sha256 {sha256(CHOICE)}"]


def commented(lines):
    return "".join(f"// {line}\n" for line in lines)


def write_ptx(way, shape, chosen):
    """Symbol, row of the header's table, and how many scratch pointers the kernel has."""
    kind, cols, make, residual, tuned_with = SHAPES[shape]
    ptx, shared = compiled(shape, chosen)
    assert shared <= 32 * 1024, f"{shape} needs {shared} bytes of shared memory"
    made_as = f"Triton {triton.__version__}, sm_90a, {way}, {shape}: {name_of(chosen)}"
    text = commented(generated_from() + [made_as]) + ptx.strip("\n") + "\n"
    stem = f"triton_{way}_{shape}"
    (HERE / f"{stem}.ptx").write_text(text)
    symbol = f"steady_products_{stem}"
    numbers = [cols, make, residual, sum(tuned_with), chosen["ROWS"], chosen["PER_SM"],
               32 * chosen["warps"], shared]
    row = (f"    {{{symbol},\n     \"{sha256(HERE / f'{stem}.ptx')}\",\n"
           f"     Type::{kind}, {', '.join(map(str, numbers))}}},")
    return symbol, row, scratch_pointers(ptx)


HEADER = """\
{head}// Launch data of the kernels in the PTX files beside this header. For .cu files alone.
#pragma once

#include "kernels/products/op.h"

// clang-format off
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
    for old in HERE.glob("triton_*.ptx"):
        old.unlink()
    choice = json.loads(CHOICE.read_text())
    symbols, tables, scratch = [], "", set()
    for way in WAYS:
        tables += f"constexpr TritonProducts kTriton{way.capitalize()}[] = {{\n"
        for shape, chosen in choice[way].items():
            symbol, row, pointers = write_ptx(way, shape, chosen)
            symbols.append(f'extern "C" const char {symbol}[];')
            scratch.add(pointers)
            tables += row + "\n"
        tables += "};\n"
    assert len(scratch) == 1, scratch
    (HERE / "triton_products.h").write_text(HEADER.format(
        head=commented(generated_from()), symbols="\n".join(symbols), scratch=scratch.pop(),
        tables=tables))


if __name__ == "__main__":
    generate()
