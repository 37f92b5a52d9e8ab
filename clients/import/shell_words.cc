#include "clients/import/shell_words.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mansard::importing {
namespace {

class Splitter {
 public:
  explicit Splitter(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<std::string>> Run() {
    while (at_ < text_.size()) {
      const absl::Status taken = Take(text_[at_++]);
      if (!taken.ok()) return taken;
    }
    EndWord();
    return words_;
  }

 private:
  absl::Status Take(char c) {
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      EndWord();
      return absl::OkStatus();
    }
    if (c == '#' && !in_word_) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      return absl::OkStatus();
    }
    if (c == '|' || c == '&' || c == ';' || c == '>' || c == '<') {
      return absl::InvalidArgumentError(
          absl::StrCat("has \"", std::string(1, c),
                       "\" outside of quotes; allowed: one command, without "
                       "pipes or redirections"));
    }
    if (c == '\\') {
      TakeEscaped();
      return absl::OkStatus();
    }
    in_word_ = true;
    if (c == '\'' || c == '"') return TakeQuoted(c);
    word_ += c;
    return absl::OkStatus();
  }

  void TakeEscaped() {
    if (at_ == text_.size()) return;
    const char next = text_[at_++];
    if (next == '\n') return;
    in_word_ = true;
    word_ += next;
  }

  absl::Status TakeQuoted(char quote) {
    const size_t begin = at_ - 1;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == quote) return absl::OkStatus();
      if (c != '\\' || quote == '\'' || at_ == text_.size()) {
        word_ += c;
        continue;
      }
      const char next = text_[at_++];
      if (next == '\n') continue;
      if (next != '"' && next != '\\' && next != '$' && next != '`') {
        word_ += c;
      }
      word_ += next;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "has a quote that is not closed: ", text_.substr(begin, 40)));
  }

  void EndWord() {
    if (in_word_) words_.push_back(word_);
    word_.clear();
    in_word_ = false;
  }

  absl::string_view text_;
  size_t at_ = 0;
  std::vector<std::string> words_;
  std::string word_;
  bool in_word_ = false;  // An empty quoted word is one.
};

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitShellWords(
    absl::string_view text) {
  return Splitter(text).Run();
}

}  // namespace mansard::importing
