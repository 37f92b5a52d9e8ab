// PredictSteps: passes in columns.
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

using Counts = google::protobuf::RepeatedField<int32_t>;
using Tokens = google::protobuf::RepeatedField<int64_t>;

// Rows of the request's columns, of equal length or empty.
class Columns {
 public:
  explicit Columns(const v1::PredictStepsRequest& request)
      : request_(request) {}

  // How many rows there are; 0, with violations, where the lengths differ or
  // break a rule.
  int Check(model::Violations& violations) const {
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
    return violations.empty() ? rows : 0;
  }

  // As a pass has it: groups of no request are left out.
  model::RequestGroups GroupsOf(int row) const {
    model::RequestGroups groups;
    const int64_t prompts = At(request_.prefill_request_counts(), row);
    if (prompts != 0) {
      groups.push_back({model::Role::kPrefill, prompts,
                        At(request_.prefill_token_counts(), row),
                        At(request_.prefill_prior_token_counts(), row)});
    }
    const int64_t decodes = At(request_.decode_request_counts(), row);
    if (decodes != 0) {
      groups.push_back({model::Role::kDecode, decodes, 1,
                        At(request_.decode_context_token_counts(), row) - 1});
    }
    return groups;
  }

 private:
  template <class Column>
  static int64_t At(const Column& column, int row) {
    return column.empty() ? 0 : column.Get(row);
  }

  const v1::PredictStepsRequest& request_;
};

// Callers that are gone are noticed this often.
constexpr int kRowsBetweenLooks = 4096;

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
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(target.error);
  const model::ServingEngine& engine = *targets.engine()->engine;
  model::StepTimer timer;
  response.mutable_step_seconds()->Reserve(rows);
  for (int row = 0; row < rows; ++row) {
    if (row % kRowsBetweenLooks == 0) RETURN_IF_ERROR(call.CheckAlive());
    const std::optional<model::ForwardPass> pass = model::ForwardPass::Create(
        columns.GroupsOf(row), target.graph.max_context, violations);
    if (!pass.has_value()) {
      return AtPath(InvalidRequest(violations),
                    model::Indexed("rows", static_cast<size_t>(row)));
    }
    response.add_step_seconds(engine.StepTime(*pass, timer).value());
  }
  *response.mutable_resolution() = targets.engine()->proto.resolution();
  return absl::OkStatus();
}

}  // namespace mansard::server
