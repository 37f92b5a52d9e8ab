// Rows of `mansard engine predict --queries`.
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/command_status.h"
#include "clients/cli/commands/message_table.h"
#include "clients/cli/commands/serving_request.h"
#include "clients/cli/commands/target.h"
#include "clients/cli/input.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {

absl::StatusOr<v1::PredictLatenciesRequest> ReadQueries(
    const std::string& name, const std::string& text,
    const std::string& engine) {
  absl::StatusOr<v1::PredictLatenciesRequest> request(
      v1::PredictLatenciesRequest{});
  if (LooksLikeJson(text)) {
    const absl::Status parsed = ParseJson(name, text, &*request);
    if (!parsed.ok()) return parsed;
  } else {
    const absl::Status read = ReadMessageTable(
        name, text, *v1::LatencyQuery::descriptor(), {"state", "slo"},
        [&request] { return request->add_queries(); });
    if (!read.ok()) return read;
  }
  if (request->queries().empty()) {
    return Failed(absl::StrCat(name, ": has no rows"));
  }
  for (v1::LatencyQuery& query : *request->mutable_queries()) {
    if (query.engine().empty() && engine.empty()) {
      return UsageError(
          absl::StrCat("ENGINE is missing: a row of ", name, " names none"));
    }
    query.set_engine(
        FullName("engines", query.engine().empty() ? engine : query.engine()));
  }
  return request;
}

}  // namespace mansard::cli
