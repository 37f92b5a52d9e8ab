#include "calibrate/tables/tables.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "calibrate/tables/collective_cases.h"
#include "calibrate/tables/csv.h"
#include "calibrate/tables/decode_cases.h"
#include "calibrate/tables/elementwise_cases.h"
#include "calibrate/tables/exchange_cases.h"
#include "calibrate/tables/gemm_cases.h"
#include "calibrate/tables/mixed_cases.h"
#include "calibrate/tables/mla_cases.h"
#include "calibrate/tables/moe_cases.h"
#include "calibrate/tables/prefill_cases.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

struct KnownTable {
  const char* name;
  const char* telling;  // Columns that no other table has together.
  ReadCases read;
};
// A table whose columns hold those of another comes before it.
constexpr KnownTable kTables[] = {
    {"gemm", "m,n,k,dtype_weight", &ReadGemmCases},
    {"elementwise_norm", "op,rows,cols,dtype_out", &ReadElementwiseCases},
    {"mla", "op,kv_lora_rank,rope_dim", &ReadMlaCases},
    {"attention_prefill", "q_len,kv_len,kv_heads,head_dim,causal",
     &ReadPrefillCases},
    {"attention_mixed_batch", "prefill_q_len,decode_batch,decode_kv_len",
     &ReadMixedCases},
    {"attention_decode", "kv_len,kv_heads,head_dim,kv_dtype", &ReadDecodeCases},
    {"collectives", "op,n_gpus,message_bytes,algo_or_mode",
     &ReadCollectiveCases},
    {"grouped_gemm_moe", "topk,num_experts,moe_tp,moe_ep", &ReadMoeCases},
    {"moe_all_to_all", "op,n_gpus,tokens_per_gpu,comm_sms", &ReadExchangeCases},
};

bool IsTable(const CsvReader& reader, const KnownTable& table) {
  for (const absl::string_view column : absl::StrSplit(table.telling, ',')) {
    if (!reader.Column(column).ok()) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredCase>> ReadMeasured(absl::string_view csv) {
  const CsvReader reader(csv);
  for (const KnownTable& table : kTables) {
    if (!IsTable(reader, table)) continue;
    ASSIGN_OR_RETURN(std::vector<MeasuredCase> cases, table.read(csv));
    for (MeasuredCase& measured : cases) measured.table = table.name;
    return cases;
  }
  std::vector<std::string> known;
  for (const KnownTable& table : kTables) {
    known.push_back(absl::StrCat(table.name, " (", table.telling, ")"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the columns are those of no known table; known, by what "
                   "tells them: ",
                   absl::StrJoin(known, "; ")));
}

}  // namespace mansard::calibrate
