// The importer against published files whose exact counts are known from an
// independent counter. The files live beside the repository, not in it.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "tests/toy/layer_parts.h"

namespace mansard::model {
namespace {

// As many as there were when this was written.
constexpr int kFullyChecked = 30;
constexpr int kQuantized = 4;
constexpr int kUnsupported = 81;

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

std::vector<Row> ReadIndex() {
  const auto lines = ParseCsv(ReadText(Folder() + "index.csv"));
  std::vector<Row> index;
  for (size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].size(), lines[0].size()) << "line " << i;
    Row row;
    for (size_t j = 0; j < std::min(lines[0].size(), lines[i].size()); ++j) {
      row[lines[0][j]] = lines[i][j];
    }
    index.push_back(std::move(row));
  }
  return index;
}

bool IsSupported(const std::string& architecture) {
  const std::vector<std::string> supported = SupportedArchitectures();
  return std::count(supported.begin(), supported.end(), architecture) > 0;
}

class PublishedConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Folder() + "index.csv")) {
      GTEST_SKIP() << "no published files at " << Folder();
    }
  }
};

TEST_F(PublishedConfigTest, CountsAreExact) {
  int checked = 0;
  int quantized = 0;
  int by_side_file = 0;
  for (const Row& row : ReadIndex()) {
    if (!IsSupported(row.at("architecture"))) continue;
    SCOPED_TRACE(row.at("file"));
    const std::string text = ReadText(Folder() + row.at("file"));
    Violations violations;
    const absl::StatusOr<ImportedConfig> imported =
        ImportHuggingFaceConfig(text, violations);
    if (text.find("\"quantization_config\"") != std::string::npos) {
      ++quantized;
      ASSERT_FALSE(imported.ok());
      ASSERT_EQ(violations.all().size(), 1u) << violations.ToStatus();
      EXPECT_EQ(violations.all()[0].field, "quantization_config");
      EXPECT_NE(violations.all()[0].description.find("quant_method"),
                std::string::npos);
      continue;
    }
    ASSERT_TRUE(imported.ok()) << imported.status();
    const ModelGraph& graph = imported->graph;
    EXPECT_EQ(std::to_string(graph.ParameterCount()), row.at("computed_total"));
    EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(),
              std::stod(row.at("kv_bytes_per_token_bf16_all_layers")));
    EXPECT_EQ(std::to_string(graph.layer_count()), row.at("layers"));
    EXPECT_EQ(std::to_string(graph.spec().hidden_size), row.at("hidden"));
    EXPECT_EQ(graph.spec().tied_embeddings,
              row.at("tied_embeddings") == "True");
    for (const std::string& assumption : imported->assumptions) {
      EXPECT_EQ(assumption.find("is not known"), std::string::npos)
          << assumption;
    }
    ++checked;
    if (!row.at("quant").empty()) ++by_side_file;
  }
  std::cout << "exact: " << checked << " files, " << by_side_file
            << " of them quantised by a side file only; refused as quantised: "
            << quantized << "\n";
  EXPECT_GE(checked, kFullyChecked);
  EXPECT_GE(quantized, kQuantized);
}

TEST_F(PublishedConfigTest, OtherArchitecturesAreNamed) {
  int refused = 0;
  for (const Row& row : ReadIndex()) {
    if (IsSupported(row.at("architecture"))) continue;
    SCOPED_TRACE(row.at("file"));
    Violations violations;
    const absl::StatusOr<ImportedConfig> imported = ImportHuggingFaceConfig(
        ReadText(Folder() + row.at("file")), violations);
    ASSERT_FALSE(imported.ok());
    EXPECT_EQ(imported.status().code(), absl::StatusCode::kInvalidArgument);
    const absl::optional<absl::Cord> name =
        imported.status().GetPayload(kUnsupportedArchitecture);
    ASSERT_TRUE(name.has_value()) << imported.status();
    // Three files have no `architectures`: their model type stands in.
    const std::string named(*name);
    EXPECT_TRUE(named == row.at("architecture") ||
                named == row.at("model_type"))
        << named;
    EXPECT_TRUE(violations.empty()) << violations.ToStatus();
    ++refused;
  }
  std::cout << "unsupported: " << refused << " files\n";
  EXPECT_GE(refused, kUnsupported);
}

// The projection is wider than the hidden size.
TEST_F(PublishedConfigTest, Qwen3WithItsOwnHeadSize) {
  Violations violations;
  const absl::StatusOr<ImportedConfig> imported = ImportHuggingFaceConfig(
      ReadText(Folder() + "Qwen__Qwen3-32B.json"), violations);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const ModelGraph& graph = imported->graph;
  EXPECT_EQ(graph.ParameterCount(), 32762123264);
  ASSERT_EQ(graph.spec().layer_kinds.size(), 1u);
  const GroupedQueryAttention& attention =
      GroupedOf(graph.spec().layer_kinds[0]);
  EXPECT_EQ(graph.spec().hidden_size, 5120);
  EXPECT_EQ(attention.query_heads * attention.head_size, 8192);
  EXPECT_TRUE(attention.qk_norm);
}

TEST_F(PublishedConfigTest, MistralV01HasItsWindowInEveryLayer) {
  Violations violations;
  const absl::StatusOr<ImportedConfig> imported = ImportHuggingFaceConfig(
      ReadText(Folder() + "mistralai__Mistral-7B-v0.1.json"), violations);
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->graph.spec().layer_kinds.size(), 1u);
  EXPECT_EQ(imported->graph.spec().layer_kinds[0].name, "window");
  EXPECT_EQ(GroupedOf(imported->graph.spec().layer_kinds[0]).sliding_window,
            4096);
}

}  // namespace
}  // namespace mansard::model
