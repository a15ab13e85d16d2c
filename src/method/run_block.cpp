// Copyright (c) the mlo authors. BSD-3-Clause.
// block: a subsample that is part of the chain's state.
#include "method/sampler.hpp"
#include "mlo/base/text.hpp"
#include "mlo/kernel/block.hpp"
#include "mlo/model/check_terms.hpp"

namespace mlo {

void run_block(Sampler& s) {
  if (!s.model().has_remainders()) s.refuse("quadratic expansions of its terms");
  check_expansion(s.model(), s.pool(), params(s.mode().evaluated_at), s.laplace().cholesky);
  const BlockOptions block{.subsample_size = s.plan().block_size, .blocks = s.plan().blocks};
  s.out().noise = NoiseEffect::corrected;
  s.note(fmt::format("{} rows per step in {} blocks, of which one is drawn anew",
                     grouped(block.subsample_size), block.blocks));
  const AnyProposal proposal = s.proposal_of(s.plan().proposal);
  s.run([&](ThreadPool&) {
    return BlockKernel(s.model(), s.mode().evaluated_at, s.mode().likelihood, proposal, block);
  });
}

}  // namespace mlo
