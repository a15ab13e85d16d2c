// Copyright (c) the mlo authors. BSD-3-Clause.
// Where the coefficients are proposed, if the expansion misses it. With tens of thousands of levels that know
// little of their effects, the terms of the fifth order and above add up to many posterior sds of a
// coefficient. They hardly change from sweep to sweep: warm-up takes them from a pass over all rows, and the
// decision allows for them.
#include <cmath>

#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"

namespace mlo {
namespace {

// The running share of accepted moves: where it begins, how slowly it follows, and what is too low.
constexpr double begins = 0.8, keeps = 0.9, too_low = 0.6;
constexpr std::uint64_t most_passes = 30;

}  // namespace

LevelKernel::Recentred::Recentred(Eigen::Index columns)
    : slope(Eigen::VectorXd::Zero(columns)),
      information(Eigen::MatrixXd::Zero(columns, columns)),
      accepted(begins) {}

// The log density of the proposal minus that of the expansion, but for a constant.
double LevelKernel::Recentred::excess(const Eigen::VectorXd& alpha) const {
  return slope.dot(alpha) - 0.5 * alpha.dot(information * alpha);
}

bool LevelKernel::Recentred::due(bool yes) noexcept {
  accepted = keeps * accepted + (yes ? 1 - keeps : 0);
  if (accepted >= too_low || passes >= most_passes) return false;
  accepted = begins;
  ++passes;
  return true;
}

// Gradient and information of the log posterior in alpha, beta fixed, from all rows; what they are more than
// those of the expansion (`slope`, `information`) is what the next proposals add to it.
void LevelKernel::recentre(const Eigen::VectorXd& slope, const Eigen::MatrixXd& information, StepInfo& info) {
  read_point();
  const LevelRows& rows = model_->rows();
  const std::size_t q = rows.columns(), width = q + q * q;
  constexpr std::size_t batch = Family::batch_rows, block = 4096;
  const std::size_t blocks = (rows.size() + block - 1) / block;
  std::vector<double> sums(blocks * width, 0);
  pool_->run(blocks, [&](std::size_t at_block) {
    double* const sum = sums.data() + at_block * width;
    std::array<double, batch> eta, y, first, second, unused;
    std::array<double, LevelRows::most_effects> z;
    std::vector<double> x(batch * q);
    const std::size_t end = std::min(rows.size(), (at_block + 1) * block);
    for (std::size_t begin = at_block * block; begin < end; begin += batch) {
      const std::size_t count = std::min(batch, end - begin);
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t i = begin + r;
        eta[r] = rows.offset(i);
        for (std::size_t j = 0; j < q; ++j) {
          x[r * q + j] = rows.x(i)[j];
          eta[r] += x[r * q + j] * point_.coefficients[j];
        }
        for (std::size_t k = 0; k < groups_.size(); ++k) {
          const std::size_t d = groups_[k].d, level = rows.groups()[k].codes[i];
          rows.groups()[k].multipliers(i, z.data());
          for (std::size_t a = 0; a < d; ++a) {
            eta[r] += z[a] * point_.effects[k][level * d + a];
            const double* const m = reference_->groups()[k].m.data() + (level * d + a) * q;
            for (std::size_t j = 0; j < q; ++j) x[r * q + j] -= z[a] * m[j];
          }
        }
      }
      const auto cut = [&](auto& a) { return std::span(a).first(count); };
      static_cast<void>(
          model_->family().derivatives({cut(eta), rows.responses(begin, cut(y)), point_.log_second},
                                       {cut(first), cut(second), cut(unused), cut(unused), cut(unused)}));
      for (std::size_t r = 0; r < count; ++r) {
        const double weight = rows.weight(begin + r);
        const double* const row = x.data() + r * q;
        for (std::size_t j = 0; j < q; ++j) {
          sum[j] += weight * first[r] * row[j];
          for (std::size_t i = 0; i <= j; ++i) sum[q + j * q + i] -= weight * second[r] * row[j] * row[i];
        }
      }
    }
  });
  info.rows_read += rows.size();
  Eigen::VectorXd gradient = prior_gradient_ - prior_information_ * alpha_;
  Eigen::MatrixXd bend = prior_information_;
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t j = 0; j < q; ++j) {
      gradient[index(j)] += sums[b * width + j];
      for (std::size_t i = 0; i <= j; ++i) {
        bend(index(j), index(i)) += sums[b * width + q + j * q + i];
        if (i != j) bend(index(i), index(j)) += sums[b * width + q + j * q + i];
      }
    }
  for (std::size_t k = 0; k < groups_.size(); ++k) {  // the effects' priors: b = beta - M alpha
    const Group& group = groups_[k];
    const LevelSums& of = reference_->groups()[k];
    for (std::size_t r = 0; r < point_.effects[k].size(); ++r) {
      const std::size_t level = r / group.d, a = r % group.d;
      double pull = 0;
      for (std::size_t e = 0; e < group.d; ++e)
        pull += group.omega(index(a), index(e)) * point_.effects[k][level * group.d + e];
      for (std::size_t j = 0; j < q; ++j) gradient[index(j)] += pull * of.m[r * q + j];
    }
    for (std::size_t a = 0; a < group.d; ++a)
      for (std::size_t e = 0; e < group.d; ++e)
        bend += group.omega(index(a), index(e)) * of.mm[a * group.d + e];
  }
  if (!gradient.allFinite() || Eigen::LLT<Eigen::MatrixXd>(bend).info() != Eigen::Success) return;
  recentred_.information = bend - information;
  recentred_.slope = gradient - (slope - information * alpha_) + recentred_.information * alpha_;
}

}  // namespace mlo
