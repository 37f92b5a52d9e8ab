// Lower's closed forms against the slow counter, over an enumerated grid of
// small graphs, passes and shardings, by part and exactly.

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/reference/reference_counter.h"
#include "tests/reference/reference_graphs.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::ExpertRouting;
using model::Format;
using model::Op;

// Part names carry the layer kind and group: "layers.dense.attention[1]".
// Modules' parts are apart: "draft.attention".
std::string PartOf(const Op& op, const model::ModelGraph& graph) {
  std::string name = model::OpName(op, graph);
  name = name.substr(name.rfind('.') + 1);
  return (op.draft ? "draft." : "") + name.substr(0, name.find('['));
}

struct ByteWork {
  double flops = 0, special = 0, weights = 0, kv_read = 0, kv_write = 0;
  double in = 0, out = 0, message = 0;
  double vector = 0;  // Of convolutions and recurrent states.
};

std::ostream& operator<<(std::ostream& os, const ByteWork& w) {
  return os << "flops " << w.flops << " special " << w.special << " weights "
            << w.weights << " kv " << w.kv_read << "/" << w.kv_write << " act "
            << w.in << "/" << w.out << " message " << w.message << " vector "
            << w.vector;
}

// Fifteen of attentions and feed-forwards, ten of further attentions, twelve of
// recurrent mixers, eighteen of flows.
constexpr int kGraphs = 15 + 10 + 12 + 18;

using WorkByPart = std::map<std::string, ByteWork>;

WorkByPart Lowered(const model::Target& target,
                   const model::ForwardPass& pass) {
  WorkByPart sums;
  for (const Op& op : model::Lower(target.graph(), pass, target.layout(),
                                   target.formats(), target.fusion())) {
    if (op.kind == model::OpKind::kHost) continue;
    ByteWork& sum = sums[PartOf(op, target.graph())];
    const double n = op.repeat;
    const bool counts_special = op.kind != model::OpKind::kNorm;
    sum.flops += n * op.work.tensor.value();
    sum.special += counts_special ? n * op.work.special.value() : 0;
    sum.weights += n * op.work.weights.value();
    sum.kv_read += n * op.work.kv_read.value();
    sum.kv_write += n * op.work.kv_write.value();
    sum.in += n * op.work.activations_in.value();
    sum.out += n * op.work.activations_out.value();
    sum.message += n * op.work.message.value();
    const bool counts_vector = op.kind == model::OpKind::kConvolution ||
                               op.kind == model::OpKind::kStateUpdate ||
                               op.kind == model::OpKind::kStateScan;
    sum.vector += counts_vector ? n * op.work.vector.value() : 0;
  }
  return sums;
}

WorkByPart Reference(const model::Target& target,
                     const model::ForwardPass& pass, int rank) {
  const int tensor = target.layout().tensor();
  WorkByPart sums;
  for (const auto& [part, work] :
       CountPass(target.graph(), pass,
                 {target.formats(), target.fusion().attention, tensor, rank})) {
    // The tables' rows are looked up once over all ranks.
    const bool table = part == "embedding" || part == "layer_input_embedding" ||
                       part == "draft.draft_embedding";
    const double sharers = table ? tensor : 1;
    sums[part] = {2.0 * static_cast<double>(work.multiply_adds),
                  static_cast<double>(work.exponentials),
                  work.weights / sharers,
                  work.kv_read,
                  work.kv_write,
                  work.activations_in,
                  work.activations_out,
                  work.message,
                  static_cast<double>(work.vector_operations)};
  }
  return sums;
}

// Expected numbers of experts are no whole numbers: rounding is allowed there.
bool SameWeights(const std::string& part, double actual, double expected) {
  const bool experts = part.find("expert_up") != std::string::npos ||
                       part.find("expert_down") != std::string::npos;
  if (!experts) return actual == expected;
  return std::abs(actual - expected) <= 1e-12 * expected;
}

void ExpectSame(const WorkByPart& actual, const WorkByPart& expected) {
  for (const auto& [part, work] : actual) {
    EXPECT_TRUE(expected.contains(part)) << part << ": " << work;
  }
  for (const auto& [part, e] : expected) {
    ASSERT_TRUE(actual.contains(part)) << part << ": " << e;
    const ByteWork& a = actual.at(part);
    const bool same = a.flops == e.flops && a.special == e.special &&
                      SameWeights(part, a.weights, e.weights) &&
                      a.kv_read == e.kv_read && a.kv_write == e.kv_write &&
                      a.in == e.in && a.out == e.out &&
                      a.message == e.message && a.vector == e.vector;
    EXPECT_TRUE(same) << part << "\n  lowered: " << a << "\n  counted: " << e;
  }
}

struct Storage {
  std::optional<Format> weights = {}, activations = {}, kv_cache = {};
};

// So that any format may be asked for.
std::shared_ptr<const model::HardwareProfile> WithEveryUnit() {
  ToyHardware toy;
  for (auto& rate : toy.device.tensor_rates) {
    if (!rate.has_value())
      rate = toy.device.tensor_rates[static_cast<size_t>(Format::kBf16)];
  }
  return toy.Build();
}

// Compares every pass on every rank; returns how many comparisons that were.
int CompareOn(const NamedGraph& named, int tensor, const Storage& storage,
              const std::vector<model::ForwardPass>& passes,
              bool unfused = false) {
  static const auto hardware = WithEveryUnit();
  model::TargetSpec spec = TargetOn(BuildGraph(named.spec), hardware, tensor);
  spec.weights = storage.weights;
  spec.activations = storage.activations;
  spec.kv_cache = storage.kv_cache;
  spec.unfused_attention = unfused;
  const model::Target target = BuildTarget(spec);
  int compared = 0;
  for (size_t i = 0; i < passes.size(); ++i) {
    const WorkByPart lowered = Lowered(target, passes[i]);
    for (int rank = 0; rank < tensor; ++rank) {
      SCOPED_TRACE(::testing::Message() << named.name << ", tensor " << tensor
                                        << ", rank " << rank << ", pass " << i);
      ExpectSame(lowered, Reference(target, passes[i], rank));
      ++compared;
    }
  }
  return compared;
}

TEST(Reference, ClosedFormsAreExact) {
  int compared = 0;
  for (const NamedGraph& graph : ReferenceGraphs()) {
    for (int tensor : {1, 2, 4}) {
      for (Format kv : {Format::kBf16, Format::kFp8E4m3}) {
        compared +=
            CompareOn(graph, tensor, {.kv_cache = kv}, ReferencePasses());
      }
    }
  }
  EXPECT_EQ(compared, kGraphs * (1 + 2 + 4) * 2 * 9);
}

// Scales and packed elements, of operands at their own widths: every format as
// weights alone, as weights and GEMM inputs, and as KV cache.
TEST(Reference, StorageFormatsAreExact) {
  const std::vector<model::ForwardPass> passes = {
      MixedReferencePass(), BuildPass({{model::Role::kPrefill, 2, 3, 4}})};
  int compared = 0;
  for (const NamedGraph& graph : ReferenceGraphs()) {
    for (Format format : model::AllFormats()) {
      for (const Storage& storage :
           {Storage{.weights = format},
            Storage{.weights = format, .activations = format},
            Storage{.kv_cache = format}}) {
        compared += CompareOn(graph, 4, storage, passes);
      }
    }
    // Mixed, and unsharded.
    compared += CompareOn(
        graph, 1, {.weights = Format::kNvfp4, .kv_cache = Format::kFp8E4m3},
        ReferencePasses());
  }
  EXPECT_EQ(compared, kGraphs * (model::kFormatCount * 3 * 4 * 2 + 9));
}

struct OfClass {
  model::LinearClass linear;
  Format weights;
  Format activations;
};

// The graph with formats of its own for the classes that it has.
NamedGraph WithFormats(NamedGraph graph, const std::vector<OfClass>& classes) {
  graph.name += ", mixed";
  for (const OfClass& row : classes) {
    const model::LinearFormats formats = {row.linear, row.weights,
                                          row.activations};
    if (row.linear == model::LinearClass::kHead) {
      if (graph.spec.tied_embeddings) continue;
      graph.spec.formats.push_back(formats);
    }
    for (size_t i = 0; i < graph.spec.layer_kinds.size(); ++i) {
      model::LayerKind& kind = graph.spec.layer_kinds[i];
      // Not in all kinds alike.
      if (i == 1 && row.linear == model::LinearClass::kAttentionOutput)
        continue;
      if (HasLinear(kind, row.linear)) kind.formats.push_back(formats);
    }
  }
  return graph;
}

// Classes in formats of their own, so that what reads a layer's input reads it
// in several; and with inputs that some share.
TEST(Reference, FormatsByClassAreExact) {
  using model::LinearClass;
  const std::vector<model::ForwardPass> passes = {
      MixedReferencePass(), BuildPass({{model::Role::kPrefill, 2, 3, 4}})};
  const std::vector<OfClass> kApart = {
      {LinearClass::kAttentionInput, Format::kFp8E4m3, Format::kFp8E4m3},
      {LinearClass::kAttentionOutput, Format::kBf16, Format::kBf16},
      {LinearClass::kRecurrent, Format::kFp8Block, Format::kFp8Block},
      {LinearClass::kFeedForward, Format::kInt4Group64, Format::kBf16},
      {LinearClass::kExperts, Format::kNvfp4, Format::kNvfp4},
      {LinearClass::kSharedExperts, Format::kFp8E4m3, Format::kFp8E4m3},
      {LinearClass::kLatentExperts, Format::kMxfp8, Format::kMxfp8},
      {LinearClass::kRouter, Format::kInt8, Format::kInt8},
      {LinearClass::kHead, Format::kInt8, Format::kFp8E4m3}};
  const std::vector<OfClass> kShared = {
      {LinearClass::kAttentionInput, Format::kFp8E4m3, Format::kFp8E4m3},
      {LinearClass::kRecurrent, Format::kFp8E4m3, Format::kFp8E4m3},
      {LinearClass::kExperts, Format::kMxfp4, Format::kFp8E4m3},
      {LinearClass::kSharedExperts, Format::kFp8E4m3, Format::kFp8E4m3},
      {LinearClass::kRouter, Format::kFp8E4m3, Format::kFp8E4m3},
      {LinearClass::kHead, Format::kInt4Group32Symmetric, Format::kBf16}};
  int compared = 0;
  for (const NamedGraph& graph : ReferenceGraphs()) {
    for (const std::vector<OfClass>& classes : {kApart, kShared}) {
      const NamedGraph mixed = WithFormats(graph, classes);
      compared += CompareOn(mixed, 1, {}, passes);
      compared += CompareOn(mixed, 2, {.kv_cache = Format::kFp8E4m3}, passes);
    }
  }
  EXPECT_EQ(compared, kGraphs * 2 * (1 + 2) * 2);
}

// Prompts longer than any rule's chunk, with and without a prefix.
TEST(Reference, RecurrentStatesCrossChunks) {
  const std::vector<model::ForwardPass> passes = {
      PrefillPass(1, 300), BuildPass({{model::Role::kPrefill, 2, 70, 3}})};
  int compared = 0;
  for (const NamedGraph& graph : ReferenceGraphs()) {
    const bool recurrent = graph.spec.layer_kinds[0].recurrent.has_value();
    if (recurrent) compared += CompareOn(graph, 2, {}, passes);
  }
  EXPECT_EQ(compared, 12 * 2 * 2);
}

// Fewer drafts than modules, and modules that are used again; beside prompts,
// which stay out.
TEST(Reference, ModulesDraftAfterThePass) {
  int compared = 0;
  for (const NamedGraph& graph : ReferenceGraphs()) {
    const int modules = graph.spec.mtp.modules;
    if (modules == 0) continue;
    std::vector<model::ForwardPass> passes;
    for (int drafts : {1, 2, 5}) {
      for (const model::ForwardPass& pass : ReferencePasses()) {
        if (pass.phase() == model::Phase::kPrefill) continue;
        model::Violations violations;
        passes.push_back(
            *pass.WithDrafting({.draft_tokens = drafts}, modules, violations));
      }
    }
    for (int tensor : {1, 2, 4}) {
      for (const Storage& storage :
           {Storage{}, Storage{.weights = Format::kFp8E4m3,
                       .activations = Format::kFp8E4m3,
                       .kv_cache = Format::kFp8E4m3}}) {
        compared += CompareOn(graph, tensor, storage, passes);
      }
    }
  }
  EXPECT_EQ(compared, 3 * (1 + 2 + 4) * 2 * 3 * 5);
}

TEST(Reference, UnfusedAttentionMovesItsScores) {
  int compared = 0;
  for (const NamedGraph& graph : ReferenceGraphs()) {
    compared += CompareOn(graph, 2, {}, ReferencePasses(), true);
  }
  EXPECT_EQ(compared, kGraphs * 2 * 9);
}

// With an encoder's positions: computed with a prompt's first tokens, cached
// after.
TEST(Reference, CrossAttentionSeesTheEncoder) {
  int compared = 0;
  for (const NamedGraph& graph : ReferenceCrossGraphs()) {
    for (int tensor : {1, 2, 4}) {
      for (const Storage& storage :
           {Storage{}, Storage{.kv_cache = Format::kFp8E4m3},
            Storage{.weights = Format::kFp8E4m3,
            .activations = Format::kFp8E4m3}}) {
        compared += CompareOn(graph, tensor, storage, ReferenceEncoderPasses());
      }
    }
    compared += CompareOn(graph, 1, {}, ReferenceEncoderPasses(), true);
  }
  EXPECT_EQ(compared, 2 * ((1 + 2 + 4) * 3 + 1) * 5);
}

// Where layers and cache share a narrow format, an indexer's products do too.
TEST(Reference, IndexersComputeInTheCachesFormat) {
  int compared = 0;
  for (const NamedGraph& graph : ReferenceGraphs()) {
    compared += CompareOn(graph, 2,
                          {.weights = Format::kFp8E4m3,
                           .activations = Format::kFp8E4m3,
                           .kv_cache = Format::kFp8E4m3},
                          ReferencePasses());
  }
  EXPECT_EQ(compared, kGraphs * 2 * 9);
}

// Tokens in turn, and a histogram that leaves experts out.
TEST(Reference, RoutingDecidesWhichExpertsAreRead) {
  for (const NamedGraph& graph : ReferenceGraphs()) {
    const int experts = BuildGraph(graph.spec)->ExpertCount();
    if (experts == 0) continue;
    std::vector<double> shares(static_cast<size_t>(experts), 0);
    shares[1] = 0.25;
    shares[3] = 3;
    shares[2] = 1e-9;
    for (const ExpertRouting& routing :
         {ExpertRouting{ExpertRouting::Kind::kSpread, {}},
          ExpertRouting{ExpertRouting::Kind::kHistogram, shares}}) {
      std::vector<model::ForwardPass> passes;
      for (const model::ForwardPass& pass : ReferencePasses()) {
        model::Violations violations;
        passes.push_back(*pass.WithRouting(routing, experts, violations));
      }
      EXPECT_EQ(CompareOn(graph, 2, {}, passes), 2 * 9);
    }
  }
}

double SumOf(const WorkByPart& work, double ByteWork::*count) {
  double sum = 0;
  for (const auto& [part, w] : work) sum += w.*count;
  return sum;
}

// The ranks together do the unsharded work, and what is replicated is what the
// layout says: norms, activations' inputs, KV heads shared between ranks.
TEST(Reference, RanksSumToTheUnshardedModel) {
  const auto hardware = ToyHardware().Build();
  const auto graph = BuildGraph(TinyGraph());  // 2 KV heads.
  const model::ForwardPass pass = DecodePass(3, 9);
  const auto whole = Lowered(BuildTarget(TargetOn(graph, hardware, 1)), pass);
  for (int tensor : {2, 4}) {
    const auto part =
        Lowered(BuildTarget(TargetOn(graph, hardware, tensor)), pass);
    for (const char* name : {"o_proj", "up_proj", "down_proj", "lm_head"}) {
      EXPECT_EQ(part.at(name).flops * tensor, whole.at(name).flops) << name;
      EXPECT_EQ(part.at(name).weights * tensor, whole.at(name).weights) << name;
    }
    EXPECT_EQ(part.at("attention").flops * tensor, whole.at("attention").flops);
    // Two KV heads on four ranks: each is held twice.
    const int copies = tensor == 4 ? 2 : 1;
    EXPECT_EQ(part.at("attention").kv_read * tensor,
              whole.at("attention").kv_read * copies);
    EXPECT_EQ(part.at("attention_all_reduce").message, 2.0 * 3 * 16 * 2);
    EXPECT_EQ(part.at("ffn_all_reduce").message, 2.0 * 3 * 16 * 2);
  }
}

TEST(Reference, RanksShareExpertsAndHeadsButNotRouterAndLatents) {
  const auto hardware = ToyHardware().Build();
  const model::ForwardPass pass = MixedReferencePass();
  for (const model::ModelGraphSpec& spec :
       {TinyMoeGraph(), TinyLatentGraph()}) {
    const auto graph = BuildGraph(spec);
    const auto whole = Lowered(BuildTarget(TargetOn(graph, hardware, 1)), pass);
    const auto part = Lowered(BuildTarget(TargetOn(graph, hardware, 4)), pass);
    for (const char* name :
         {"expert_up", "expert_down", "shared_up", "shared_down", "q_proj",
          "kv_expand", "absorb_q", "absorb_v", "o_proj"}) {
      if (!whole.contains(name)) continue;
      EXPECT_DOUBLE_EQ(part.at(name).weights * 4, whole.at(name).weights)
          << name;
      EXPECT_EQ(part.at(name).flops * 4, whole.at(name).flops) << name;
    }
    for (const char* name : {"router", "top_k", "combine", "latent_proj",
                             "q_latent_norm", "kv_latent_norm"}) {
      if (!whole.contains(name)) continue;
      EXPECT_EQ(part.at(name).weights, whole.at(name).weights) << name;
      EXPECT_EQ(part.at(name).flops, whole.at(name).flops) << name;
      EXPECT_EQ(part.at(name).in, whole.at(name).in) << name;
    }
    if (!whole.contains("latent_proj")) continue;
    EXPECT_EQ(SumOf(part, &ByteWork::kv_read),
              SumOf(whole, &ByteWork::kv_read));
    EXPECT_EQ(SumOf(part, &ByteWork::kv_write),
              SumOf(whole, &ByteWork::kv_write));
  }
}

}  // namespace
}  // namespace mansard::testing
