#include "server/process_metrics.h"

#include <dirent.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace mansard::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

std::string ReadFile(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

MetricFamily Family(const char* name, const char* help, MetricType type,
                    double value) {
  MetricFamily family{name, help, type, {{}}};
  if (type == MetricType::Counter) {
    family.metric[0].counter.value = value;
  } else {
    family.metric[0].gauge.value = value;
  }
  return family;
}

// Fields of /proc/self/stat after the program's name, which may hold spaces.
// Index 0 is field 3 of proc(5).
std::vector<double> StatFields() {
  const std::string text = ReadFile("/proc/self/stat");
  const size_t name_end = text.rfind(')');
  std::vector<double> fields;
  if (name_end == std::string::npos) return fields;
  for (absl::string_view word :
       absl::StrSplit(absl::string_view(text).substr(name_end + 1), ' ',
                      absl::SkipWhitespace())) {
    double value = 0;
    fields.push_back(absl::SimpleAtod(word, &value) ? value : 0);
  }
  return fields;
}

// Seconds since the epoch at which the machine started; 0: unknown.
double BootTime() {
  for (absl::string_view line : absl::StrSplit(ReadFile("/proc/stat"), '\n')) {
    double value = 0;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() == 2 && words[0] == "btime" &&
        absl::SimpleAtod(words[1], &value)) {
      return value;
    }
  }
  return 0;
}

// Open file descriptors, without the one that counts them; -1: unknown.
int OpenFiles() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return -1;
  int count = -1;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(folder);
  return count;
}

}  // namespace

std::vector<MetricFamily> ProcessMetrics() {
  // Indexes into StatFields.
  constexpr size_t kUserTicks = 11;
  constexpr size_t kSystemTicks = 12;
  constexpr size_t kStartTicks = 19;
  constexpr size_t kResidentPages = 21;
  std::vector<MetricFamily> families;
  const std::vector<double> stat = StatFields();
  if (stat.size() > kResidentPages) {
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
    families.push_back(Family("process_cpu_seconds_total",
                              "CPU time, user and system.", MetricType::Counter,
                              (stat[kUserTicks] + stat[kSystemTicks]) / ticks));
    families.push_back(Family("process_resident_memory_bytes",
                              "Resident memory.", MetricType::Gauge,
                              stat[kResidentPages] * page));
    const double boot = BootTime();
    if (boot > 0) {
      families.push_back(
          Family("process_start_time_seconds", "Start, since the Unix epoch.",
                 MetricType::Gauge, boot + stat[kStartTicks] / ticks));
    }
  }
  const int open_files = OpenFiles();
  if (open_files >= 0) {
    families.push_back(Family("process_open_fds", "Open file descriptors.",
                              MetricType::Gauge, open_files));
  }
  return families;
}

}  // namespace mansard::server
