// Copyright (c) the mlo authors. BSD-3-Clause.
// Block pseudo-marginal Metropolis-Hastings (Quiroz, Kohn, Villani & Tran 2019): the subsample is part of the
// chain's state, and a step replaces one block of it together with theta.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/random.hpp"
#include "mlo/kernel/estimator.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/move.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

struct BlockOptions {
  // m. Chains with 20 to 100 rows had the posterior's spread within 1 % (n = 100,000, p = 10). The variance
  // s2 in the correction is an estimate too, with an error of 14 % for 100 rows.
  std::size_t subsample_size = 100;
  // G. For short moves the noise of the log ratio is sqrt(2 / G) times that of an estimate: a fifth for G =
  // 50. A row stays for about G steps, so a G as large as m = 100 would forget the start half as fast and
  // gain little. Independent proposals move far, so a row's remainders at theta and theta' are hardly
  // related, and G hardly matters.
  std::size_t blocks = 50;
};

// The state is (theta, u), u = m rows, each uniform, with replacement. With d_i the remainder of row i's
// expansion about the centre, q the sum of the expansions,
//   lhat(theta, u) = q(theta) + (n/m) sum_{i in u} d_i(theta),   s2(theta, u) = n^2 var(d) / m,
// the chain samples the density p0(theta) exp(lhat - s2/2), up to a constant, with respect to uniform u. For
// normal noise with known s2 its marginal in theta is the posterior; in general it differs by an order of 1 /
// (n m^2).
template <ExpandableModel M, Proposal P>
class BlockKernel {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept {
    return Promise::approximate;
  }  // exact for a perturbed target

  // `sums`: of the log-likelihood of all rows, at the centre. Mode has both: evaluated_at and likelihood.
  // Throws UsageError unless 1 <= blocks <= subsample_size and subsample_size >= 2.
  BlockKernel(const M& model, Eigen::VectorXd centre, const Derivatives& sums, P proposal,
              BlockOptions options)
      : model_(&model),
        centre_(std::move(centre)),
        estimator_(model, centre_, sums),
        move_(std::move(proposal), model.dim()),
        blocks_(options.blocks),
        ids_(options.subsample_size),
        replaced_(options.subsample_size),
        current_(options.subsample_size),
        next_(options.subsample_size) {
    if (options.subsample_size < 2)
      throw UsageError("block: the subsample size must be at least 2 (got " +
                       std::to_string(options.subsample_size) + ")");
    if (options.blocks < 1 || options.blocks > options.subsample_size)
      throw UsageError("block: the number of blocks must be between 1 and the subsample size, " +
                       std::to_string(options.subsample_size) + " (got " + std::to_string(options.blocks) +
                       ")");
  }

  StepInfo step(ChainState& state, const StepId& id) {
    StepInfo info;
    const Params theta = params(state.theta);
    if (!drawn_) {
      Stream row_stream = id.stream(Purpose::rows);
      draw(row_stream, ids_);
      evaluate(theta, current_);
      info.rows_read += ids_.size();
      drawn_ = true;
    }
    if (move_.propose(*model_, theta, id, info)) {
      Stream block_stream = id.stream(Purpose::blocks);
      const std::span<RowId> block = any_block(block_stream);
      const std::span<RowId> before = std::span(replaced_).first(block.size());
      std::copy(block.begin(), block.end(), before.begin());
      draw(block_stream, block);
      evaluate(move_.to(), next_);
      info.rows_read += ids_.size();
      const double change = next_.log_target() - current_.log_target();
      info.log_ratio = change + estimator_.known(theta, move_.to()) + move_.log_prior() -
                       model_->log_prior(theta) + move_.log_q();
      info.finite = std::isfinite(next_.log_target()) && !std::isnan(info.log_ratio);
      if (info.finite) info.noise_sd = noise_sd(block);
      Stream decision_stream = id.stream(Purpose::decision);
      info.accepted = info.finite && std::log(uniform(decision_stream)) < info.log_ratio;
      if (info.accepted) {
        state.theta = vector(move_.to());
        std::swap(current_, next_);
      } else {
        std::copy(before.begin(), before.end(), block.begin());
      }
    }
    move_.adapt(state);
    return info;
  }

  void freeze() { move_.freeze(); }

  // The subsample and its remainders, so that a resumed chain need not read the rows again; the sums are
  // recomputed from them, in the same order.
  void save(std::vector<double>& out) const {
    out.push_back(drawn_ ? 1 : 0);
    out.insert(out.end(), ids_.begin(), ids_.end());  // 32 bits: exact in a double
    out.insert(out.end(), current_.remainders.begin(), current_.remainders.end());
    move_.save(out);
  }
  void load(std::span<const double> in) {
    const std::size_t m = ids_.size();
    assert(in.size() >= 1 + 2 * m);
    drawn_ = in[0] != 0;
    std::transform(in.begin() + 1, in.begin() + 1 + static_cast<std::ptrdiff_t>(m), ids_.begin(),
                   [](double row) { return static_cast<RowId>(row); });
    std::copy_n(in.data() + 1 + m, m, current_.remainders.begin());
    current_.add_up(static_cast<double>(model_->rows()));
    move_.load(in.subspan(1 + 2 * m));
  }

 private:
  // The parts of an estimate.
  struct Estimate {
    explicit Estimate(std::size_t m) : remainders(m, 0.0) {}
    void add_up(double n) {
      const double m = static_cast<double>(remainders.size());
      double sum = 0, squares = 0;
      for (const double d : remainders) sum += d;
      const double mean = sum / m;
      for (const double d : remainders) squares += (d - mean) * (d - mean);
      rest = n * mean;
      row_variance = squares / (m - 1);
      variance = n * n * row_variance / m;
    }
    // Without q(theta). A point without a finite density counts as one of density 0: a chain that starts
    // there leaves it.
    [[nodiscard]] double log_target() const {
      const double value = rest - 0.5 * variance;
      return std::isfinite(value) ? value : -std::numeric_limits<double>::infinity();
    }
    std::vector<double> remainders;  // d_i, in the order of the rows
    double rest = 0;                 // (n/m) sum d_i
    double row_variance = 0;         // of the d_i
    double variance = 0;             // s2
  };

  void draw(Stream& stream, std::span<RowId> ids) const {
    for (RowId& row : ids) row = static_cast<RowId>(bounded(stream, model_->rows()));
    if constexpr (requires { model_->prefetch(ids); }) model_->prefetch(ids);
  }

  // Blocks of m / G rows; sizes differ by one if that is not a whole number. Which block is replaced does not
  // depend on the state, so a move and its reverse are equally likely.
  [[nodiscard]] std::span<RowId> any_block(Stream& stream) {
    const std::size_t block = bounded(stream, blocks_);
    const std::size_t first = block * ids_.size() / blocks_, last = (block + 1) * ids_.size() / blocks_;
    return std::span(ids_).subspan(first, last - first);
  }

  void evaluate(Params theta, Estimate& out) {
    for (std::size_t first = 0; first < ids_.size(); first += row_batch) {
      const std::size_t count = std::min(row_batch, ids_.size() - first);
      estimator_.terms(params(centre_), theta, std::span(ids_).subspan(first, count),
                       std::span(out.remainders).subspan(first, count));
    }
    out.add_up(static_cast<double>(model_->rows()));
  }

  // The noise sd of lhat' - lhat. Rows that stay contribute the variance of d_i' - d_i; those of the block
  // contribute the variances of d_i' and of d_i, which belong to different rows: n/m sqrt( (m - b) var(d' -
  // d) + b (var(d') + var(d)) ). With theta' = theta that is s sqrt(2/G): two estimates with correlation 1 -
  // 1/G. The change of s2/2 adds a term of higher order, which is left out.
  [[nodiscard]] double noise_sd(std::span<const RowId> block) const {
    const auto first = static_cast<std::size_t>(block.data() - ids_.data());
    const double m = static_cast<double>(ids_.size()), b = static_cast<double>(block.size());
    const double stay = m - b;
    double variance = b * (next_.row_variance + current_.row_variance);
    if (stay > 1) {
      double sum = 0, squares = 0;
      for_kept(first, block.size(), [&](double r) { sum += r; });
      const double mean = sum / stay;
      for_kept(first, block.size(), [&](double r) { squares += (r - mean) * (r - mean); });
      variance += stay * squares / (stay - 1);
    }
    const double sd = static_cast<double>(model_->rows()) / m * std::sqrt(variance);
    return std::isfinite(sd) ? sd : 0;  // the chain was at a point without a finite density
  }
  template <class See>
  void for_kept(std::size_t first, std::size_t count, const See& see) const {
    for (std::size_t k = 0; k < ids_.size(); ++k)
      if (k < first || k >= first + count) see(next_.remainders[k] - current_.remainders[k]);
  }

  const M* model_;
  Eigen::VectorXd centre_;
  ControlVariates<M> estimator_;
  Move<P> move_;
  std::size_t blocks_;
  bool drawn_ = false;
  std::vector<RowId> ids_, replaced_;  // u, and the rows to restore after a rejection
  Estimate current_, next_;            // at theta and theta'
};

}  // namespace mlo
