#include "calibrate/cpu/prepared_cases.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "calibrate/cpu/references.h"

namespace mansard::calibrate {
namespace {

absl::Status CheckStream(const Case& measured, const Floats& a, const Floats& b,
                         const Floats& c, float sum) {
  Randoms randoms(11);
  if (measured.kind == CaseKind::kRead) {
    double reference = 0;
    for (const float value : a) reference += value;
    // Partial sums of many values of both signs wander far from zero.
    return ExpectNear("the sum", sum, reference,
                      1 + std::sqrt(static_cast<double>(a.size())) * 10);
  }
  for (int i = 0; i < kChecked; ++i) {
    const size_t at =
        static_cast<size_t>(randoms.Below(static_cast<int64_t>(a.size())));
    const double reference =
        measured.kind == CaseKind::kCopy ? a[at] : a[at] + 3.0 * b[at];
    absl::Status status =
        ExpectNear(absl::StrCat("element ", at), c[at], reference, 4);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

struct Place {
  int64_t row = 0;
  int64_t column = 0;
  int64_t rows = 0;
};

double Silu(double gate) { return gate / (1 + std::exp(-gate)); }

// Of one element, in double precision.
double ElementwiseReference(CaseKind kind, const float* from,
                            const Floats& weight, const Place& place) {
  const int64_t columns = static_cast<int64_t>(weight.size());
  if (kind == CaseKind::kNorm) {
    const float* const values = from + place.row * columns;
    double squares = 0;
    for (int64_t j = 0; j < columns; ++j) {
      squares += static_cast<double>(values[j]) * values[j];
    }
    return values[place.column] /
           std::sqrt(squares / static_cast<double>(columns) + 1e-6) *
           weight[static_cast<size_t>(place.column)];
  }
  if (kind == CaseKind::kActivation) {
    const float* const gate = from + place.row * 2 * columns;
    return Silu(gate[place.column]) * gate[columns + place.column];
  }
  const int64_t at = place.row * columns + place.column;
  return static_cast<double>(from[at]) + from[place.rows * columns + at];
}

}  // namespace

CpuWork StreamWork(const Case& measured, const Loops& loops) {
  const int64_t count = measured.bytes / static_cast<int64_t>(sizeof(float));
  const CaseKind kind = measured.kind;
  auto a = RandomFloats(count, 1);
  auto b = RandomFloats(kind == CaseKind::kTriad ? count : 0, 2);
  auto c = PoisonedFloats(kind == CaseKind::kRead ? 0 : count);
  auto sum = std::make_shared<float>();
  CpuWork work;
  work.once = [=, &loops] {
    if (kind == CaseKind::kCopy) {
      loops.copy(a->data(), c->data(), a->size());
    } else if (kind == CaseKind::kTriad) {
      loops.triad(a->data(), b->data(), 3, c->data(), a->size());
    } else {
      *sum = loops.read(a->data(), a->size());
    }
  };
  work.verify = [=, once = work.once] {
    once();
    return CheckStream(measured, *a, *b, *c, *sum);
  };
  return work;
}

CpuWork MultiplyAddWork(const Loops& loops) {
  // Contracts to 1, where all lanes start: nothing overflows or vanishes.
  constexpr float kFactor = 0.5f;
  constexpr float kTerm = 0.5f;
  auto sum = std::make_shared<float>();
  CpuWork work;
  work.once = [=, &loops] {
    *sum = loops.multiply_add(kMultiplyAddSteps, kFactor, kTerm);
  };
  work.verify = [&loops] {
    // Three steps by 0.25, plus 2: 1 -> 2.25 -> 2.5625 -> 2.640625.
    return ExpectNear("the sum of all lanes", loops.multiply_add(3, 0.25f, 2),
                      2.640625 * loops.multiply_add_lanes, 1);
  };
  return work;
}

CpuWork GemmWork(const Case& measured, CpuOps& ops, ColdPool& pool) {
  const int64_t m = measured.m;
  const int64_t n = measured.n;
  const int64_t k = measured.k;
  auto x = RandomFloats(m * k, 3);
  auto y = PoisonedFloats(m * n);
  const auto run = [=, &ops, &pool] {
    const float* const weights = pool.Take(static_cast<size_t>(n * k));
    ops.Gemm(x->data(), weights, y->data(), m, n, k);
    return weights;
  };
  CpuWork work;
  work.once = [run] { run(); };
  work.verify = [=] {
    const float* const weights = run();
    Randoms randoms(13);
    for (int i = 0; i < kChecked; ++i) {
      const int64_t row = randoms.Below(m);
      const int64_t column = randoms.Below(n);
      double sum = 0;
      double size = 0;
      for (int64_t j = 0; j < k; ++j) {
        const double product =
            static_cast<double>((*x)[static_cast<size_t>(row * k + j)]) *
            weights[column * k + j];
        sum += product;
        size += std::abs(product);
      }
      absl::Status status =
          ExpectNear(absl::StrCat("row ", row, ", column ", column),
                     (*y)[static_cast<size_t>(row * n + column)], sum, size);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  };
  return work;
}

namespace {

// Of one run.
struct ElementwiseBuffers {
  float* x = nullptr;  // Of activations gate and up-projection.
  float* weight = nullptr;
  float* y = nullptr;  // Of residuals the older operand, too.
};

void RunElementwise(const Case& measured, const ElementwiseBuffers& buffers,
                    CpuOps& ops) {
  if (measured.kind == CaseKind::kNorm) {
    ops.Norm(buffers.x, buffers.weight, buffers.y, measured.rows,
             measured.columns);
  } else if (measured.kind == CaseKind::kActivation) {
    ops.Activation(buffers.x, buffers.y, measured.rows, measured.columns);
  } else {
    ops.loops().add(buffers.y, buffers.x, buffers.y,
                    static_cast<size_t>(measured.rows * measured.columns));
  }
}

// Of buffers before a run, the results after it.
absl::Status CheckElementwise(const Case& measured,
                              const ElementwiseBuffers& buffers, CpuOps& ops) {
  const int64_t rows = measured.rows;
  const int64_t columns = measured.columns;
  const int64_t count = rows * columns;
  // The operands one after the other; a residual's older one second.
  Floats from(buffers.x, buffers.x + 2 * count);
  const Floats weight(buffers.weight, buffers.weight + columns);
  if (measured.kind == CaseKind::kResidual) {
    std::copy_n(buffers.y, count, from.begin() + count);
  }
  RunElementwise(measured, buffers, ops);
  Randoms randoms(23);
  for (int i = 0; i < kChecked; ++i) {
    const int64_t row = randoms.Below(rows);
    const int64_t column = randoms.Below(columns);
    absl::Status status =
        ExpectNear(absl::StrCat("row ", row, ", column ", column),
                   buffers.y[row * columns + column],
                   ElementwiseReference(measured.kind, from.data(), weight,
                                        {row, column, rows}),
                   2);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

CpuWork ElementwiseWork(const Case& measured, CpuOps& ops, ColdPool& pool) {
  const int64_t count = measured.rows * measured.columns;
  auto made = RandomFloats(2 * count, 4);
  auto buffers = std::make_shared<ElementwiseBuffers>();
  CpuWork work;
  work.before = [=, &pool] {
    buffers->x = pool.Take(2 * static_cast<size_t>(count));
    buffers->weight = pool.Take(static_cast<size_t>(measured.columns));
    buffers->y = pool.Take(static_cast<size_t>(count));
    const int64_t written =
        measured.kind == CaseKind::kActivation ? 2 * count : count;
    std::copy_n(made->begin(), written, buffers->x);
  };
  work.once = [=, &ops] { RunElementwise(measured, *buffers, ops); };
  work.verify = [=, &ops, before = work.before] {
    before();
    // A kernel that does nothing does not pass.
    if (measured.kind != CaseKind::kResidual) {
      std::fill_n(buffers->y, count, std::nanf(""));
    }
    return CheckElementwise(measured, *buffers, ops);
  };
  return work;
}

}  // namespace mansard::calibrate
