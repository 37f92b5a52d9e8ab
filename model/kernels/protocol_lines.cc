#include "model/kernels/protocol_lines.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mansard::model {
namespace {

using Protocol = CollectiveFamily::Protocol;

// The entry for so many ranks; empty beyond the last.
std::optional<size_t> LimitIndex(int ranks) {
  for (size_t i = 0; i < DirectAllReduceFamily::kRanks.size(); ++i) {
    if (ranks <= DirectAllReduceFamily::kRanks[i]) return i;
  }
  return std::nullopt;
}

CollectiveTime DirectTime(Seconds alpha, Seconds step, BytesPerSecond bus,
                          int ranks, Bytes wire, double links_used) {
  return {alpha + (ranks - 1.0) * step, wire / (bus * links_used), wire};
}

}  // namespace

int CollectiveRounds(Collective kind) {
  return kind == Collective::kAllReduce ? 2 : 1;
}

bool OnRing(Protocol protocol) {
  return protocol != Protocol::kTree && protocol != Protocol::kInSwitch;
}

bool ProtocolServes(Protocol protocol, Collective kind) {
  return OnRing(protocol) || kind == Collective::kAllReduce ||
         kind == Collective::kBroadcast;
}

double ProtocolSteps(Protocol protocol, Collective kind, int ranks) {
  if (kind == Collective::kSendReceive) return 1;
  switch (protocol) {
    case Protocol::kLl:
    case Protocol::kLl128:
    case Protocol::kSimple:
      return CollectiveRounds(kind) * (ranks - 1.0);
    case Protocol::kTree:
      return CollectiveRounds(kind) * static_cast<double>(std::bit_width(
                                          static_cast<unsigned>(ranks - 1)));
    case Protocol::kInSwitch:
      return CollectiveRounds(kind);
  }
  return 0;
}

double ProtocolWireShare(Protocol protocol, Collective kind, int ranks) {
  // Pipelined, so that no rank sends more than all of it.
  if (kind == Collective::kSendReceive || kind == Collective::kBroadcast) {
    return 1;
  }
  switch (protocol) {
    case Protocol::kLl:
    case Protocol::kLl128:
    case Protocol::kSimple:
      return CollectiveRounds(kind) * (ranks - 1.0) / ranks;
    case Protocol::kTree:
      return std::min(2.0, ranks / 2.0);
    case Protocol::kInSwitch:
      return (ranks + 1.0) / ranks;
  }
  return 0;
}

double Uncrowded(const CollectiveFamily& family, int rivals) {
  if (family.crowding == 0 || rivals == 1) return 1;
  return std::pow(rivals, -family.crowding);
}

CollectiveTime TimeLine(const CollectiveFamily& family,
                        const CollectiveFamily::Line& line,
                        const CollectiveProblem& problem, double share) {
  const int ranks = problem.ranks;
  const double wire = ProtocolWireShare(line.protocol, problem.kind, ranks);
  const double own =
      line.protocol == Protocol::kInSwitch ? 0 : family.own_share;
  return {line.alpha +
              ProtocolSteps(line.protocol, problem.kind, ranks) * line.step,
          problem.buffer * (wire + own) / (line.bus * share),
          problem.buffer * wire};
}

std::optional<CollectiveTime> TimeOneShot(const DirectAllReduceFamily& family,
                                          int ranks, Bytes buffer,
                                          double links_used) {
  const std::optional<size_t> i = LimitIndex(ranks);
  if (!i.has_value() || buffer > family.one_shot_limit[*i]) {
    return std::nullopt;
  }
  return DirectTime(family.one_shot_alpha, family.one_shot_step,
                    family.one_shot_bus, ranks, buffer * (ranks - 1.0),
                    links_used);
}

std::optional<CollectiveTime> TimeTwoShot(const DirectAllReduceFamily& family,
                                          int ranks, Bytes buffer,
                                          double links_used) {
  const std::optional<size_t> i = LimitIndex(ranks);
  if (!i.has_value() || buffer > family.two_shot_limit[*i] ||
      buffer < family.two_shot_start[*i]) {
    return std::nullopt;
  }
  const double wire = family.two_shot_in_switch > 0 ? (ranks + 1.0) / ranks
                                                    : 2 * (ranks - 1.0) / ranks;
  return DirectTime(family.two_shot_alpha, family.two_shot_step,
                    family.two_shot_bus, ranks, buffer * wire, links_used);
}

}  // namespace mansard::model
