#include "model/serving/latency_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

struct Point {
  double x = 0;
  double time = 0;
};

// Of relative errors.
double SumOfSquares(const std::vector<Point>& points, double constant,
                    double slope) {
  double sum = 0;
  for (const Point& point : points) {
    const double error = (constant + slope * point.x) / point.time - 1;
    sum += error * error;
  }
  return sum;
}

LinearTime Described(const std::vector<Point>& points, double constant,
                     double slope) {
  LinearTime line{Seconds::Of(constant), Seconds::Of(slope), 0, 0};
  for (const Point& point : points) {
    line.max_error_ratio =
        std::max(line.max_error_ratio,
                 std::abs((constant + slope * point.x) / point.time - 1));
  }
  line.rms_error_ratio = std::sqrt(SumOfSquares(points, constant, slope) /
                                   static_cast<double>(points.size()));
  return line;
}

// With weights 1 / time^2 relative errors are absolute ones. Where a
// coefficient would be negative, the least sum with it at 0 is at one of the
// two edges.
LinearTime Fit(const std::vector<Point>& points) {
  double w = 0;
  double wx = 0;
  double wxx = 0;
  double wt = 0;
  double wxt = 0;
  for (const Point& point : points) {
    const double weight = 1 / (point.time * point.time);
    w += weight;
    wx += weight * point.x;
    wxx += weight * point.x * point.x;
    wt += weight * point.time;
    wxt += weight * point.x * point.time;
  }
  const double determinant = w * wxx - wx * wx;
  // One batch only: all of it is constant.
  if (!(determinant > 1e-12 * w * wxx)) return Described(points, wt / w, 0);
  const double slope = (w * wxt - wx * wt) / determinant;
  const double constant = (wt - slope * wx) / w;
  if (slope >= 0 && constant >= 0) return Described(points, constant, slope);
  const double flat = wt / w;
  const double through_zero = wxt / wxx;
  return SumOfSquares(points, flat, 0) <= SumOfSquares(points, 0, through_zero)
             ? Described(points, flat, 0)
             : Described(points, 0, through_zero);
}

class Passes {
 public:
  Passes(const ServingEngine& engine, const LatencyModelQuestion& question,
         StepTimer& timer)
      : engine_(engine),
        shape_(question.shape),
        timer_(timer),
        requests_(engine, question.shape, question.gain, timer) {}

  Seconds Decode(int64_t batch) const {
    return requests_.batches().Time(batch, nullptr, timer_);
  }

  // Passes full of whole prompts, then one of the rest; prompts of several
  // passes one after the other, one on each data rank.
  Seconds Prefill(int64_t batch) {
    const int64_t ranks = engine_.data_ranks();
    const int64_t a_pass =
        engine_.limits().max_batched_tokens / shape_.computed_tokens() * ranks;
    if (a_pass == 0) {
      const int64_t rounds = (batch + ranks - 1) / ranks;
      return static_cast<double>(rounds * ranks) *
             requests_.passes().At(batch, timer_).prompt_alone;
    }
    if (!full_.has_value() && batch >= a_pass) full_ = Together(a_pass);
    Seconds time;
    if (batch >= a_pass) time = static_cast<double>(batch / a_pass) * *full_;
    if (batch % a_pass > 0) time += Together(batch % a_pass);
    return time;
  }

 private:
  Seconds Together(int64_t prompts) const {
    const RequestGroup group{Role::kPrefill, prompts, shape_.computed_tokens(),
                             shape_.cached_tokens()};
    return requests_.batches().Time(0, &group, timer_);
  }

  const ServingEngine& engine_;
  const RequestShape& shape_;
  StepTimer& timer_;
  RequestLoad requests_;
  std::optional<Seconds> full_;  // A pass full of prompts.
};

std::vector<int64_t> BatchesUpTo(int64_t most) {
  std::vector<int64_t> batches;
  const int64_t count = std::min(most, kMostFittedBatches);
  for (int64_t i = 0; i < count; ++i) {
    batches.push_back(count == 1 ? most : 1 + i * (most - 1) / (count - 1));
  }
  return batches;
}

// 0 with a violation where there is none.
int64_t LargestBatch(const ServingEngine& engine,
                     const LatencyModelQuestion& question,
                     Violations& violations) {
  const int64_t allowed =
      engine.role() == ServingRole::kPrefill
          ? engine.max_batch()
          : MostSequences(engine, question.shape, question.gain);
  if (allowed == 0) {
    violations.Add("max_batch_request_count",
                   "has no batch to go to: the engine has no room for one "
                   "request");
    return 0;
  }
  if (question.max_batch == 0) return allowed;
  if (question.max_batch > allowed) {
    violations.Add(
        "max_batch_request_count",
        absl::StrCat("is ", question.max_batch, "; allowed: 1 to ", allowed,
                     ", what the engine's limits and its cache allow"));
    return 0;
  }
  return question.max_batch;
}

}  // namespace

void CheckLatencyModelQuestion(const ServingEngine* engine,
                               const LatencyModelQuestion& question,
                               Violations& violations) {
  CheckRequest(engine, question.shape, question.gain, violations);
  if (question.max_batch < 0) {
    violations.Add(
        "max_batch_request_count",
        absl::StrCat("is ", question.max_batch, "; must not be negative"));
  }
}

std::optional<LatencyModel> FitLatencyModel(
    const ServingEngine& engine, const LatencyModelQuestion& question,
    StepTimer& timer, Violations& violations) {
  const size_t before = violations.all().size();
  CheckLatencyModelQuestion(&engine, question, violations);
  if (violations.all().size() != before) return std::nullopt;
  LatencyModel model;
  model.max_batch = LargestBatch(engine, question, violations);
  if (violations.all().size() != before) return std::nullopt;

  Passes passes(engine, question, timer);
  std::vector<Point> decodes;
  std::vector<Point> prompts;
  const auto tokens = static_cast<double>(question.shape.computed_tokens());
  for (const int64_t batch : BatchesUpTo(model.max_batch)) {
    const auto size = static_cast<double>(batch);
    if (engine.role() != ServingRole::kPrefill) {
      decodes.push_back({size, passes.Decode(batch).value()});
    }
    if (engine.role() != ServingRole::kDecode) {
      prompts.push_back({tokens * size, passes.Prefill(batch).value()});
    }
  }
  if (!decodes.empty()) model.decode = Fit(decodes);
  if (!prompts.empty()) model.prefill = Fit(prompts);
  return model;
}

}  // namespace mansard::model
