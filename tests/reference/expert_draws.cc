#include "tests/reference/expert_draws.h"

#include <bitset>
#include <map>
#include <set>
#include <vector>

namespace mansard::testing {
namespace {

using ExpertSet = std::bitset<16>;
using Kind = model::ExpertRouting::Kind;

// Every choice of `per_token` experts.
std::vector<ExpertSet> Choices(int per_token, int experts) {
  std::vector<ExpertSet> choices;
  for (unsigned long bits = 0; bits < (1UL << experts); ++bits) {
    const ExpertSet choice(bits);
    if (choice.count() == static_cast<size_t>(per_token)) {
      choices.push_back(choice);
    }
  }
  return choices;
}

double MeanOverAssignments(int64_t tokens, int per_token, int experts) {
  const std::vector<ExpertSet> choices = Choices(per_token, experts);
  // Assignments by the experts touched; whole numbers, exact to 2^53.
  std::map<unsigned long, double> assignments = {{0, 1}};
  for (int64_t t = 0; t < tokens; ++t) {
    std::map<unsigned long, double> next;
    for (const auto& [touched, count] : assignments) {
      for (const ExpertSet& choice : choices) {
        next[touched | choice.to_ulong()] += count;
      }
    }
    assignments = std::move(next);
  }
  double sum = 0, total = 0;
  for (const auto& [touched, count] : assignments) {
    sum += count * static_cast<double>(ExpertSet(touched).count());
    total += count;
  }
  return sum / total;
}

double InTurn(int64_t rows, const std::vector<int>& experts) {
  std::set<int> seen;
  for (int64_t row = 0; row < rows; ++row) {
    seen.insert(experts[static_cast<size_t>(row) % experts.size()]);
  }
  return static_cast<double>(seen.size());
}

}  // namespace

double DistinctExperts(const model::ExpertRouting& routing, int64_t tokens,
                       int per_token, int experts) {
  if (routing.kind == Kind::kIndependent) {
    return MeanOverAssignments(tokens, per_token, experts);
  }
  std::vector<int> with_share;
  for (int e = 0; e < experts; ++e) {
    if (routing.kind == Kind::kSpread ||
        routing.shares[static_cast<size_t>(e)] > 0) {
      with_share.push_back(e);
    }
  }
  return InTurn(tokens * per_token, with_share);
}

}  // namespace mansard::testing
