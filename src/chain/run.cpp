// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/chain/run.hpp"

#include "mlo/base/errors.hpp"

namespace mlo {

Promise run_chains(std::size_t dim, std::size_t threads, const ChainOptions& options,
                   std::vector<ChainRecord>& records, RunControl& control,
                   const CheckpointOptions& checkpoint, const MakeChain& make_chain,
                   const std::function<Eigen::VectorXd(std::size_t chain)>& start) {
  records.resize(options.chains);
  Promise promise = Promise::approximate;
  const std::size_t side_by_side = std::min(threads, options.chains);
  ThreadPool chains_pool(side_by_side);
  std::vector<std::unique_ptr<ThreadPool>> inner(options.chains);
  for (auto& pool : inner)
    pool = std::make_unique<ThreadPool>(std::max<std::size_t>(1, threads / side_by_side));
  chains_pool.run(side_by_side, [&](std::size_t thread) {
    constexpr std::chrono::milliseconds turn{50};
    std::vector<std::unique_ptr<AnyChain>> chains;
    try {
      for (std::size_t chain = thread; chain < options.chains; chain += side_by_side) {
        ChainRecord& record = records[chain];
        if (record.iteration == 0) {
          record.dim = dim;
          record.state.theta = start(chain);
        }
        chains.push_back(make_chain(*inner[chain], {&record, chain, &options, &control, &checkpoint}));
        if (chain == 0) promise = chains.back()->promise();
      }
      while (!chains.empty()) std::erase_if(chains, [&](const auto& chain) { return chain->advance(turn); });
    } catch (...) {
      // E.g. the disk is full: the other chains end too, with what they have, if they can still save it.
      control.stop = true;
      for (const auto& chain : chains) {
        try {
          chain->advance(turn);
        } catch (const Error&) {
          continue;  // the first failure is the one to report
        }
      }
      throw;
    }
  });
  return promise;
}

}  // namespace mlo
