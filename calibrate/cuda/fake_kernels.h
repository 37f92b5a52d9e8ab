// Kernels of a device in the host's memory. For tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "calibrate/cuda/gpu.h"
#include "calibrate/cuda/numbers.h"

namespace mansard::calibrate {

inline uint16_t EncodeBf16(double number) {
  const float narrow = static_cast<float>(number);
  uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline double DecodeBf16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float number = 0;
  std::memcpy(&number, &wide, sizeof(number));
  return number;
}

// What kernels write, in the simplest way that gives it. `spoil`, where it is
// set, is applied to every result.
class FakeKernels : public GpuKernels {
 public:
  std::function<double(double result)> spoil = [](double x) { return x; };
  int64_t launches = 0;

  absl::Status FillRandom(model::Format format, void* to, int64_t bytes,
                          uint64_t seed) override {
    std::srand(static_cast<unsigned>(seed));
    auto* const stored = static_cast<uint8_t*>(to);
    for (int64_t i = 0; i < bytes; ++i) {
      stored[i] = static_cast<uint8_t>(std::rand() >> 7);
    }
    // Numbers between -2 and 2.
    if (format == model::Format::kBf16 || format == model::Format::kFp16) {
      for (int64_t i = 0; i < bytes / 2; ++i) {
        const double x = std::rand() % 4001 / 1000.0 - 2;
        const uint16_t bits =
            format == model::Format::kBf16
                ? EncodeBf16(x)
                : static_cast<uint16_t>((std::rand() & 0x83ff) | 0x3800);
        std::memcpy(stored + 2 * i, &bits, 2);
      }
    } else if (format == model::Format::kFp32) {
      for (int64_t i = 0; i < bytes / 4; ++i) {
        const float x = static_cast<float>(std::rand() % 4001) / 1000 - 2;
        std::memcpy(stored + 4 * i, &x, 4);
      }
    } else if (format == model::Format::kFp8E4m3) {
      for (int64_t i = 0; i < bytes; ++i) stored[i] = (stored[i] & 0x87) | 0x30;
    }
    return Ran();
  }

  absl::Status Copy(const void* from, void* to, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    auto* const first = static_cast<float*>(to);
    *first = static_cast<float>(spoil(*first));
    return Ran();
  }
  absl::Status Triad(const float* a, const float* b, float scale, float* to,
                     int64_t bytes) override {
    for (int64_t i = 0; i < bytes / 4; ++i) {
      to[i] = static_cast<float>(spoil(a[i] + scale * b[i]));
    }
    return Ran();
  }
  absl::Status Read(const void* from, int64_t bytes, int64_t, int64_t,
                    uint32_t* sum) override {
    *sum += SpoilSum(SumOf(from, bytes));
    return Ran();
  }
  absl::Status CacheRead(const void* from, int64_t bytes, int passes,
                         uint32_t* sum) override {
    *sum += SpoilSum(SumOf(from, bytes)) * static_cast<uint32_t>(passes) *
            static_cast<uint32_t>(CacheBlocks());
    return Ran();
  }
  absl::Status SharedRead(int steps, uint32_t* sum) override {
    for (int block = 0; block < CacheBlocks(); ++block) {
      for (uint32_t step = 0; step < static_cast<uint32_t>(steps); ++step) {
        // 512 threads, four words each.
        for (uint32_t i = 0; i < 2048; ++i) *sum += (step % 4) * 2048 + i;
      }
    }
    *sum = SpoilSum(*sum);
    return Ran();
  }
  absl::Status Chase(const uint32_t* list, int steps, uint32_t* at) override {
    for (int step = 0; step < steps; ++step) *at = list[*at * 32];
    *at = SpoilSum(*at);
    return Ran();
  }
  absl::Status Empty() override { return Ran(); }
  absl::Status MultiplyAdd(model::Format, int steps, float* to) override {
    double sum = 0;
    for (int chain = 0; chain < 8; ++chain) {
      double x = 1 + chain / 8.0;
      for (int step = 0; step < steps; ++step) x = -0.75 * x + 1.25;
      sum += x;
    }
    return FillThreads(sum, to);
  }
  absl::Status TensorMultiplyAdd(model::Format format, int steps, bool random,
                                 float* to) override {
    const double depth =
        format == model::Format::kTf32                                     ? 8
        : format == model::Format::kBf16 || format == model::Format::kFp16 ? 16
                                                                           : 32;
    return FillThreads(random ? 0 : 32 * depth * steps, to);
  }
  absl::Status Exponential(int, float* to) override {
    return FillThreads(4 * 0.641185744, to);
  }

  absl::Status Norm(const void* from, const void* weights, void* to,
                    int64_t rows, int64_t columns) override {
    for (int64_t row = 0; row < rows; ++row) {
      double squares = 0;
      for (int64_t i = 0; i < columns; ++i) {
        squares += std::pow(Get(from, row * columns + i), 2);
      }
      const double root =
          std::sqrt(squares / static_cast<double>(columns) + 1e-6);
      for (int64_t i = 0; i < columns; ++i) {
        Put(Get(from, row * columns + i) / root * Get(weights, i), to,
            row * columns + i);
      }
    }
    return Ran();
  }
  absl::Status Activation(const void* gate_up, void* to, int64_t rows,
                          int64_t columns) override {
    for (int64_t i = 0; i < rows * columns; ++i) {
      const int64_t at = i / columns * 2 * columns + i % columns;
      const double gate = Get(gate_up, at);
      Put(gate / (1 + std::exp(-gate)) * Get(gate_up, at + columns), to, i);
    }
    return Ran();
  }
  absl::Status Residual(const void* a, const void* b, void* to,
                        int64_t count) override {
    for (int64_t i = 0; i < count; ++i) Put(Get(a, i) + Get(b, i), to, i);
    return Ran();
  }
  absl::Status Quantize(const void* from, void* to, float* scales, int64_t rows,
                        int64_t columns) override {
    for (int64_t row = 0; row < rows; ++row) {
      double largest = 0;
      for (int64_t i = 0; i < columns; ++i) {
        largest = std::max(largest, std::abs(Get(from, row * columns + i)));
      }
      scales[row] = static_cast<float>(spoil(largest / 448));
      for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
        static_cast<uint8_t*>(to)[i] =
            NearestE4m3(Get(from, i) * 448 / largest);
      }
    }
    return Ran();
  }
  absl::Status Prefill(const GpuAttention& shape, const void* queries,
                       const void* keys, const void* values,
                       void* outputs) override {
    for (int64_t row = 0; row < shape.requests * shape.tokens; ++row) {
      for (int head = 0; head < shape.query_heads; ++head) {
        Attend(shape, row / shape.tokens, head, row % shape.tokens + 1,
               (row * shape.query_heads + head) * shape.head_size, queries,
               keys, values, outputs);
      }
    }
    return Ran();
  }
  absl::Status Decode(const GpuAttention& shape, int64_t, const void* queries,
                      const void* keys, const void* values, void* outputs,
                      float*) override {
    for (int64_t request = 0; request < shape.requests; ++request) {
      for (int head = 0; head < shape.query_heads; ++head) {
        Attend(shape, request, head, shape.tokens,
               (request * shape.query_heads + head) * shape.head_size, queries,
               keys, values, outputs);
      }
    }
    return Ran();
  }
  int CacheBlocks() const override { return 2; }
  int PeakThreads() const override { return 64; }

  absl::Status Ran() {
    ++launches;
    return absl::OkStatus();
  }

 private:
  static double Get(const void* from, int64_t at) {
    return DecodeBf16(static_cast<const uint16_t*>(from)[at]);
  }
  void Put(double number, void* to, int64_t at) const {
    static_cast<uint16_t*>(to)[at] = EncodeBf16(spoil(number));
  }
  static uint32_t SumOf(const void* from, int64_t bytes) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < bytes / 4; ++i) {
      sum += static_cast<const uint32_t*>(from)[i];
    }
    return sum;
  }
  uint32_t SpoilSum(uint32_t sum) const {
    return spoil(1) == 1 ? sum : sum + 1;
  }
  absl::Status FillThreads(double sum, float* to) {
    for (int i = 0; i < PeakThreads(); ++i) {
      to[i] = static_cast<float>(spoil(sum));
    }
    return Ran();
  }
  static uint8_t NearestE4m3(double x) {
    std::vector<uint8_t> codes;
    for (int code = 0; code < 256; ++code) {
      codes.push_back(static_cast<uint8_t>(code));
    }
    static const std::vector<double>& numbers = *new std::vector<double>(
        calibrate::Decode(model::Format::kFp8E4m3, codes, 256));
    size_t nearest = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (std::abs(numbers[i] - x) < std::abs(numbers[nearest] - x)) {
        nearest = i;
      }
    }
    return static_cast<uint8_t>(nearest);
  }
  void Attend(const GpuAttention& shape, int64_t request, int head,
              int64_t visible, int64_t at, const void* queries,
              const void* keys, const void* values, void* outputs) const {
    const int kv_head = head / (shape.query_heads / shape.kv_heads);
    std::vector<double> weights;
    double sum = 0;
    const auto base = [&](int64_t position) {
      return ((request * shape.tokens + position) * shape.kv_heads + kv_head) *
             shape.head_size;
    };
    for (int64_t p = 0; p < visible; ++p) {
      double score = 0;
      for (int d = 0; d < shape.head_size; ++d) {
        score += Get(queries, at + d) * Get(keys, base(p) + d);
      }
      weights.push_back(std::exp(score / std::sqrt(shape.head_size)));
      sum += weights.back();
    }
    for (int d = 0; d < shape.head_size; ++d) {
      double output = 0;
      for (int64_t p = 0; p < visible; ++p) {
        output += weights[static_cast<size_t>(p)] * Get(values, base(p) + d);
      }
      Put(output / sum, outputs, at + d);
    }
  }
};

}  // namespace mansard::calibrate
