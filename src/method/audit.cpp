// Copyright (c) the mlo authors. BSD-3-Clause.
#include "method/audit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "method/full_parts.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/full.hpp"

namespace mlo {

ChainOptions audit_chains(std::uint64_t seed) {
  return {.seed = ~seed, .chains = 4, .warmup = 200, .draws = 400, .thin = 1};
}

void report_audit(const std::vector<std::string>& names, const std::vector<ChainRecord>& found,
                  const std::vector<ChainRecord>& full, Samples& out) {
  AuditReport& report = out.audit;
  report.done = true;
  for (const ChainRecord& record : found) {
    report.steps += record.account.audited;
    report.worst_error = std::max(report.worst_error, record.account.audit_error);
  }
  // Rounding comes to 1e-4 at most. A log ratio that is off by a hundredth shows in no interval; what is off
  // by that much is a wrong expansion all the same.
  if (report.worst_error > 0.01)
    out.warnings.push_back(fmt::format(
        "audit: the log ratio of a step was off by {:.2g}, where rounding makes 0.0001: the expansion of "
        "this model is wrong, and so are these draws. Use `method full`, and please report it",
        report.worst_error));
  const auto shortest = [](const std::vector<ChainRecord>& records) {
    std::size_t draws = records[0].size();
    for (const ChainRecord& record : records) draws = std::min(draws, record.size());
    return draws;
  };
  for (const ChainRecord& record : full) report.full_draws += record.size();
  if (shortest(found) < 10 || shortest(full) < 10) return;  // interrupted
  compare(summarise(names, found), summarise(names, full), report);
  if (!report.warning.empty()) out.warnings.push_back(report.warning);
}

// The chains on all rows have the proposals that `full` would use.
void audit(Sampler& s) {
  if (s.watcher().phase) s.watcher().phase("auditing against all rows", 0);
  const ChainOptions chain = audit_chains(s.plan().chain.seed);
  RunControl control(chain.chains, s.watcher().interrupt);
  std::vector<ChainRecord> full;
  const FullParts parts = full_parts(s, {.kind = ProposalPlan::Kind::mixed});
  run_chains(
      s.model(), s.plan().threads, chain, full, control, {},
      [&](ThreadPool& pool) { return FullKernel(s.model(), parts.proposal, pool, parts.slices); },
      [&](std::size_t c) { return overdispersed_start(s.model(), s.laplace(), chain.seed, c); });
  report_audit(s.model().names(), s.records(), full, s.out());
}

}  // namespace mlo
