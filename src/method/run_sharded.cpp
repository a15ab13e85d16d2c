// Copyright (c) the mlo authors. BSD-3-Clause.
// Chains on shards of the rows, put together step by step: consensus and weierstrass.
#include <cmath>

#include "method/sampler.hpp"
#include "mlo/kernel/consensus.hpp"
#include "mlo/kernel/weierstrass.hpp"

namespace mlo {
namespace {

Shards<AnyModel> make_shards(Sampler& s) {
  Shards<AnyModel> shards(s.model(), s.plan().shards, s.mode(), s.pool());
  s.out().passes += shards.passes();
  s.out().warnings.insert(s.out().warnings.end(), shards.warnings().begin(), shards.warnings().end());
  s.note(fmt::format("{} shards of {} rows{}, each with the prior to the power 1/{}", shards.size(),
                     s.model().rows() / shards.size(),
                     s.model().rows() % shards.size() == 0 ? "" : " or one more", shards.size()));
  return shards;
}

}  // namespace

void run_consensus(Sampler& s) {
  const Shards<AnyModel> shards = make_shards(s);
  const ConsensusOptions options{.warmup = s.plan().chain.warmup};
  s.run([&](ThreadPool& pool) { return ConsensusKernel<AnyModel>(shards, options, pool); });
}

void run_weierstrass(Sampler& s) {
  const Shards<AnyModel> shards = make_shards(s);
  WeierstrassOptions options;
  options.bandwidth = s.plan().bandwidth;
  s.note(fmt::format("bandwidth {}: the draws' variance is about {:.3g} times the posterior's",
                     options.bandwidth, 1 + options.bandwidth * options.bandwidth));
  if (options.bandwidth > 0.5)
    s.out().warnings.push_back(fmt::format(
        "a bandwidth of {} widens the draws' spread {:.3g} times: these intervals are not the posterior's; "
        "use a smaller `bandwidth` or `method auto`",
        options.bandwidth, std::hypot(1, options.bandwidth)));
  s.run([&](ThreadPool& pool) { return WeierstrassKernel<AnyModel>(shards, options, pool); });
}

}  // namespace mlo
