// The loops of loops.h, for the instruction set that the including source is
// compiled for. It defines MANSARD_LOOPS, MANSARD_LOOPS_NAME and
// MANSARD_VECTOR_BYTES first. No function of another header is called: compiled
// for this instruction set it might serve the whole program.
#include "calibrate/cpu/loops.h"

namespace mansard::calibrate {
// Every source that includes this is one of an instruction set.
namespace {  // NOLINT(google-build-namespaces)

// Unaligned loads: `aligned` is that of an element.
typedef float Vector __attribute__((vector_size(MANSARD_VECTOR_BYTES)));
typedef float Unaligned
    __attribute__((vector_size(MANSARD_VECTOR_BYTES), aligned(4)));
constexpr size_t kWidth = MANSARD_VECTOR_BYTES / sizeof(float);
constexpr int kChains = 10;

inline Vector Load(const float* from) {
  return *reinterpret_cast<const Unaligned*>(from);
}
inline void Store(Vector value, float* to) {
  *reinterpret_cast<Unaligned*>(to) = value;
}
inline float Sum(Vector value) {
  float sum = 0;
  for (size_t i = 0; i < kWidth; ++i) sum += value[i];
  return sum;
}
inline Vector All(float value) { return Vector{} + value; }

typedef int32_t Integers __attribute__((vector_size(MANSARD_VECTOR_BYTES)));

// exp to about 2e-7, arguments cut to what fp32 holds.
inline Vector Exp(Vector x) {
  const Vector low = All(-87.0f);
  const Vector high = All(88.0f);
  x = x < low ? low : x;
  x = x > high ? high : x;
  // The nearest whole number, by the rounding of a large sum.
  const Vector magic = All(12582912.0f);
  Vector whole = x * 1.44269504088896341f + magic;
  const Integers exponent = reinterpret_cast<Integers>(whole) << 23;
  whole = whole - magic;
  Vector r = x - whole * 0.693359375f;
  r = r + whole * 2.12194440e-4f;
  Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return reinterpret_cast<Vector>(reinterpret_cast<Integers>(p) + exponent);
}

// The rest of a row that fills no vector, in one padded with `fill`.
inline Vector LoadRest(const float* from, size_t rest, float fill) {
  Vector value = All(fill);
  for (size_t i = 0; i < rest; ++i) value[i] = from[i];
  return value;
}
inline void StoreRest(Vector value, float* to, size_t rest) {
  for (size_t i = 0; i < rest; ++i) to[i] = value[i];
}

void Copy(const float* from, float* to, size_t count) {
  size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) Store(Load(from + i), to + i);
  for (; i < count; ++i) to[i] = from[i];
}

void Triad(const float* a, const float* b, float scale, float* to,
           size_t count) {
  size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Store(Load(a + i) + Load(b + i) * scale, to + i);
  }
  for (; i < count; ++i) to[i] = a[i] + b[i] * scale;
}

float Read(const float* from, size_t count) {
  Vector sums[8] = {};
  size_t i = 0;
  for (; i + 8 * kWidth <= count; i += 8 * kWidth) {
    for (size_t j = 0; j < 8; ++j) sums[j] += Load(from + i + j * kWidth);
  }
  float rest = 0;
  for (; i < count; ++i) rest += from[i];
  for (size_t j = 1; j < 8; ++j) sums[0] += sums[j];
  return Sum(sums[0]) + rest;
}

float MultiplyAdd(int64_t steps, float factor, float term) {
  const Vector by = All(factor);
  const Vector plus = All(term);
  Vector x0 = All(1), x1 = x0, x2 = x0, x3 = x0, x4 = x0;
  Vector x5 = x0, x6 = x0, x7 = x0, x8 = x0, x9 = x0;
  for (int64_t step = 0; step < steps; ++step) {
    x0 = x0 * by + plus;
    x1 = x1 * by + plus;
    x2 = x2 * by + plus;
    x3 = x3 * by + plus;
    x4 = x4 * by + plus;
    x5 = x5 * by + plus;
    x6 = x6 * by + plus;
    x7 = x7 * by + plus;
    x8 = x8 * by + plus;
    x9 = x9 * by + plus;
    // Ten equal chains are no one chain.
    __asm__ volatile(""
                     : "+x"(x0), "+x"(x1), "+x"(x2), "+x"(x3), "+x"(x4),
                       "+x"(x5), "+x"(x6), "+x"(x7), "+x"(x8), "+x"(x9));
  }
  return Sum(x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9);
}

void Norm(const float* row, const float* weight, float* to, size_t count) {
  Vector sums[4] = {};
  size_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth) {
    for (size_t j = 0; j < 4; ++j) {
      const Vector x = Load(row + i + j * kWidth);
      sums[j] += x * x;
    }
  }
  float squares = Sum(sums[0] + sums[1] + sums[2] + sums[3]);
  for (; i < count; ++i) squares += row[i] * row[i];
  const float scale =
      1 / __builtin_sqrtf(squares / static_cast<float>(count) + 1e-6f);
  for (i = 0; i + kWidth <= count; i += kWidth) {
    Store(Load(row + i) * scale * Load(weight + i), to + i);
  }
  for (; i < count; ++i) to[i] = row[i] * scale * weight[i];
}

inline Vector Silu(Vector gate) { return gate / (1 + Exp(-gate)); }

void Activation(const float* gate, const float* up, float* to, size_t count) {
  size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Store(Silu(Load(gate + i)) * Load(up + i), to + i);
  }
  const size_t rest = count - i;
  StoreRest(Silu(LoadRest(gate + i, rest, 0)) * LoadRest(up + i, rest, 0),
            to + i, rest);
}

void Add(const float* a, const float* b, float* to, size_t count) {
  size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Store(Load(a + i) + Load(b + i), to + i);
  }
  for (; i < count; ++i) to[i] = a[i] + b[i];
}

void Softmax(float* row, float scale, size_t count) {
  float largest = row[0];
  for (size_t i = 1; i < count; ++i) {
    largest = row[i] > largest ? row[i] : largest;
  }
  const float shift = largest * scale;
  Vector sum = {};
  size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const Vector e = Exp(Load(row + i) * scale - shift);
    sum += e;
    Store(e, row + i);
  }
  const size_t rest = count - i;
  const Vector last = Exp(LoadRest(row + i, rest, largest) * scale - shift);
  StoreRest(last, row + i, rest);
  float total = Sum(sum);
  for (size_t j = 0; j < rest; ++j) total += last[j];
  const float inverse = 1 / total;
  for (i = 0; i + kWidth <= count; i += kWidth) {
    Store(Load(row + i) * inverse, row + i);
  }
  for (; i < count; ++i) row[i] *= inverse;
}

void Scores(const float* query, const float* keys, size_t width, size_t count,
            float* scores) {
  for (size_t i = 0; i < count; ++i) {
    const float* key = keys + i * width;
    Vector even = {};
    Vector odd = {};
    size_t j = 0;
    for (; j + 2 * kWidth <= width; j += 2 * kWidth) {
      even += Load(query + j) * Load(key + j);
      odd += Load(query + j + kWidth) * Load(key + j + kWidth);
    }
    float sum = Sum(even + odd);
    for (; j < width; ++j) sum += query[j] * key[j];
    scores[i] = sum;
  }
}

void WeightedSum(const float* weights, const float* values, size_t width,
                 size_t count, float* to) {
  size_t j = 0;
  // Four vectors of the result at a time stay in registers.
  for (; j + 4 * kWidth <= width; j += 4 * kWidth) {
    Vector sums[4] = {};
    for (size_t i = 0; i < count; ++i) {
      const float* value = values + i * width + j;
      const float weight = weights[i];
      for (size_t v = 0; v < 4; ++v)
        sums[v] += Load(value + v * kWidth) * weight;
    }
    for (size_t v = 0; v < 4; ++v) Store(sums[v], to + j + v * kWidth);
  }
  for (; j < width; ++j) {
    float sum = 0;
    for (size_t i = 0; i < count; ++i)
      sum += weights[i] * values[i * width + j];
    to[j] = sum;
  }
}

uint64_t Spin(uint64_t steps) {
  uint64_t factor = steps | 1;
  uint64_t x = factor;
  __asm__ volatile("" : "+r"(factor));
  for (uint64_t step = 0; step < steps; step += 8) {
    for (int i = 0; i < 8; ++i) {
      x *= factor;
      __asm__ volatile("" : "+r"(x));
    }
  }
  return x;
}

}  // namespace

const Loops MANSARD_LOOPS = {
    MANSARD_LOOPS_NAME,
    &Copy,
    &Triad,
    &Read,
    &MultiplyAdd,
    kChains* static_cast<int>(kWidth),
    &Norm,
    &Activation,
    &Add,
    &Softmax,
    &Scores,
    &WeightedSum,
    &Spin,
};

}  // namespace mansard::calibrate
