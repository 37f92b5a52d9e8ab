#include "tests/reference/reference_counter.h"

#include <vector>

#include "tests/reference/layer_counter.h"
#include "tests/reference/stream_counter.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::LayerKind;
using model::RequestGroup;
using model::Role;

class Counter {
 public:
  Counter(const model::ModelGraph& graph, const model::ForwardPass& pass,
          const ReferenceOptions& options)
      : graph_(graph), pass_(pass), options_(options), tally_(options.formats) {
    for (const RequestGroup& group : pass.groups()) {
      for (int64_t r = 0; r < group.request_count; ++r) {
        for (int64_t t = 0; t < group.new_tokens; ++t) ++tokens_;
      }
    }
  }

  std::map<std::string, ReferenceWork> Run() {
    Input();
    LayerCounter layers(graph_, pass_, options_, spec_.residual_streams == 1,
                        tally_);
    for (int index : spec_.layer_kind_indexes) {
      layers.Count(spec_.layer_kinds[static_cast<size_t>(index)]);
    }
    Output(layers, spec_.final_norm);
    int64_t positions = 0;
    for (const RequestGroup& group : pass_.groups()) {
      for (int64_t r = 0; r < group.request_count; ++r) {
        positions += group.role == Role::kPrefill ? 1 : group.new_tokens;
      }
    }
    Head(positions);
    return tally_.work();
  }

  // One run of a module.
  std::map<std::string, ReferenceWork> RunModule() {
    Lookup("draft_embedding", TableWidth());
    ToHidden();
    const int vectors = 2 * (spec_.norm_bias ? 2 : 1);
    const int streams = spec_.residual_streams;
    // The embedding, and each stream of the hidden state.
    tally_.Norm("draft_norms", tokens_ * (1 + streams), hidden_, false,
                vectors);
    if (streams == 1) {
      tally_.Gemm("draft_proj", tokens_, hidden_, 2 * hidden_, tally_.Wide());
    } else {
      tally_.Gemm("draft_proj", tokens_, hidden_, hidden_, tally_.Wide());
      tally_.Gemm("draft_proj", tokens_ * streams, hidden_, hidden_,
                  tally_.Wide());
    }
    LayerCounter layers(graph_, pass_, options_, false, tally_);
    for (int index : spec_.mtp.layer_kind_indexes) {
      layers.Count(spec_.layer_kinds[static_cast<size_t>(index)]);
    }
    Output(layers, true);
    int64_t requests = 0;
    for (const RequestGroup& group : pass_.groups()) {
      requests += group.request_count;
    }
    Head(requests);
    return tally_.work();
  }

 private:
  int64_t TableWidth() const {
    return spec_.embedding_size == 0 ? hidden_ : spec_.embedding_size;
  }

  // A row of a table a token, on the rank that has it.
  void Lookup(const std::string& part, int64_t width) {
    ReferenceWork& work = tally_.Of(part);
    for (int64_t t = 0; t < tokens_; ++t) {
      for (int64_t h = 0; h < width; ++h) {
        work.weights += ElementSize(part == "layer_input_embedding"
                                        ? options_.formats.native
                                        : options_.formats.embedding);
        work.activations_out += ElementSize(options_.formats.hidden);
      }
    }
    tally_.AllReduce("embedding_all_reduce", tokens_, width, options_.tensor);
  }

  void ToHidden() {
    if (spec_.embedding_size == 0) return;
    tally_.Gemm("embedding_proj", tokens_, hidden_, TableWidth(),
                tally_.Wide());
  }

  void Input() {
    Lookup("embedding", TableWidth());
    ToHidden();
    if (spec_.position_rows != 0) {
      tally_.Move("position_embedding", tokens_, hidden_, 1, 1);
      // Each row once at most.
      for (int64_t t = 0; t < tokens_ && t < spec_.position_rows; ++t) {
        for (int64_t h = 0; h < hidden_; ++h) {
          tally_.Of("position_embedding").weights +=
              ElementSize(options_.formats.native);
        }
      }
    }
    if (spec_.embedding_norm) {
      tally_.Norm("embedding_norm", tokens_, hidden_, false,
                  spec_.norm_bias ? 2 : 1);
    }
    if (spec_.layer_input_size != 0) LayerInputs();
    if (spec_.residual_streams > 1) Streams().Start("embedding_streams");
  }

  // For every layer a vector from a table and one from the embedding, the
  // latter normed.
  void LayerInputs() {
    int64_t layers = 0, width = 0;
    for (size_t i = 0; i < spec_.layer_kind_indexes.size(); ++i) {
      ++layers;
      width += spec_.layer_input_size;
    }
    Lookup("layer_input_embedding", width);
    tally_.Gemm("layer_input_proj", tokens_, width, hidden_, tally_.Wide());
    tally_.NormThenAdd("layer_input_norm", tokens_ * layers,
                       spec_.layer_input_size, spec_.norm_bias ? 2 : 1);
  }

  StreamCounter Streams() {
    return {tokens_, hidden_, spec_.residual_streams, tally_};
  }

  void Output(LayerCounter& layers, bool norm) {
    if (spec_.residual_streams > 1) {
      Streams().Collapse("final_stream_weights", "final_stream_mix", false);
    }
    if (norm) {
      layers.Norm("final_norm", layers.open());
    } else if (layers.open()) {
      tally_.Move("ffn_residual", tokens_, hidden_, 2, 1);
    }
  }

  void Head(int64_t positions) {
    if (spec_.embedding_size != 0) {
      tally_.Gemm("lm_head_proj", positions, TableWidth(), hidden_,
                  tally_.Wide());
    }
    int64_t padded = spec_.vocabulary_size;
    while (padded % options_.tensor != 0) ++padded;
    tally_.QuantizeTo(tally_.Head().input, "lm_head_quantize", positions,
                      TableWidth());
    tally_.Gemm("lm_head", positions, padded / options_.tensor, TableWidth(),
                tally_.Head(), spec_.head_bias);
    tally_.Move("sampling", positions, spec_.vocabulary_size, 1, 0);
    if (options_.tensor == 1) return;
    ReferenceWork& gather = tally_.Of("logits_all_gather");
    const double size = ElementSize(options_.formats.hidden);
    for (int64_t v = 0; v < positions * padded; ++v) {
      gather.message += size;
      gather.activations_out += size;
      if (v % options_.tensor == options_.rank) gather.activations_in += size;
    }
  }

  const model::ModelGraph& graph_;
  const model::ModelGraphSpec& spec_ = graph_.spec();
  const model::ForwardPass& pass_;
  const ReferenceOptions& options_;
  const int64_t hidden_ = spec_.hidden_size;
  Tally tally_;
  int64_t tokens_ = 0;
};

// The decodes as a module sees them: at first all new tokens; in further runs
// one more, beyond everything the module has seen.
model::ForwardPass ModulePass(const model::ForwardPass& pass,
                              int64_t earlier_runs,
                              const model::ModelGraph& graph) {
  model::RequestGroups groups;
  for (RequestGroup group : pass.groups()) {
    if (group.role != Role::kDecode) continue;
    for (int64_t run = 0; run < earlier_runs; ++run) {
      group.prior_tokens += group.new_tokens;
      group.new_tokens = 1;
    }
    groups.push_back(group);
  }
  model::Violations violations;
  return *BuildPass(groups).WithRouting(pass.routing(), graph.ExpertCount(),
                                        violations);
}

}  // namespace

std::map<std::string, ReferenceWork> CountPass(
    const model::ModelGraph& graph, const model::ForwardPass& pass,
    const ReferenceOptions& options) {
  std::map<std::string, ReferenceWork> all =
      Counter(graph, pass, options).Run();
  std::vector<int64_t> runs(static_cast<size_t>(graph.spec().mtp.modules));
  for (int draft = 0; draft < pass.drafting().draft_tokens; ++draft) {
    int64_t& earlier = runs[static_cast<size_t>(draft) % runs.size()];
    const model::ForwardPass run = ModulePass(pass, earlier, graph);
    ++earlier;
    for (const auto& [part, work] : Counter(graph, run, options).RunModule()) {
      ReferenceWork& sum = all["draft." + part];
      sum.multiply_adds += work.multiply_adds;
      sum.exponentials += work.exponentials;
      sum.vector_operations += work.vector_operations;
      sum.weights += work.weights;
      sum.kv_read += work.kv_read;
      sum.kv_write += work.kv_write;
      sum.activations_in += work.activations_in;
      sum.activations_out += work.activations_out;
      sum.message += work.message;
    }
  }
  return all;
}

}  // namespace mansard::testing
