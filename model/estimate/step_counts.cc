#include "model/estimate/step_counts.h"

namespace mansard::model {

RequestGroup OnDataRank(const RequestGroup& group, const Layout& layout) {
  RequestGroup mine = group;
  const int64_t ranks = layout.data();
  if (ranks > 1) mine.request_count = (group.request_count + ranks - 1) / ranks;
  return mine;
}

StepCounts CountsOf(const ForwardPass& pass, const Layout& layout) {
  StepCounts counts;
  counts.expert_tokens = pass.total_new_tokens();
  counts.phase = pass.phase();
  for (const RequestGroup& whole : pass.groups()) {
    const RequestGroup group = OnDataRank(whole, layout);
    const int64_t tokens = group.total_new_tokens();
    counts.tokens += tokens;
    counts.requests += group.request_count;
    switch (group.role) {
      case Role::kPrefill:
        counts.prompt_tokens += tokens;
        counts.prompt_cached += group.request_count * group.prior_tokens;
        counts.logits += group.request_count;
        if (group.prior_tokens > 0) counts.states_read += group.request_count;
        break;
      case Role::kDecode:
        counts.decode_tokens += tokens;
        counts.logits += tokens;
        counts.states_read += group.request_count;
        break;
    }
  }
  counts.prompt_positions = counts.prompt_tokens + counts.prompt_cached;
  return counts;
}

}  // namespace mansard::model
