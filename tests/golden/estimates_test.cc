// A fixed set of answers over models, devices, kernel stacks, formats, layouts
// and passes, against tests/golden/estimates.txt. A change of more than
// kTolerance in any of them is to be explained where the file is updated
// (UPDATE_GOLDENS=1).

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/io/shipped.h"

namespace mansard::testing {
namespace {

using model::Format;
using model::Parallelism;
using model::RequestGroup;
using model::Role;

constexpr double kTolerance = 1e-3;
constexpr char kPath[] = MANSARD_SOURCE_DIR "/tests/golden/estimates.txt";

struct Machine {
  const char* hardware;
  const char* stack;  // "": the first.
};
struct Model {
  const char* graph;
  Parallelism layout;
};
struct Pass {
  const char* name;
  std::vector<RequestGroup> groups;
};

std::vector<Machine> Machines() {
  return {{"a100-sxm-80gb", "vllm-0.14"},
          {"h100-sxm", ""},
          {"h100-sxm", "vllm-0.24"},
          {"h200-sxm", "trtllm-1.3.0rc20"},
          {"b200-sxm", "sglang-0.5.14"},
          {"gb200", "vllm-0.24"},
          {"mi300x", ""},
          {"l40s", ""}};
}

std::vector<Model> Models() {
  return {{"llama-3.1-8b", {.tensor = 1}},
          {"llama-3.1-70b", {.tensor = 8}},
          {"qwen3-32b", {.tensor = 4}},
          {"qwen3-30b-a3b", {.tensor = 2, .expert = 2}},
          {"gpt-oss-120b", {.tensor = 4}},
          {"deepseek-v3", {.tensor = 8}},
          {"deepseek-v3", {.tensor = 1, .expert = 8, .data = 8}},
          {"llama-3.1-70b", {.tensor = 4, .pipeline = 2}}};
}

std::vector<Pass> Passes() {
  return {{"decode-1", {{Role::kDecode, 1, 1, 1023}}},
          {"decode-64", {{Role::kDecode, 64, 1, 4095}}},
          {"prefill", {{Role::kPrefill, 2, 2048, 0}}},
          {"mixed",
           {{Role::kPrefill, 1, 512, 1536}, {Role::kDecode, 32, 1, 2047}}}};
}

std::string Key(const Machine& machine, const Model& model, const Pass& pass) {
  return absl::StrCat(
      model.graph, " tp", std::max(1, model.layout.tensor), " dp",
      std::max(1, model.layout.data), " ep", std::max(1, model.layout.expert),
      " pp", std::max(1, model.layout.pipeline), " on ", machine.hardware, " ",
      *machine.stack == '\0' ? "first" : machine.stack, ", ", pass.name);
}

// Microseconds of estimate, floor, p10 and p90; or why there is no answer.
std::string Answer(const model::ShippedData& data, const Machine& machine,
                   const Model& model, const Pass& pass) {
  const auto& hardware = data.profiles.at(machine.hardware);
  const auto graph = data.graphs.find(model.graph);
  if (graph == data.graphs.end()) return "no such model";
  const model::KernelStack* stack = hardware->FindStack(machine.stack);
  if (stack == nullptr) return "no such stack";
  model::Violations violations;
  const auto target = model::Target::Create({.graph = graph->second,
                                             .hardware = hardware,
                                             .fabric = &hardware->fabrics()[0],
                                             .stack = stack,
                                             .parallelism = model.layout,
                                             .weights = {},
                                             .activations = {},
                                             .kv_cache = {},
                                             .state = {},
                                             .linears = {},
                                             .kv_heads = {}},
                                            violations);
  if (!target.ok()) return std::string(target.status().message());
  const auto built = model::ForwardPass::Create(
      {pass.groups.begin(), pass.groups.end()},
      target->graph().spec().max_context, violations);
  if (!built) return std::string(violations.ToStatus().message());
  const model::PhaseEstimate phase = model::EstimatePass(*target, *built).phase;
  return absl::StrFormat("%.6g %.6g %.6g %.6g", ToMicroseconds(phase.estimate),
                         ToMicroseconds(phase.floor), ToMicroseconds(phase.p10),
                         ToMicroseconds(phase.p90));
}

std::map<std::string, std::string> Answers() {
  const model::ShippedData data = *model::LoadShippedData();
  std::map<std::string, std::string> answers;
  for (const Machine& machine : Machines()) {
    for (const Model& model : Models()) {
      for (const Pass& pass : Passes()) {
        answers[Key(machine, model, pass)] = Answer(data, machine, model, pass);
      }
    }
  }
  return answers;
}

void ExpectClose(const std::string& key, const std::string& now,
                 const std::string& before) {
  const std::vector<std::string> got = absl::StrSplit(now, ' ');
  const std::vector<std::string> want = absl::StrSplit(before, ' ');
  ASSERT_EQ(got.size(), want.size())
      << key << ": " << now << "\nbefore " << before;
  for (size_t i = 0; i < got.size(); ++i) {
    double a = 0;
    double b = 0;
    if (!absl::SimpleAtod(got[i], &a) || !absl::SimpleAtod(want[i], &b)) {
      EXPECT_EQ(got[i], want[i]) << key << ": " << now << "\nbefore " << before;
      continue;
    }
    EXPECT_LE(std::abs(a - b), kTolerance * std::abs(b))
        << key << ": " << now << "\nbefore " << before;
  }
}

TEST(Estimates, StayAsRecorded) {
  const std::map<std::string, std::string> answers = Answers();
  if (std::getenv("UPDATE_GOLDENS") != nullptr) {
    std::ofstream file(kPath);
    file << "# model and layout on device and stack, pass: microseconds of "
            "estimate, floor, p10, p90\n";
    for (const auto& [key, answer] : answers)
      file << key << ": " << answer << "\n";
    return;
  }
  std::ifstream file(kPath);
  ASSERT_TRUE(file) << "no golden " << kPath;
  size_t recorded = 0;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    ASSERT_EQ(parts.size(), 2u) << line;
    const auto found = answers.find(parts[0]);
    ASSERT_NE(found, answers.end()) << parts[0] << " is asked no more";
    ExpectClose(parts[0], found->second, parts[1]);
    ++recorded;
  }
  EXPECT_EQ(recorded, answers.size());
}

}  // namespace
}  // namespace mansard::testing
