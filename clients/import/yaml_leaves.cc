#include "clients/import/yaml_leaves.h"

#include <yaml.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mansard::importing {
namespace {

constexpr size_t kMaxLeaves = 10'000;
constexpr int kMaxDepth = 32;

// A loaded document; frees it.
class Document {
 public:
  Document() { yaml_parser_initialize(&parser_); }
  ~Document() {
    if (loaded_) yaml_document_delete(&document_);
    yaml_parser_delete(&parser_);
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  absl::Status Load(absl::string_view text) {
    yaml_parser_set_input_string(
        &parser_, reinterpret_cast<const unsigned char*>(text.data()),
        text.size());
    if (yaml_parser_load(&parser_, &document_) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          parser_.problem_mark.line + 1, ":", parser_.problem_mark.column + 1,
          ": ", parser_.problem == nullptr ? "no YAML" : parser_.problem));
    }
    loaded_ = true;
    return absl::OkStatus();
  }

  yaml_node_t* Root() { return yaml_document_get_root_node(&document_); }
  yaml_node_t* Node(int index) {
    return yaml_document_get_node(&document_, index);
  }

 private:
  yaml_parser_t parser_;
  yaml_document_t document_;
  bool loaded_ = false;
};

std::string ScalarOf(const yaml_node_t& node) {
  std::string text(reinterpret_cast<const char*>(node.data.scalar.value),
                   node.data.scalar.length);
  const bool plain = node.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  return plain && (text.empty() || text == "~") ? "null" : text;
}

class Flattener {
 public:
  explicit Flattener(Document& document) : document_(document) {}

  absl::Status Add(const std::string& path, yaml_node_t& node, int depth) {
    if (depth > kMaxDepth || leaves_.size() > kMaxLeaves) {
      return absl::InvalidArgumentError(absl::StrCat(
          node.start_mark.line + 1, ":", node.start_mark.column + 1,
          ": more than ", kMaxLeaves, " values or ", kMaxDepth, " levels"));
    }
    switch (node.type) {
      case YAML_MAPPING_NODE:
        return AddMap(path, node, depth);
      case YAML_SEQUENCE_NODE:
        return AddList(path, node, depth);
      case YAML_SCALAR_NODE:
        leaves_.emplace_back(path, ScalarOf(node));
        return absl::OkStatus();
      case YAML_NO_NODE:
        break;
    }
    return absl::OkStatus();
  }

  YamlLeaves Take() { return std::move(leaves_); }

 private:
  absl::Status AddMap(const std::string& path, yaml_node_t& node, int depth) {
    const auto& pairs = node.data.mapping.pairs;
    if (pairs.start == pairs.top && !path.empty()) {
      leaves_.emplace_back(path, "{}");
    }
    for (const yaml_node_pair_t* pair = pairs.start; pair != pairs.top;
         ++pair) {
      yaml_node_t* const key = document_.Node(pair->key);
      if (key->type != YAML_SCALAR_NODE) {
        return absl::InvalidArgumentError(
            absl::StrCat(key->start_mark.line + 1, ":",
                         key->start_mark.column + 1, ": a key is no word"));
      }
      const std::string name = ScalarOf(*key);
      const absl::Status added =
          Add(path.empty() ? name : absl::StrCat(path, ".", name),
              *document_.Node(pair->value), depth + 1);
      if (!added.ok()) return added;
    }
    return absl::OkStatus();
  }

  absl::Status AddList(const std::string& path, yaml_node_t& node, int depth) {
    const auto& items = node.data.sequence.items;
    bool all_scalars = true;
    std::string joined;
    for (const yaml_node_item_t* item = items.start; item != items.top;
         ++item) {
      const yaml_node_t& one = *document_.Node(*item);
      all_scalars = all_scalars && one.type == YAML_SCALAR_NODE;
      if (!all_scalars) break;
      absl::StrAppend(&joined, joined.empty() ? "" : ",", ScalarOf(one));
    }
    if (all_scalars) {
      leaves_.emplace_back(path, items.start == items.top ? "[]" : joined);
      return absl::OkStatus();
    }
    int number = 0;
    for (const yaml_node_item_t* item = items.start; item != items.top;
         ++item) {
      const absl::Status added = Add(absl::StrCat(path, ".", number++),
                                     *document_.Node(*item), depth + 1);
      if (!added.ok()) return added;
    }
    return absl::OkStatus();
  }

  Document& document_;
  YamlLeaves leaves_;
};

}  // namespace

absl::StatusOr<YamlLeaves> ReadYamlLeaves(absl::string_view text) {
  Document document;
  const absl::Status loaded = document.Load(text);
  if (!loaded.ok()) return loaded;
  yaml_node_t* const root = document.Root();
  if (root == nullptr) return YamlLeaves();
  if (root->type != YAML_MAPPING_NODE) {
    return absl::InvalidArgumentError("1:1: the text is no map of keys");
  }
  Flattener flattener(document);
  const absl::Status added = flattener.Add("", *root, 0);
  if (!added.ok()) return added;
  return flattener.Take();
}

}  // namespace mansard::importing
