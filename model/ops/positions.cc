#include "model/ops/positions.h"

#include <limits>

namespace mansard::model {
namespace {

// Scale, maximum, subtract, sum, rescale.
constexpr double kVectorFlopsPerScore = 5;

// 1 + 2 + ... + n.
int64_t Triangle(int64_t n) { return n * (n + 1) / 2; }

// Sum of min(first, ..., ceiling) over `count` consecutive integers.
int64_t ClampedSum(int64_t first, int64_t count, int64_t ceiling) {
  const int64_t below = std::clamp<int64_t>(ceiling - first, 0, count);
  return below * first + Triangle(below) - below + (count - below) * ceiling;
}

// Sum over the positions 0 .. end - 1 of those they see in their own chunk.
int64_t ChunkPairs(int64_t end, int64_t chunk) {
  return end / chunk * Triangle(chunk) + Triangle(end % chunk);
}

// Sum over the positions 0 .. end - 1 of the entries complete at each, at most
// `ceiling`: position t has floor((t + 1) / ratio), so the first ratio - 1 have
// none and every `ratio` that follow have one more.
int64_t EntrySum(int64_t end, int64_t ratio, int64_t ceiling) {
  const int64_t whole = (end + 1) / ratio;
  if (whole > ceiling) {
    // The first to have `ceiling` entries is ratio * ceiling - 1.
    return ratio * (Triangle(ceiling) - ceiling) +
           (end + 1 - ratio * ceiling) * ceiling;
  }
  return ratio * (Triangle(whole) - whole) + (end + 1) % ratio * whole;
}

}  // namespace

double CausalPairs(int64_t new_tokens, int64_t prior_tokens, int64_t window,
                   int64_t chunk) {
  int64_t pairs = 0;
  if (window != 0) {
    pairs = ClampedSum(prior_tokens + 1, new_tokens, window);
  } else if (chunk != 0) {
    pairs = ChunkPairs(prior_tokens + new_tokens, chunk) -
            ChunkPairs(prior_tokens, chunk);
  } else {
    pairs = new_tokens * prior_tokens + Triangle(new_tokens);
  }
  return static_cast<double>(pairs);
}

double EntryPairs(int64_t new_tokens, int64_t prior_tokens, int64_t ratio,
                  int64_t top_k) {
  if (ratio == 1) return CausalPairs(new_tokens, prior_tokens, top_k);
  const int64_t ceiling =
      top_k == 0 ? std::numeric_limits<int64_t>::max() : top_k;
  return static_cast<double>(
      EntrySum(prior_tokens + new_tokens, ratio, ceiling) -
      EntrySum(prior_tokens, ratio, ceiling));
}

double EntriesMade(const RequestGroup& group, int64_t ratio) {
  const double requests = static_cast<double>(group.request_count);
  switch (group.role) {
    case Role::kPrefill:
      return requests * static_cast<double>(Entries(group, ratio) -
                                            PriorEntries(group, ratio));
    case Role::kDecode:
      return requests * static_cast<double>(group.new_tokens) /
             static_cast<double>(ratio);
  }
  return 0;
}

int64_t VisiblePrior(const RequestGroup& group, int64_t window, int64_t chunk) {
  const int64_t prior = group.prior_tokens;
  if (window != 0) return std::min(prior, window - 1);
  if (chunk != 0) return prior % chunk;
  return prior;
}

int64_t SeenByDecode(const RequestGroup& group, int64_t window, int64_t chunk) {
  const int64_t bound = window != 0 ? window : chunk;
  return bound == 0 ? group.context() : std::min(group.context(), bound);
}

double PositionPairs(const RequestGroup& group, int64_t window, int64_t chunk) {
  switch (group.role) {
    case Role::kDecode:
      return static_cast<double>(group.new_tokens) *
             static_cast<double>(SeenByDecode(group, window, chunk));
    case Role::kPrefill:
      return CausalPairs(group.new_tokens, group.prior_tokens, window, chunk);
  }
  return 0;
}

double SelectedPairs(const RequestGroup& group, int64_t ratio, int64_t top_k) {
  switch (group.role) {
    case Role::kDecode: {
      const int64_t seen = Entries(group, ratio);
      return static_cast<double>(group.new_tokens) *
             static_cast<double>(top_k == 0 ? seen : std::min(seen, top_k));
    }
    case Role::kPrefill:
      return EntryPairs(group.new_tokens, group.prior_tokens, ratio, top_k);
  }
  return 0;
}

void AddSoftmax(double scores, Work& work) {
  work.vector = Flops::Of(kVectorFlopsPerScore * scores);
  work.special = Flops::Of(scores);
}

void AddScoreTraffic(double scores, Format format, Work& work) {
  work.activations_in += ElementBytes(format, 2 * scores);
  work.activations_out += ElementBytes(format, 2 * scores);
}

}  // namespace mansard::model
