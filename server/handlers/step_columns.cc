// PredictSteps: passes in columns.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "server/catalog/resource_name.h"
#include "server/error.h"
#include "server/handlers/scheduling.h"

namespace mansard::server {
namespace {

// Callers that are gone are noticed this often.
constexpr int kRowsBetweenLooks = 4096;
// Rows that are wrong are named up to as many violations; an error has room for
// no more.
constexpr size_t kMostViolations = 100;

// Rows of the request's columns, of equal length or empty.
class Columns {
 public:
  explicit Columns(const v1::PredictStepsRequest& request)
      : request_(request) {}

  // How many rows there are; 0, with violations, where the lengths differ or
  // break a rule.
  int Check(model::Violations& violations) const {
    const size_t before = violations.all().size();
    int rows = 0;
    const auto look = [&](const char* field, int size) {
      if (size == 0) return;
      if (rows == 0) rows = size;
      if (size == rows) return;
      violations.Add(field, absl::StrCat("has ", size, " entries, not ", rows,
                                         " as the columns before"));
    };
    look("decode_request_counts", request_.decode_request_counts_size());
    look("decode_context_token_counts",
         request_.decode_context_token_counts_size());
    look("prefill_request_counts", request_.prefill_request_counts_size());
    look("prefill_token_counts", request_.prefill_token_counts_size());
    look("prefill_prior_token_counts",
         request_.prefill_prior_token_counts_size());
    if (rows < 1 || rows > kMaxStepRows) {
      violations.Add("decode_request_counts",
                     absl::StrCat("and the other columns have ", rows,
                                  " entries; allowed: 1 to ", kMaxStepRows));
    }
    return violations.all().size() == before ? rows : 0;
  }

  // Empty with violations, at entries of the columns, where the row breaks a
  // rule.
  std::optional<model::ForwardPass> PassOf(
      int row, int64_t max_context, model::Violations& violations) const {
    // The pass's own rules are named by groups: they only say whether.
    model::Violations broken;
    std::optional<model::ForwardPass> pass =
        model::ForwardPass::Create(GroupsOf(row), max_context, broken);
    if (!pass.has_value()) Explain(row, max_context, violations);
    return pass;
  }

 private:
  struct Row {
    int64_t decodes;
    int64_t decode_context;
    int64_t prompts;
    int64_t prompt_tokens;
    int64_t prompt_prior;
  };

  template <class Column>
  static int64_t At(const Column& column, int row) {
    return column.empty() ? 0 : column.Get(row);
  }

  Row At(int row) const {
    return {.decodes = At(request_.decode_request_counts(), row),
            .decode_context = At(request_.decode_context_token_counts(), row),
            .prompts = At(request_.prefill_request_counts(), row),
            .prompt_tokens = At(request_.prefill_token_counts(), row),
            .prompt_prior = At(request_.prefill_prior_token_counts(), row)};
  }

  // Groups of no request are left out.
  model::RequestGroups GroupsOf(int row) const {
    const Row counts = At(row);
    model::RequestGroups groups;
    if (counts.prompts != 0) {
      groups.push_back({model::Role::kPrefill, counts.prompts,
                        counts.prompt_tokens, counts.prompt_prior});
    }
    if (counts.decodes != 0) {
      groups.push_back({model::Role::kDecode, counts.decodes, 1,
                        std::max<int64_t>(counts.decode_context, 0) - 1});
    }
    return groups;
  }

  // Adds what is wrong with a row that is no pass.
  void Explain(int row, int64_t max_context,
               model::Violations& violations) const {
    const Row counts = At(row);
    const size_t before = violations.all().size();
    const auto check = [&](const char* column, int64_t value, int64_t least,
                           int64_t most) {
      return violations.CheckRange(
          model::Indexed(column, static_cast<size_t>(row)),
          static_cast<double>(value), static_cast<double>(least),
          static_cast<double>(most));
    };
    if (counts.decodes != 0) {
      check("decode_request_counts", counts.decodes, 1,
            model::ForwardPass::kMaxRequests);
      check("decode_context_token_counts", counts.decode_context, 1,
            max_context);
    }
    if (counts.prompts != 0) {
      check("prefill_request_counts", counts.prompts, 1,
            model::ForwardPass::kMaxRequests);
      const bool tokens = check(
          "prefill_token_counts", counts.prompt_tokens, 1,
          std::min<int64_t>(max_context, model::ForwardPass::kMaxNewTokens));
      check("prefill_prior_token_counts", counts.prompt_prior, 0,
            tokens ? max_context - counts.prompt_tokens : max_context);
    }
    if (violations.all().size() != before) return;
    violations.Add(
        model::Indexed("decode_request_counts", static_cast<size_t>(row)),
        counts.decodes == 0 && counts.prompts == 0
            ? "is 0, and so is prefill_request_counts: a pass has requests"
            : absl::StrCat("and prefill_request_counts compute more than ",
                           model::ForwardPass::kMaxTotalTokens,
                           " tokens in one pass"));
  }

  const v1::PredictStepsRequest& request_;
};

}  // namespace

absl::Status PredictSteps(CallContext& call,
                          const v1::PredictStepsRequest& request,
                          v1::PredictStepsResponse& response) {
  model::Violations violations;
  TargetResolver targets = call.targets();
  const TargetAnswer target =
      targets.ResolveEngine(request.engine(), violations);
  const Columns columns(request);
  const int rows = columns.Check(violations);
  const model::ServingEngine* const engine =
      targets.engine() == nullptr ? nullptr : targets.engine()->engine.get();
  model::StepTimer timer;
  response.mutable_step_seconds()->Reserve(rows);
  for (int row = 0; row < rows; ++row) {
    if (row % kRowsBetweenLooks == 0) RETURN_IF_ERROR(call.CheckAlive());
    const std::optional<model::ForwardPass> pass =
        columns.PassOf(row, target.graph.max_context, violations);
    if (violations.all().size() >= kMostViolations) break;
    // Once one is wrong the others are only looked at.
    if (engine == nullptr || !violations.empty()) continue;
    response.add_step_seconds(engine->StepTime(*pass, timer).value());
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(target.error);
  *response.mutable_resolution() = targets.engine()->proto.resolution();
  return absl::OkStatus();
}

}  // namespace mansard::server
