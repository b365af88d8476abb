"""What the kernels in Triton share: weights in the planes of kernels/layouts/planes.h, vectors in
bytes, and their products by dp4a.

KIND is 4, 5 or 6, for Q4_0, Q5_K and Q6_K. Weights of rows r and units u (32 values of a row) are
asked for with r and u as tensors of two dimensions, one of which may be 1.
"""
import triton
import triton.language as tl


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


# What the weights' zero point takes off the products of some words: 8 or 32 times their bytes. For
# Q5_K, whose units have minima of their own, the sum of the bytes.
@triton.jit
def zero_of(x, KIND: tl.constexpr, UNITS: tl.constexpr):
    ones: tl.constexpr = -0x07070708 if KIND == 4 else 0x01010101 if KIND == 5 else -0x1F1F1F20
    return dp4a(x, tl.full((UNITS, 4), ones, tl.int32), tl.zeros((UNITS, 4), tl.int32))


# A vector as bytes: the words of both halves of each unit, their zero_of, and the units' scales.
@triton.jit
def as_bytes(low, high, KIND: tl.constexpr, UNITS: tl.constexpr):
    most = tl.max(tl.max(tl.maximum(tl.abs(low), tl.abs(high)), axis=2), axis=1)
    inverse = tl.where(most > 0.0, 127.0 / most, 0.0)
    x_low = words(low, inverse)
    x_high = words(high, inverse)
    return (x_low, x_high, zero_of(x_low, KIND, UNITS), zero_of(x_high, KIND, UNITS),
            most * (1.0 / 127.0))


# A whole vector, normed, as bytes.
@triton.jit
def normed(low, high, weights_low, weights_high, eps, UNITS: tl.constexpr, KIND: tl.constexpr):
    squares = tl.sum(tl.sum(tl.sum(low * low + high * high, axis=2), axis=1), axis=0)
    factor = tl.rsqrt(squares / (32 * UNITS) + eps)
    return as_bytes(low * factor * weights_low, high * factor * weights_high, KIND, UNITS)


@triton.jit
def gated(gate, up):
    return gate / (1.0 + tl.exp(-gate)) * up


# Where a chunk of eight rows begins, in elements of SIZE bytes.
@triton.jit
def of_chunk(r, SIZE: tl.constexpr, COLS: tl.constexpr, BYTES: tl.constexpr,
             OF_EIGHT: tl.constexpr):
    U: tl.constexpr = COLS // 32
    return (r // 8) * ((8 * U * BYTES + U * OF_EIGHT) // SIZE)


# A part of SIZE bytes per unit that lies BEFORE bytes per unit behind the chunk's begin.
@triton.jit
def load_part(w, r, u, more, TYPE: tl.constexpr, SIZE: tl.constexpr, BEFORE: tl.constexpr,
              COLS: tl.constexpr, BYTES: tl.constexpr, OF_EIGHT: tl.constexpr):
    U: tl.constexpr = COLS // 32
    at = of_chunk(r, SIZE, COLS, BYTES, OF_EIGHT) + 8 * U * BEFORE // SIZE + (r % 8) * U + u
    return tl.load(w.to(tl.pointer_type(TYPE)) + at, mask=more, other=0,
                   eviction_policy="evict_first")


# The nibbles, 16 bytes per unit at the chunk's begin, [r][u][4].
@triton.jit
def load_nibbles(w, r, u, more, COLS: tl.constexpr, BYTES: tl.constexpr, OF_EIGHT: tl.constexpr):
    row = r[:, :, None]
    at = of_chunk(row, 4, COLS, BYTES, OF_EIGHT) + (row % 8) * (COLS // 32 * 4) + u[:, :, None] * 4
    at = at + tl.arange(0, 4)[None, None, :]
    return tl.load(w.to(tl.pointer_type(tl.int32)) + at, mask=more, other=0,
                   eviction_policy="evict_first")


# What eight units share, behind all of a chunk's units.
@triton.jit
def load_of_eight(w, r, u, more, TYPE: tl.constexpr, COLS: tl.constexpr, BYTES: tl.constexpr,
                  OF_EIGHT: tl.constexpr):
    U: tl.constexpr = COLS // 32
    at = of_chunk(r, OF_EIGHT, COLS, BYTES, OF_EIGHT) + 8 * U * BYTES // OF_EIGHT
    at = at + (r % 8) * (U // 8) + u // 8
    return tl.load(w.to(tl.pointer_type(TYPE)) + at, mask=more, other=0,
                   eviction_policy="evict_first")


# Weights, asked for: nibbles, scales, and what Q5_K and Q6_K have besides.
@triton.jit
def ask(w, r, u, more, COLS: tl.constexpr, KIND: tl.constexpr):
    if KIND == 6:
        q = load_nibbles(w, r, u, more, COLS, 26, 2)
        upper = load_part(w, r, u, more, tl.int64, 8, 16, COLS, 26, 2)
        both = load_part(w, r, u, more, tl.int16, 2, 24, COLS, 26, 2)
        d = load_of_eight(w, r, u, more, tl.float16, COLS, 26, 2)
    elif KIND == 5:
        q = load_nibbles(w, r, u, more, COLS, 22, 4)
        upper = load_part(w, r, u, more, tl.int32, 4, 16, COLS, 22, 4)
        both = load_part(w, r, u, more, tl.int16, 2, 20, COLS, 22, 4)
        d = load_of_eight(w, r, u, more, tl.int32, COLS, 22, 4)
    else:
        q = load_nibbles(w, r, u, more, COLS, 18, 0)
        d = load_part(w, r, u, more, tl.float16, 2, 16, COLS, 18, 0)
        upper = d
        both = d
    return q, d, upper, both


# The same for units FIRST … of rows.
@triton.jit
def ask_rows(w, rows, more, FIRST: tl.constexpr, UNITS: tl.constexpr, COLS: tl.constexpr,
             KIND: tl.constexpr):
    return ask(w, rows[:, None], FIRST + tl.arange(0, UNITS)[None, :], more, COLS, KIND)


# Upper bits of four words: pairs of Q6_K, single ones of Q5_K.
@triton.jit
def pairs(word):
    shifted = word[:, :, None] >> (2 * tl.arange(0, 4))[None, None, :]
    return (shifted & 0x03030303) << 4


@triton.jit
def fifths(word, FIRST: tl.constexpr):
    shifted = word[:, :, None] >> (FIRST + tl.arange(0, 4))[None, None, :]
    return (shifted & 0x01010101) << 4


@triton.jit
def half_of(word):
    return word.to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32)


# Sums of the rows' products with the vector.
@triton.jit
def dot(weights, x, KIND: tl.constexpr):
    q, d, upper, both = weights
    x_low, x_high, zero_low, zero_high, scale = x
    low = q & 0x0F0F0F0F
    high = (q >> 4) & 0x0F0F0F0F
    if KIND == 6:
        low = low | pairs(upper.to(tl.int32))
        high = high | pairs((upper >> 32).to(tl.int32))
        a = tl.sum(dp4a(low, x_low[None, :, :], zero_low[None, :, :]), axis=2)
        b = tl.sum(dp4a(high, x_high[None, :, :], zero_high[None, :, :]), axis=2)
        wide = both.to(tl.int32)
        sums = ((wide << 24) >> 24) * a + (wide >> 8) * b
        values = sums.to(tl.float32) * d.to(tl.float32) * scale[None, :]
    elif KIND == 5:
        low = low | fifths(upper, 0)
        high = high | fifths(upper, 4)
        a = tl.sum(dp4a(high, x_high[None, :, :], dp4a(low, x_low[None, :, :], tl.zeros_like(q))),
                   axis=2)
        of_bytes = tl.sum(zero_low + zero_high, axis=1)
        wide = both.to(tl.int32)
        up = half_of(d) * (wide & 255).to(tl.float32) * a.to(tl.float32)
        off = half_of(d >> 16) * ((wide >> 8) & 255).to(tl.float32)
        values = (up - off * of_bytes.to(tl.float32)[None, :]) * scale[None, :]
    else:
        first = dp4a(low, x_low[None, :, :], zero_low[None, :, :] + zero_high[None, :, :])
        sums = tl.sum(dp4a(high, x_high[None, :, :], first), axis=2)
        values = sums.to(tl.float32) * d.to(tl.float32) * scale[None, :]
    return tl.sum(values, axis=1)
