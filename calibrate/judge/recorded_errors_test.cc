// The shipped stacks against the measured tables, where they are at hand: no
// group's error rises unseen. UPDATE_GOLDENS=1 writes the errors of today.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "calibrate/judge/validation.h"
#include "calibrate/tables/tables.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

constexpr char kMeasured[] = MANSARD_SOURCE_DIR "/../shared/measured";
constexpr char kRecorded[] =
    MANSARD_SOURCE_DIR "/calibrate/judge/recorded_errors.txt";
// Percentage points.
constexpr double kRise = 0.5;
constexpr char kHeader[] =
    "# Mean errors, in percent, of held-out rows that targets are about.\n"
    "# recorded_errors_test.cc: UPDATE_GOLDENS=1 rewrites them; by tabs:\n"
    "# table, device, framework, version, slice, stack, error.\n";

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)),
                     std::istreambuf_iterator<char>());
}

// All that some reader knows, by name.
std::vector<MeasuredText> KnownTables() {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(kMeasured)) {
    if (entry.path().extension() != ".csv") continue;
    std::string text = TextOf(entry.path());
    if (!ReadMeasured(absl::string_view(text).substr(0, text.find('\n')))
             .ok()) {
      continue;
    }
    texts[entry.path().filename().string()] = std::move(text);
  }
  std::vector<MeasuredText> tables;
  for (auto& [name, text] : texts) tables.push_back({name, std::move(text)});
  return tables;
}

// A line without stack and error: another stack may answer tomorrow.
std::string KeyOf(const Judgement& one) {
  return absl::StrJoin(
      {one.table, one.device, one.framework, one.version, one.slice}, "\t");
}

std::map<std::string, double> ReadRecorded() {
  std::map<std::string, double> recorded;
  for (const absl::string_view line : absl::StrSplit(TextOf(kRecorded), '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    double error = 0;
    if (cells.size() != 7 || !absl::SimpleAtod(cells[6], &error)) {
      ADD_FAILURE() << kRecorded << ": not a record: " << line;
      continue;
    }
    recorded[absl::StrJoin(cells.begin(), cells.begin() + 5, "\t")] = error;
  }
  return recorded;
}

void WriteRecorded(const std::vector<Judgement>& judgements) {
  std::map<std::string, std::string> lines;
  for (const Judgement& one : judgements) {
    lines[KeyOf(one)] = absl::StrFormat("%s\t%s\t%.2f\n", KeyOf(one), one.stack,
                                        100 * one.in_target.mean);
  }
  std::ofstream file(kRecorded, std::ios::binary);
  file << kHeader;
  for (const auto& [key, line] : lines) file << line;
}

TEST(RecordedErrors, DoNotRise) {
  if (!std::filesystem::exists(kMeasured)) {
    GTEST_SKIP() << kMeasured << " is not here: nothing to judge by";
  }
  const auto validation = Validate(KnownTables(), {});
  ASSERT_TRUE(validation.ok()) << validation.status().message();
  std::vector<Judgement> judgements;
  for (const Judgement& one : validation->judgements) {
    if (one.in_target.rows > 0) judgements.push_back(one);
  }
  if (std::getenv("UPDATE_GOLDENS") != nullptr) {
    WriteRecorded(judgements);
    return;
  }
  std::map<std::string, double> recorded = ReadRecorded();
  for (const Judgement& one : judgements) {
    const auto found = recorded.find(KeyOf(one));
    if (found == recorded.end()) {
      ADD_FAILURE() << KeyOf(one) << " is not recorded";
      continue;
    }
    EXPECT_LE(100 * one.in_target.mean, found->second + kRise) << KeyOf(one);
    recorded.erase(found);
  }
  for (const auto& [key, error] : recorded) {
    ADD_FAILURE() << key << " has no answered rows any more";
  }
}

}  // namespace
}  // namespace mansard::calibrate
