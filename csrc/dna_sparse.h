// The folded DNA attention of rows in the standard layout, where the channels of a head fill whole cache lines.
//
// Dropout takes most of the weights. Here a head is read by itself, so what dropout has taken is left out: with p = 0.8
// four fifths of the weighted sums of forward and of their gradients, and in backward all of a head that has no weight
// left. Forward keeps the weights for backward, in CSR order, and marks those that take part by their sign. Besides the
// ones that dropout left these are weights of zero and NaN, so that NaN in a row reaches the output without fail.
#pragma once

#include <cstring>

#include "dna_attention.h"
#include "part.h"

namespace jj {
namespace JJ_ISA {

// A row that is multiplied by many: in registers where its size is known.
template <class S, int Size>
struct Row {
    Part<S> v[Size / kPart<S>];
    JJ_INLINE explicit Row(const S* p) {
        for (int i = 0; i < Size / kPart<S>; ++i) v[i] = load_part(p + i * kPart<S>);
    }
    JJ_INLINE Part<S> get(int64_t i) const { return v[i / kPart<S>]; }
};
template <class S>
struct Row<S, 0> {
    const S* p;
    JJ_INLINE explicit Row(const S* p_) : p(p_) {}
    JJ_INLINE Part<S> get(int64_t i) const { return load_part(p + i); }
};

// a . b lane by lane over C channels from `at` on.
template <class S, int C, class A>
JJ_INLINE Part<S> multiply(const A& a, const S* b, int64_t at, int64_t channels) {
    const int64_t n = C ? C : channels;
    Part<S> sum = a.get(at) * load_part(b + at);
    for (int64_t i = at + kPart<S>; i < at + n; i += kPart<S>) sum += a.get(i) * load_part(b + i);
    return sum;
}

// Bit l: the sign of lane l.
template <class S, class V>
JJ_INLINE uint32_t signs(V v) {
    constexpr int lanes = sizeof(V) / sizeof(S);
#if defined(__AVX512DQ__)
    if constexpr (sizeof(V) == 64 && sizeof(S) == 4) return _mm512_movepi32_mask((__m512i)v);
    if constexpr (sizeof(V) == 64 && sizeof(S) == 8) return _mm512_movepi64_mask((__m512i)v);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32 && sizeof(S) == 4) return _mm256_movemask_ps((__m256)v);
    if constexpr (sizeof(V) == 32 && sizeof(S) == 8) return _mm256_movemask_pd((__m256d)v);
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(V) == 16 && sizeof(S) == 4) return _mm_movemask_ps((__m128)v);
    if constexpr (sizeof(V) == 16 && sizeof(S) == 8) return _mm_movemask_pd((__m128d)v);
#endif
    uint32_t bits = 0;
    for (int l = 0; l < lanes; ++l) bits |= static_cast<uint32_t>(__builtin_signbit(v[l]) != 0) << l;
    return bits;
}

// Appends base + l for each bit l of the W in `bits`. May write W entries beyond the end.
template <class S>
JJ_INLINE void append(uint32_t* list, int64_t& n, uint32_t base, uint32_t bits) {
#if defined(__AVX512DQ__)
    if constexpr (kLanes<S> == 16) {
        const auto lanes = lane_numbers<float>(std::make_integer_sequence<int, 16>()) + base;
        _mm512_storeu_si512(list + n, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), (__m512i)lanes));
        n += __builtin_popcount(bits);
        return;
    }
#endif
    for (; bits; bits &= bits - 1) list[n++] = base + __builtin_ctz(bits);
}

// A tile of edges with the places of their rows, and the lists of what takes part in it.
template <class S, int H, int C>
struct SparseTile : Tile<S> {
    using Tile<S>::W;
    int64_t heads, channels, head, shift;
    uint32_t valid;      // lanes of a vector that are heads
    const S** rows;      // [T, edges]
    uint32_t *list, *any;
    int64_t listed = 0, listed_any = 0;

    JJ_INLINE SparseTile(const Dna<S>& a, S* scratch) : Tile<S>(a, scratch, H ? H : a.layout.padded) {
        heads = H ? H : a.layout.heads;
        channels = C ? C : a.layout.channels;
        shift = __builtin_ctzll(this->width);
        S* next = scratch + kTileScratch<S>(this->steps);
        rows = reinterpret_cast<const S**>(next);
        list = reinterpret_cast<uint32_t*>(next + this->steps * this->kLongest);
        any = list + (this->steps + 1) * this->kLongest;
    }
    // Heads from `first` on are at work.
    JJ_INLINE void begin(int64_t first) {
        head = first;
        valid = 0;
        for (int l = 0; l < W; ++l) valid |= static_cast<uint32_t>(head + l % this->width < heads) << l;
        listed = listed_any = 0;
    }
    // Lanes of the vector at lane i that are heads of the first `count` edges.
    JJ_INLINE uint32_t valid_from(int64_t i, int64_t count) const {
        const int64_t left = count * this->width - i;
        return left < W ? valid & ((1u << left) - 1) : valid;
    }
    JJ_INLINE int64_t at_head(int64_t h) const { return h * (C ? C : channels); }
    JJ_INLINE int64_t offset(uint32_t lane) const { return at_head(head + (lane & (this->width - 1))); }
    JJ_INLINE const S* row(uint32_t lane) const { return rows[lane >> shift] + offset(lane); }
    // Numbers of the edges from e on, heads at work, from or to [E, T, P].
    JJ_INLINE void read(const S* all, S* to, int64_t e, int64_t count) const {
        for (int64_t i = 0; i < count; ++i)
            for (int64_t t = 0; t < this->steps; ++t)
                std::memcpy(this->at(to, t, i), all + place(e + i, t), this->width * sizeof(S));
    }
    JJ_INLINE void write(S* from, S* all, int64_t e, int64_t count) const {
        for (int64_t i = 0; i < count; ++i)
            for (int64_t t = 0; t < this->steps; ++t)
                std::memcpy(all + place(e + i, t), this->at(from, t, i), this->width * sizeof(S));
    }
    JJ_INLINE int64_t place(int64_t e, int64_t t) const { return (e * this->steps + t) * this->padded + head; }
    JJ_INLINE void find_rows(const Dna<S>& a, int64_t begin, int64_t count) const {
        for (int64_t i = 0; i < count; ++i) {
            const int64_t source = a.graph.col[begin + i];
            for (int64_t t = 0; t < this->steps; ++t) rows[t * this->edges + i] = a.key[t] + source * a.key_stride[t];
        }
    }
};

template <class S>
JJ_INLINE void clear_heads(S* to, int64_t padded) {
    for (int64_t i = 0; i < padded; i += kLanes<S>) store_first<kLanes<S>>(to + i, Vec<S>{}, padded);
}

// to += c x over the channels of a head.
template <class S, int C>
JJ_INLINE void add_scaled(S* to, S c, const S* x, int64_t channels) {
    const int64_t n = C ? C : channels;
    for (int64_t i = 0; i < n; i += kLanes<S>) store(to + i, load(to + i) + c * load(x + i));
}

// The scores of one row of a head block, from `head` on.
template <class S, int H, int C>
JJ_INLINE void sparse_scores(const SparseTile<S, H, C>& tile, const Row<S, H * C>& q, const S* x, const S* bias,
                             S scale, S* to) {
    constexpr int L = kPart<S>;
    for (int64_t first = 0; first < tile.width; first += L) {
        const int64_t head = tile.head + first, left = tile.heads - head;
        Part<S> v[L];
        if (left >= L) {
            for (int l = 0; l < L; ++l) v[l] = multiply<S, C>(q, x, tile.at_head(head + l), tile.channels);
            store_part(to + first, (sum_each<S>(v) + load_part(bias + head)) * scale);
            continue;
        }
        for (int l = 0; l < L; ++l)
            v[l] = l < left ? multiply<S, C>(q, x, tile.at_head(head + l), tile.channels) : Part<S>{};
        const Part<S> sums = sum_each<S>(v);
        for (int64_t l = 0; l < L && first + l < tile.width; ++l) to[first + l] = (sums[l] + bias[head + l]) * scale;
    }
}

// Scores become the weights of the messages, whose sum per lane is returned, and lists what takes part.
template <class S, int H, int C>
JJ_INLINE Vec<S> sparse_weights(const Dna<S>& a, SparseTile<S, H, C>& tile, int64_t e, int64_t count) {
    using Bits = typename Types<S>::Bits;
    constexpr int W = kLanes<S>;
    const auto words = head_words<S>(tile.head, tile.padded);
    const uint32_t threshold = a.dropout.threshold;
    const S factor = a.dropout.factor;
    const int64_t end = tile.fill(count), T = tile.steps;
    for (int64_t i = 0; i < end; i += W) store(tile.inverse + i, restricted_softmax(tile, i));
    Vec<S> total = {};
    for (int64_t i = 0; i < end; i += W) {
        const Vec<S> inverse = load(tile.inverse + i), weight = load(tile.weight + i) * factor;
        const uint32_t valid = tile.valid_from(i, count);
        for (int64_t t = 0; t < T; ++t) {
            S* p = tile.score + t * tile.lanes + i;
            const Vec<S> probability = load(p) * inverse;
            Mask<S> taken = ~(probability > S(0));
            taken |= threshold ? keep_lanes<S>(words, load_words<S>(tile.key + i), t, threshold) : ~Mask<S>{};
            const Vec<S> c = taken ? probability * weight : Vec<S>{};
            const Bits marked = (Bits)probability | ((Bits)taken & (Bits)splat<S>(-0.0));
            total += c;
            store(p, c);
            append<S>(tile.list, tile.listed, t * tile.lanes + i, signs<S>((Vec<S>)marked) & valid);
            store(tile.gradient + t * tile.lanes + i, (Vec<S>)marked);
        }
    }
    tile.write(tile.gradient, a.kept, e, count);
    return total;
}

// Sums the edges [first, last) of a row into `out` [d] and `total` [P].
template <class S, int H, int C>
static void sparse_forward_row(const Dna<S>& a, int64_t row, int64_t first, int64_t last, S* out, S* total,
                               S* scratch) {
    constexpr int W = kLanes<S>;
    SparseTile<S, H, C> tile(a, scratch);
    const int64_t P = tile.padded, T = a.steps, d = tile.heads * tile.channels;
    const int64_t bytes = d * static_cast<int64_t>(sizeof(S));
    const S scale = a.scale * S(kLog2e);
    const S* bias = a.bias + row * P;
    for (int64_t i = 0; i < d; i += W) store(out + i, Vec<S>{});
    clear_heads(total, P);

    for (int64_t begin = first; begin < last; begin += tile.edges) {
        const int64_t count = last - begin < tile.edges ? last - begin : tile.edges;
        tile.find_rows(a, begin, count);
        for (int64_t head = 0; head < P; head += W) {
            tile.begin(head);
            const Row<S, H * C> q(a.query + row * d);
            for (int64_t i = 0; i < count; ++i) {
                if (head == 0) {
                    tile.set_edge(a, i, begin + i);
                    if (begin + i + a.ahead < a.graph.edges) {
                        const int64_t next = a.graph.col[begin + i + a.ahead];
                        for (int64_t t = 0; t < T; ++t) prefetch(a.key[t] + next * a.key_stride[t], bytes);
                    }
                }
                for (int64_t t = 0; t < T; ++t)
                    sparse_scores<S, H, C>(tile, q, tile.rows[t * tile.edges + i], bias, scale,
                                           tile.at(tile.score, t, i));
            }
            const Vec<S> weights = sparse_weights(a, tile, begin, count);
            const Vec<S> before = load_heads(total + head, P);
            store_heads(total + head, before + sum_channels<S>(weights, P), a.layout, head);
            for (int64_t n = 0; n < tile.listed; ++n) {
                const uint32_t lane = tile.list[n];
                add_scaled<S, C>(out + tile.offset(lane), tile.score[lane], tile.row(lane), tile.channels);
            }
        }
    }
}

template <class S, int H, int C>
static void sparse_forward_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    const int64_t d = a.layout.heads * a.layout.channels;
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        return sparse_forward_row<S, H, C>(a, unit.row, unit.edge, unit.edge_end, sums, sums + d, scratch);
    }
    for (int64_t v = unit.row; v < unit.row_end; ++v) {
        const int64_t first = a.graph.rowptr[v], last = a.graph.rowptr[v + 1];
        sparse_forward_row<S, H, C>(a, v, first, last, a.out + v * d, a.total + v * a.layout.padded, scratch);
    }
}

// From the weights that forward kept and the gradients g of those that take part (tile.gradient, zero elsewhere) to
// scale * ds in tile.score (dna_gradient.h), whose sum per lane is returned.
template <class S, int H, int C>
JJ_INLINE Vec<S> sparse_score_gradients(const Dna<S>& a, const SparseTile<S, H, C>& tile, int64_t count) {
    constexpr int W = kLanes<S>;
    const S factor = a.dropout.factor, scale = a.scale;
    const int64_t end = (count * tile.width + W - 1) / W * W, lanes = tile.lanes;
    Vec<S> total = {};
    for (int64_t i = 0; i < end; i += W) {
        const Vec<S> outer = load(tile.weight + i) * scale;
        Vec<S> mean = {};
        for (int64_t t = 0; t < tile.steps; ++t) {
            S *score = tile.score + t * lanes + i, *g = tile.gradient + t * lanes + i;
            const Vec<S> marked = load(score), probability = marked < S(0) ? -marked : marked;
            const Vec<S> gradient = load(g) * factor;
            mean += probability * gradient;
            store(score, probability);
            store(g, gradient);
        }
        for (int64_t t = 0; t < tile.steps; ++t) {
            S* score = tile.score + t * lanes + i;
            const Vec<S> ds = load(score) * ((load(tile.gradient + t * lanes + i) - mean) * outer);
            total += ds;
            store(score, ds);
        }
    }
    return total;
}

// By target: dq = sum_e sum_t ds x over the edges [first, last) of a row into `dq` [d], their ds into `dbias` [P] and
// into grad_score.
template <class S, int H, int C>
static void sparse_target_row(const Dna<S>& a, int64_t row, int64_t first, int64_t last, S* dq, S* dbias, S* scratch) {
    constexpr int W = kLanes<S>, L = kPart<S>;
    SparseTile<S, H, C> tile(a, scratch);
    const int64_t P = tile.padded, T = a.steps, d = tile.heads * tile.channels, lanes = tile.lanes;
    const int64_t bytes = d * static_cast<int64_t>(sizeof(S));
    const Row<S, 0> dout(a.grad_out + row * d);
    const S* dtotal = a.grad_total + row * P;
    for (int64_t i = 0; i < d; i += W) store(dq + i, Vec<S>{});
    clear_heads(dbias, P);

    for (int64_t begin = first; begin < last; begin += tile.edges) {
        const int64_t count = last - begin < tile.edges ? last - begin : tile.edges;
        tile.find_rows(a, begin, count);
        for (int64_t head = 0; head < P; head += W) {
            tile.begin(head);
            for (int64_t i = 0; i < count; ++i) {
                const Vec<S> w = splat<S>(a.weight ? a.weight[begin + i] : S(1));
                store_first<W>(tile.weight + i * tile.width, w, tile.width);
                if (head == 0 && begin + i + a.ahead < a.graph.edges) {
                    const int64_t next = a.graph.col[begin + i + a.ahead];
                    for (int64_t t = 0; t < T; ++t) prefetch(a.key[t] + next * a.key_stride[t], bytes);
                }
            }
            tile.read(a.kept, tile.score, begin, count);
            tile.fill(count);
            for (int64_t i = 0; i < count * tile.width; i += W) {
                uint32_t any = 0;
                for (int64_t t = 0; t < T; ++t) {
                    const uint32_t taken = signs<S>(load(tile.score + t * lanes + i)) & tile.valid_from(i, count);
                    append<S>(tile.list, tile.listed, t * lanes + i, taken);
                    any |= taken;
                    store(tile.gradient + t * lanes + i, Vec<S>{});
                }
                append<S>(tile.any, tile.listed_any, i, any);
            }
            for (int l = 0; l < L && tile.listed; ++l) tile.list[tile.listed + l] = tile.list[tile.listed - 1];
            for (int64_t n = 0; n < tile.listed; n += L) {
                Part<S> v[L];
                for (int l = 0; l < L; ++l) {
                    const uint32_t lane = tile.list[n + l];
                    v[l] = multiply<S, C>(dout, tile.rows[lane >> tile.shift], tile.offset(lane), tile.channels);
                }
                const Part<S> sums = sum_each<S>(v);
                for (int l = 0; l < L; ++l) {
                    const uint32_t lane = tile.list[n + l];
                    tile.gradient[lane] = sums[l] + dtotal[head + (lane & (tile.width - 1))];
                }
            }
            const Vec<S> dscores = sparse_score_gradients(a, tile, count);
            store_heads(dbias + head, load_heads(dbias + head, P) + sum_channels<S>(dscores, P), a.layout, head);
            tile.write(tile.score, a.grad_score, begin, count);
            for (int64_t n = 0; n < tile.listed_any; ++n) {
                const uint32_t lane = tile.any[n];
                const int64_t offset = tile.offset(lane);
                const S* const* x = tile.rows + (lane >> tile.shift);
                const S* ds = tile.score + lane;
                for (int64_t c = 0; c < (C ? C : tile.channels); c += W) {
                    Vec<S> sum = load(dq + offset + c);
                    for (int64_t t = 0; t < T; ++t) sum += ds[t * lanes] * load(x[t * tile.edges] + offset + c);
                    store(dq + offset + c, sum);
                }
            }
        }
    }
}

template <class S, int H, int C>
static void sparse_target_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    const int64_t d = a.layout.heads * a.layout.channels, P = a.layout.padded;
    if (unit.partial >= 0) {
        S* sums = a.partials + unit.partial * a.partial_size;
        return sparse_target_row<S, H, C>(a, unit.row, unit.edge, unit.edge_end, sums, sums + d, scratch);
    }
    for (int64_t v = unit.row; v < unit.row_end; ++v) {
        const int64_t first = a.graph.rowptr[v], last = a.graph.rowptr[v + 1];
        if (last - first > kChunkEdges) continue;  // done before, in pieces
        S *dq = a.grad_query + (v - a.grad_first) * d, *dbias = a.grad_bias + (v - a.grad_first) * P;
        sparse_target_row<S, H, C>(a, v, first, last, dq, dbias, scratch);
    }
}

// By source: dx_t = sum_e ds_t q + weight * dropout(a_t) dout over the outgoing edges [first, last), into T rows,
// the first `cleared` of which start from zero. weights: [T, part] scratch.
template <class S, int H, int C>
static void sparse_source_row(const Dna<S>& a, int64_t first, int64_t last, S* const* dx, int64_t cleared, S* weights) {
    constexpr int W = kLanes<S>, L = kPart<S>;
    const int64_t heads = H ? H : a.layout.heads, P = H ? H : a.layout.padded, T = a.steps;
    const int64_t channels = C ? C : a.layout.channels, d = heads * channels;
    for (int64_t t = 0; t < cleared; ++t)
        for (int64_t i = 0; i < d; i += W) store(dx[t] + i, Vec<S>{});
    for (int64_t i = first; i < last; ++i) {
        const int64_t target = a.graph.row[i], e = a.graph.position[i];
        if (i + a.ahead_back < a.graph.edges) {
            const int64_t next = a.graph.position[i + a.ahead_back];
            prefetch(a.kept + next * T * P, T * P * static_cast<int64_t>(sizeof(S)));
            prefetch(a.grad_score + next * T * P, T * P * static_cast<int64_t>(sizeof(S)));
        }
        if (i + a.ahead < a.graph.edges) {
            const int64_t next = a.graph.row[i + a.ahead];
            prefetch(a.query + next * d, d * static_cast<int64_t>(sizeof(S)));
            prefetch(a.grad_out + next * d, d * static_cast<int64_t>(sizeof(S)));
        }
        const S *q = a.query + target * d, *dout = a.grad_out + target * d;
        const S factor = (a.weight ? a.weight[e] : S(1)) * a.dropout.factor;
        for (int64_t head = 0; head < heads; head += L) {
            const S *kept = a.kept + e * T * P + head, *ds = a.grad_score + e * T * P + head;
            uint32_t any = 0;
            for (int64_t t = 0; t < T; ++t) {
                const Part<S> marked = load_part(kept + t * P);
                any |= signs<S>(marked);
                store_part(weights + t * L, (marked < S(0) ? -marked : Part<S>{}) * factor);
            }
            if (heads - head < L) any &= (1u << (heads - head)) - 1;
            for (; any; any &= any - 1) {
                const int64_t l = __builtin_ctz(any), at = (head + l) * channels;
                for (int64_t c = at; c < at + channels; c += W) {
                    const Vec<S> x = load(q + c), y = load(dout + c);
                    for (int64_t t = 0; t < T; ++t)
                        store(dx[t] + c, load(dx[t] + c) + ds[t * P + l] * x + weights[t * L + l] * y);
                }
            }
        }
    }
}

template <class S, int H, int C>
static void sparse_source_unit(const Dna<S>& a, const Unit& unit, S* scratch) {
    const int64_t T = a.steps, d = a.layout.heads * a.layout.channels;
    S** to = reinterpret_cast<S**>(scratch);
    S* weights = scratch + T * Tile<S>::kLongest;
    if (unit.partial >= 0) {
        for (int64_t t = 0; t < T; ++t) to[t] = a.partials + unit.partial * a.partial_size + t * d;
        return sparse_source_row<S, H, C>(a, unit.edge, unit.edge_end, to, T, weights);
    }
    for (int64_t w = unit.row; w < unit.row_end; ++w) {
        for (int64_t t = 0; t < T; ++t) to[t] = a.grad_key[t] + w * a.grad_key_stride[t];
        sparse_source_row<S, H, C>(a, a.graph.colptr[w], a.graph.colptr[w + 1], to, T - a.accumulate, weights);
    }
}

// Calls f with heads and channels a head where they are the most common ones, 0 for any other.
template <class S, class F>
JJ_INLINE void with_heads(const Layout& layout, F f) {
    constexpr int line = 64 / static_cast<int>(sizeof(S));
    if (layout.heads == 8 && layout.channels == line) return f(Int<8>(), Int<line>());
    if (layout.channels == line) return f(Int<0>(), Int<line>());
    f(Int<0>(), Int<0>());
}

template <class S>
static void sparse_forward(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_heads<S>(a.layout, [&](auto h, auto c) { sparse_forward_unit<S, h.value, c.value>(a, unit, scratch); });
}
template <class S>
static void sparse_target(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_heads<S>(a.layout, [&](auto h, auto c) { sparse_target_unit<S, h.value, c.value>(a, unit, scratch); });
}
template <class S>
static void sparse_source(const Dna<S>& a, const Unit& unit, S* scratch) {
    with_heads<S>(a.layout, [&](auto h, auto c) { sparse_source_unit<S, h.value, c.value>(a, unit, scratch); });
}

}  // namespace JJ_ISA
}  // namespace jj
