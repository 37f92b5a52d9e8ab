#include "calibrate/serving/cross_validation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/io/shipped.h"
#include "model/serving/served_form.h"

namespace mansard::calibrate {
namespace {

// A fixed number of clients, each of which sends its next request when it has
// the last token of the one before. A prompt takes one pass, first come, first
// served, and is computed beside the decodes.
// The answer is the mean time per output token, without the warm-up.
double Simulate(int clients, int tokens, double decode, double prompt,
                int requests) {
  struct Request {
    double first = 0;
    int left = 0;
  };
  std::deque<Request> waiting;
  // Clients come one by one, so that no lockstep begins.
  std::vector<double> starts;
  for (int i = 0; i < clients; ++i) {
    starts.push_back(i * tokens * decode / clients);
  }
  std::vector<Request> running;
  double now = 0;
  double tpots = 0;
  int done = 0;
  size_t started = 0;
  while (done < requests) {
    while (started < starts.size() && starts[started] <= now) {
      waiting.push_back({});
      ++started;
    }
    const bool has_prompt = !waiting.empty();
    if (!has_prompt && running.empty()) {
      now = starts[started];
      continue;
    }
    now += (running.empty() ? 0 : decode) + (has_prompt ? prompt : 0);
    for (auto& request : running) --request.left;
    for (auto it = running.begin(); it != running.end();) {
      if (it->left > 0) {
        ++it;
        continue;
      }
      // The first fifth warms up.
      if (++done > requests / 5) tpots += (now - it->first) / (tokens - 1);
      waiting.push_back({});
      it = running.erase(it);
    }
    if (has_prompt) {
      Request request = waiting.front();
      waiting.pop_front();
      request.first = now;
      request.left = tokens - 1;
      running.push_back(request);
    }
  }
  return tpots / (requests - requests / 5);
}

TEST(ServedForm, TimePerTokenIsThatOfAnEventSimulation) {
  struct Case {
    int clients;
    int tokens;
    double decode;
    double prompt;
  };
  const Case cases[] = {{1, 100, 10, 50},
                        {4, 200, 10, 100},
                        {16, 500, 20, 150},
                        {64, 400, 30, 60}};
  for (const Case& one : cases) {
    const double simulated = Simulate(one.clients, one.tokens, one.decode,
                                      one.prompt, 40 * one.clients);
    model::ServedForm form;
    form.output_tokens = one.tokens;
    const model::Seconds tpot = model::TimePerOutputToken(
        form, one.clients,
        {model::Milliseconds(one.decode), model::Milliseconds(one.prompt),
         model::Milliseconds(one.prompt)});
    EXPECT_NEAR(model::ToMilliseconds(tpot) / simulated, 1, 0.03)
        << one.clients << " clients";
  }
}

// Medians and means of today, in percent, of the lines that targets are about:
// a change that makes one worse by more than half a point is seen.
TEST(ServedErrors, AreNotAboveThoseRecorded) {
  const std::string table =
      MANSARD_SOURCE_DIR "/../shared/measured/e2e_serving.csv";
  std::ifstream file(table, std::ios::binary);
  if (!file) GTEST_SKIP() << table << " is not here";
  const std::string csv((std::istreambuf_iterator<char>(file)),
                        std::istreambuf_iterator<char>());
  const auto data = model::LoadShippedData();
  ASSERT_TRUE(data.ok()) << data.status();
  const auto rows = ReadServingRows(csv);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ServingTargets targets(*data, {.fitted = false});
  const std::vector<ServedRun> runs = RunsOf(*rows, targets);
  const auto validation = CrossValidate(runs, {});
  ASSERT_TRUE(validation.ok()) << validation.status();
  std::string now;
  const std::pair<const char*, const std::vector<RunPrediction>*> lines[] = {
      {"configuration", &validation->configuration},
      {"model", &validation->model},
      {"device", &validation->device},
      {"three-rows", &validation->three_rows},
      {"unfitted", &validation->unfitted}};
  for (const auto& [name, predictions] : lines) {
    for (const ServedTime time : {ServedTime::kTpot, ServedTime::kTtft}) {
      const bool three = predictions == &validation->three_rows;
      const Errors errors =
          ErrorsOf(runs, *predictions, time, [&, of_three = three](size_t run) {
            return runs[run].IsCore() &&
                   (!of_three || validation->has_factor[run]) &&
                   (time == ServedTime::kTpot || !StartsUp(runs[run]));
          });
      absl::StrAppendFormat(&now, "%s %s %d %.1f %.1f\n", name,
                            time == ServedTime::kTpot ? "tpot" : "ttft",
                            errors.rows, 100 * errors.median,
                            100 * errors.mean);
    }
  }
  const std::string path =
      MANSARD_SOURCE_DIR "/calibrate/serving/recorded_errors.txt";
  if (std::getenv("UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path) << now;
    return;
  }
  std::map<std::string, std::vector<double>> recorded;
  std::ifstream before(path);
  std::string name;
  std::string time;
  double count = 0;
  double median = 0;
  double mean = 0;
  while (before >> name >> time >> count >> median >> mean) {
    recorded[absl::StrCat(name, " ", time)] = {count, median, mean};
  }
  std::istringstream lines_now(now);
  size_t compared = 0;
  while (lines_now >> name >> time >> count >> median >> mean) {
    const auto found = recorded.find(absl::StrCat(name, " ", time));
    ASSERT_NE(found, recorded.end()) << name << " " << time;
    EXPECT_EQ(count, found->second[0]) << name << " " << time;
    EXPECT_LE(median, found->second[1] + 0.5) << name << " " << time;
    EXPECT_LE(mean, found->second[2] + 0.5) << name << " " << time;
    ++compared;
  }
  EXPECT_EQ(compared, recorded.size());
}

}  // namespace
}  // namespace mansard::calibrate
