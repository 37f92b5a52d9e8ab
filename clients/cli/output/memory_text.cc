#include "clients/cli/output/memory_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mansard::cli {
namespace {

// Of the line's label and the spaces around it.
constexpr int kIndent = 12;

std::string InBytes(int64_t count) {
  return WithUnit(static_cast<double>(count), Unit::kBytes);
}

// `phrases` one after another, in lines that break between them alone.
std::string Labelled(absl::string_view label,
                     const std::vector<std::string>& phrases) {
  std::string text = absl::StrFormat("  %-*s", kIndent - 2, label);
  size_t line = 0;  // Where the last one starts.
  for (const std::string& phrase : phrases) {
    if (&phrase != &phrases.front()) {
      if (text.size() - line + 1 + phrase.size() > kMaxWidth) {
        text += "\n";
        line = text.size();
        text.append(kIndent, ' ');
      } else {
        text += " ";
      }
    }
    text += phrase;
  }
  return text + "\n";
}

int64_t NeededBytes(const v1::MemoryFootprint& memory) {
  return memory.budget_bytes() - memory.free_bytes();
}

std::vector<std::string> HeldPhrases(const v1::MemoryFootprint& memory) {
  std::vector<std::string> phrases;
  const auto add = [&](int64_t bytes, absl::string_view name) {
    if (bytes <= 0) return;
    phrases.push_back(
        absl::StrCat(phrases.empty() ? "" : "+ ", InBytes(bytes), " ", name));
  };
  add(memory.weight_bytes(), "weights");
  add(memory.weight_padding_bytes(), "padding");
  add(memory.other_weights_bytes(), "other weights");
  add(memory.kv_cache_bytes(), "KV cache");
  add(memory.state_bytes(), "states");
  add(memory.paging_bytes(), "in part-filled pages");
  add(memory.workspace_bytes(), "workspace");
  add(memory.communication_bytes() + memory.reserved_bytes(), "reserve");
  const std::string whole =
      memory.budget_bytes() == memory.capacity_bytes()
          ? ""
          : absl::StrCat(" (", InBytes(memory.capacity_bytes()), ")");
  phrases.push_back(absl::StrCat("= ", InBytes(NeededBytes(memory)), " of ",
                                 InBytes(memory.budget_bytes()), whole,
                                 " a device"));
  return phrases;
}

// What all requests together have, and the longest of them.
struct Tokens {
  double all = 0;
  int64_t longest = 0;
};
Tokens TokensOf(const v1::ForwardPass& pass) {
  Tokens tokens;
  for (const auto& group : pass.groups()) {
    const int64_t context =
        group.prior_token_count() + int64_t{group.new_token_count()};
    tokens.all += static_cast<double>(group.request_count()) *
                  static_cast<double>(context);
    tokens.longest = std::max(tokens.longest, context);
  }
  return tokens;
}

std::vector<std::string> RoomPhrases(const v1::MemoryFootprint& memory,
                                     const v1::ForwardPass& pass) {
  const Tokens tokens = TokensOf(pass);
  std::string room = absl::StrCat(
      "room for ", Grouped(memory.kv_token_capacity_count()), " KV tokens");
  if (!memory.no_token_reason().empty()) {
    absl::StrAppend(&room, " (", memory.no_token_reason(), ")");
  }
  std::vector<std::string> phrases = {
      absl::StrCat(room, ", ", Grouped(tokens.all, 0), " used;"),
      absl::StrCat("for ", Grouped(int64_t{memory.max_request_count()}),
                   " requests of ", Grouped(tokens.longest), " tokens")};
  if (memory.max_context_token_count() > 0) {
    phrases.back() += ";";
    phrases.push_back(absl::StrCat("for contexts up to ",
                                   Grouped(memory.max_context_token_count())));
  }
  return phrases;
}

// Empty for a kind that this program does not know: a newer server's.
std::string FlagOf(const v1::MemoryFootprint::Remedy& remedy) {
  const struct {
    const char* kind;
    const char* flag;
  } kFlags[] = {
      {"tensor_size", "--tp"},     {"pipeline_size", "--pp"},
      {"data_size", "--dp"},       {"weights", "--weights"},
      {"kv_cache", "--kv"},        {"context_token_count", "--context"},
      {"request_count", "--batch"}};
  for (const auto& known : kFlags) {
    if (remedy.kind() == known.kind) return known.flag;
  }
  return "";
}

std::string RemedyLines(const v1::MemoryFootprint& memory) {
  if (memory.fits()) return "";
  std::string lines;
  for (const v1::MemoryFootprint::Remedy& remedy : memory.remedies()) {
    const std::string flag = FlagOf(remedy);
    if (flag.empty()) continue;
    absl::StrAppend(&lines,
                    Labelled(lines.empty() ? "fits with" : "",
                             {absl::StrCat(flag, " ", remedy.value(), ": ",
                                           InBytes(remedy.needed_bytes()))}));
  }
  if (!lines.empty()) return lines;
  return Labelled(
      "fits with",
      {"no single change of devices in a node, formats, context or batch"});
}

}  // namespace

std::string FitText(const v1::MemoryFootprint& memory, const Style& style) {
  if (memory.fits()) return style.Paint(Tone::kGood, "fits");
  return style.Paint(Tone::kBad, absl::StrCat("DOES NOT FIT, short of ",
                                              InBytes(-memory.free_bytes())));
}

std::string MemoryText(const v1::MemoryFootprint& memory,
                       const v1::ForwardPass& pass) {
  return absl::StrCat(Labelled("memory", HeldPhrases(memory)),
                      Labelled("", RoomPhrases(memory, pass)),
                      RemedyLines(memory));
}

Report MemoryReport(const v1::MemoryFootprint& memory) {
  Report report{{{"part", Unit::kNone, Align::kLeft},
                 {"of", Unit::kNone, Align::kLeft},
                 {"bytes", Unit::kBytes},
                 {"a token", Unit::kNone, Align::kRight, "bytes_per_token"},
                 {"paged", Unit::kBytes},
                 {"share", Unit::kPercent}},
                {}};
  const auto budget = static_cast<double>(memory.budget_bytes());
  const auto add = [&](absl::string_view part, absl::string_view of,
                       int64_t bytes, double token, int64_t paged) {
    if (bytes == 0) return;
    const auto taken = static_cast<double>(paged > 0 ? paged : bytes);
    report.rows.push_back(
        {Text(part), Text(of), Number(static_cast<double>(bytes)),
         NumberOrNothing(token), NumberOrNothing(static_cast<double>(paged)),
         Number(budget > 0 ? taken / budget : 0)});
  };
  for (const auto& row : memory.weight_classes()) {
    add("weights", row.tensor_class(), row.bytes(), 0, 0);
  }
  add("weights", "padding", memory.weight_padding_bytes(), 0, 0);
  add("weights", "other", memory.other_weights_bytes(), 0, 0);
  for (const auto& row : memory.layer_caches()) {
    add("cache", row.layer_kind(),
        row.kv_cache_bytes() + row.indexer_bytes() + row.state_bytes(),
        row.bytes_per_token(), row.paged_bytes());
  }
  add("cache", "drafting", memory.draft_kv_cache_bytes(), 0, 0);
  add("workspace", "", memory.workspace_bytes(), 0, 0);
  add("reserve", "collectives", memory.communication_bytes(), 0, 0);
  add("reserve", "framework", memory.reserved_bytes(), 0, 0);
  add("needed", "", NeededBytes(memory), 0, 0);
  add("budget", "", memory.budget_bytes(), 0, 0);
  return report;
}

}  // namespace mansard::cli
