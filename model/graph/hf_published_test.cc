// The importer against published files whose exact counts are known from an
// independent counter, and against what an engine's own tests expect of some
// of them. The files live beside the repository, not in it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "tests/toy/layer_parts.h"

namespace mansard::model {
namespace {

// As many as there were when this was written.
constexpr int kFiles = 115;
constexpr int kCounted = 114;  // Kimi K3 has no reference.
constexpr int kWithTruth = 12;

const std::string& Folder() {
  static const auto* const kFolder =
      new std::string(MANSARD_SOURCE_DIR "/../shared/model_configs/");
  return *kFolder;
}

std::string ReadText(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// RFC 4180: quoted fields may hold commas, line ends and doubled quotes.
std::vector<std::vector<std::string>> ParseCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ',' || c == '\n')) {
      row.push_back(std::move(field));
      field.clear();
      if (c == '\n') {
        rows.push_back(std::move(row));
        row.clear();
      }
    } else if (c != '\r') {
      field += c;
    }
  }
  return rows;
}

using Row = std::map<std::string, std::string>;

std::vector<Row> ReadTable(const std::string& name) {
  const auto lines = ParseCsv(ReadText(Folder() + name));
  std::vector<Row> table;
  for (size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].size(), lines[0].size()) << name << " line " << i;
    Row row;
    for (size_t j = 0; j < std::min(lines[0].size(), lines[i].size()); ++j) {
      row[lines[0][j]] = lines[i][j];
    }
    table.push_back(std::move(row));
  }
  return table;
}

// Where we count otherwise than the index, by file and column.
struct Disagreement {
  const char* file;
  const char* column;
  int64_t ours;
  // What it rests on.
  const char* reason;
};

constexpr Disagreement kDisagreements[] = {
    {"meta-llama__Llama-3.2-11B-Vision.json",
     "computed_active_minus_embeddings", 8724486160,
     "the 8 rows of 4096 beyond the vocabulary are rows of the embedding table "
     "like the others; the index leaves out the vocabulary's alone"},
    {"zai-org__GLM-4.5-Air.json", "computed_mtp_extra", 2375059456,
     "the index counts the 128 correction biases of this router, which it "
     "leaves out in every other layer and file"},
    {"deepseek-ai__DeepSeek-V4-Flash.json", "computed_mtp_extra", 6610048635,
     "the file declares one module (num_nextn_predict_layers, and a last entry "
     "of compress_ratios); the index leaves it out"},
};

std::string Expected(const Row& row, const std::string& column) {
  for (const Disagreement& known : kDisagreements) {
    if (row.at("file") == known.file && column == known.column) {
      return std::to_string(known.ours);
    }
  }
  return row.at(column);
}

std::string Whole(Bytes bytes) {
  return std::to_string(static_cast<int64_t>(bytes.value()));
}

ImportedConfig ImportFile(const std::string& file) {
  Violations violations;
  absl::StatusOr<ImportedConfig> imported =
      ImportHuggingFaceConfig(ReadText(Folder() + file), violations);
  EXPECT_TRUE(imported.ok()) << file << ": " << imported.status();
  return *std::move(imported);
}

class PublishedConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Folder() + "index.csv")) {
      GTEST_SKIP() << "no published files at " << Folder();
    }
  }
};

// What the index has columns for.
Row Counts(const ModelGraph& graph) {
  return {
      {"computed_total", std::to_string(graph.ParameterCount())},
      {"computed_active", std::to_string(graph.ActiveParameterCount())},
      {"computed_active_minus_embeddings",
       std::to_string(graph.ActiveParameterCountWithoutEmbeddings())},
      {"computed_mtp_extra", std::to_string(graph.MtpParameterCount())},
      {"layers", std::to_string(graph.layer_count())},
      {"hidden", std::to_string(graph.spec().hidden_size)},
      {"vocab", std::to_string(graph.spec().vocabulary_size)},
      {"tied_embeddings", graph.spec().tied_embeddings ? "True" : "False"},
      {"kv_bytes_per_token_bf16_all_layers",
       Whole(graph.KvBytesPerToken(Format::kBf16))},
      {"kv_bytes_per_token_bf16_unbounded_layers",
       Whole(graph.UnboundedKvBytesPerToken(Format::kBf16))},
  };
}

TEST_F(PublishedConfigTest, EveryFileImportsExactly) {
  int files = 0;
  int counted = 0;
  for (const Row& row : ReadTable("index.csv")) {
    SCOPED_TRACE(row.at("file"));
    Violations violations;
    const absl::StatusOr<ImportedConfig> imported = ImportHuggingFaceConfig(
        ReadText(Folder() + row.at("file")), violations);
    ASSERT_TRUE(imported.ok()) << imported.status();
    ++files;
    for (const std::string& assumption : imported->assumptions) {
      EXPECT_EQ(assumption.find("is not known"), std::string::npos)
          << assumption;
    }
    if (row.at("computed_total").empty()) continue;
    ++counted;
    for (const auto& [column, value] : Counts(imported->graph)) {
      EXPECT_EQ(value, Expected(row, column)) << column;
    }
    const std::string& indexer = row.at("indexer_key_bytes_per_token_bf16");
    EXPECT_EQ(imported->graph.IndexerBytesPerToken(Format::kBf16).value(),
              indexer.empty() ? 0 : std::stod(indexer));
  }
  std::cout << "imported: " << files << " files, exact: " << counted << "\n";
  EXPECT_GE(files, kFiles);
  EXPECT_GE(counted, kCounted);
}

// A disagreement that is none any more has to go.
TEST_F(PublishedConfigTest, DisagreementsAreStillThere) {
  const std::vector<Row> index = ReadTable("index.csv");
  for (const Disagreement& known : kDisagreements) {
    const auto row = std::find_if(
        index.begin(), index.end(),
        [&known](const Row& r) { return r.at("file") == known.file; });
    ASSERT_NE(row, index.end()) << known.file;
    EXPECT_NE(row->at(known.column), std::to_string(known.ours)) << known.file;
  }
}

// What the engine's tests call head size and KV heads: of the first layer with
// attention; for latent attention the width of one cached entry, with as many
// KV heads as the file says.
struct Heads {
  int query = 0;
  int64_t size = 0;
  int64_t kv = -1;  // Not to be compared.
};

Heads HeadsOf(const ModelGraphSpec& spec) {
  for (const int index : spec.layer_kind_indexes) {
    const auto& attention =
        spec.layer_kinds[static_cast<size_t>(index)].attention;
    if (!attention.has_value()) continue;
    if (const auto* g = std::get_if<GroupedQueryAttention>(&*attention)) {
      return {g->query_heads, g->head_size, g->kv_heads};
    }
    if (const auto* l = std::get_if<LatentAttention>(&*attention)) {
      return {l->query_heads, KvElementsPerEntry(*l), -1};
    }
  }
  return {};
}

// By the models' names, where names in the table differ from files' ones.
std::string FileOf(const std::string& model) {
  static const auto* const kOthers = new std::map<std::string, std::string>{
      {"databricks/dbrx-instruct", "mlx-community/dbrx-instruct-4bit"},
      {"lmsys/gpt-oss-20b-bf16", "openai/gpt-oss-20b"},
      {"deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-ai/DeepSeek-V3.2"},
      {"XiaomiMiMo/MiMo-7B-RL", "XiaomiMiMo/MiMo-7B-Base"},
  };
  const auto other = kOthers->find(model);
  std::string file = other == kOthers->end() ? model : other->second;
  file.replace(file.find('/'), 1, "__");
  return file + ".json";
}

TEST_F(PublishedConfigTest, AgreesWithAnEnginesExpectations) {
  int compared = 0;
  for (const Row& row : ReadTable("arch_groundtruth_vllm.csv")) {
    const std::string file = FileOf(row.at("model"));
    if (!std::filesystem::exists(Folder() + file)) continue;
    SCOPED_TRACE(file);
    const ImportedConfig imported = ImportFile(file);
    const ModelGraphSpec& spec = imported.graph.spec();
    EXPECT_EQ(std::to_string(spec.hidden_size), row.at("hidden_size"));
    EXPECT_EQ(std::to_string(imported.graph.layer_count()),
              row.at("num_hidden_layers"));
    EXPECT_EQ(std::to_string(spec.vocabulary_size), row.at("vocab_size"));
    // The engine does not look into DBRX's inner objects.
    if (row.at("model_type") != "dbrx") {
      EXPECT_EQ(std::to_string(imported.graph.ExpertCount()),
                row.at("num_experts"));
    }
    const Heads heads = HeadsOf(spec);
    EXPECT_EQ(std::to_string(heads.query), row.at("num_attention_heads"));
    EXPECT_EQ(std::to_string(heads.size), row.at("head_size"));
    const bool nas = row.at("model_type") == "nemotron-nas";
    if (heads.kv >= 0 && !nas) {
      EXPECT_EQ(std::to_string(heads.kv), row.at("num_kv_heads"));
    }
    ++compared;
  }
  std::cout << "compared with an engine's expectations: " << compared << "\n";
  EXPECT_GE(compared, kWithTruth);
}

// The projection is wider than the hidden size.
TEST_F(PublishedConfigTest, Qwen3WithItsOwnHeadSize) {
  const ImportedConfig imported = ImportFile("Qwen__Qwen3-32B.json");
  const ModelGraph& graph = imported.graph;
  EXPECT_EQ(graph.ParameterCount(), 32762123264);
  ASSERT_EQ(graph.spec().layer_kinds.size(), 1u);
  const GroupedQueryAttention& attention =
      GroupedOf(graph.spec().layer_kinds[0]);
  EXPECT_EQ(graph.spec().hidden_size, 5120);
  EXPECT_EQ(attention.query_heads * attention.head_size, 8192);
  EXPECT_EQ(attention.qk_norm, QkNorm::kPerHead);
}

TEST_F(PublishedConfigTest, Llama31And8x7b) {
  EXPECT_EQ(
      ImportFile("meta-llama__Meta-Llama-3.1-70B.json").graph.ParameterCount(),
      70553706496);
  const ImportedConfig mixtral =
      ImportFile("mistralai__Mixtral-8x7B-v0.1.json");
  EXPECT_EQ(mixtral.graph.ParameterCount(), 46702792704);
  EXPECT_EQ(mixtral.graph.ActiveParameterCount(), 12879925248);
}

TEST_F(PublishedConfigTest, MistralV01HasItsWindowInEveryLayer) {
  const ImportedConfig imported = ImportFile("mistralai__Mistral-7B-v0.1.json");
  ASSERT_EQ(imported.graph.spec().layer_kinds.size(), 1u);
  EXPECT_EQ(imported.graph.spec().layer_kinds[0].name, "window");
  EXPECT_EQ(GroupedOf(imported.graph.spec().layer_kinds[0]).sliding_window,
            4096);
}

}  // namespace
}  // namespace mansard::model
