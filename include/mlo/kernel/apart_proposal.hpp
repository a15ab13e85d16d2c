// Copyright (c) the mlo authors. BSD-3-Clause.
// A proposal for the coefficients that are not apart (mlo/model/lines.hpp). Those of awkward lines only go
// along with them: a joint proposal would hardly ever leave a point that is far out on a line.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "mlo/kernel/mixed_proposal.hpp"
#include "mlo/model/lines.hpp"

namespace mlo {

class ApartProposal {
 public:
  // `fit`: of all coefficients.
  ApartProposal(const Laplace& fit, Apart apart)
      : apart_(std::move(apart)),
        others_(Laplace(apart_.others(fit.mode), apart_.information)),
        moved_(static_cast<Eigen::Index>(apart_.remaining.size())) {}

  double propose(Stream& stream, Params theta, std::span<double> out) {
    const Eigen::VectorXd others = of(theta);
    const double log_q = others_.propose(stream, params(others), {moved_.data(), apart_.remaining.size()});
    std::copy(theta.begin(), theta.end(), out.begin());
    apart_.place(moved_.data(),
                 Eigen::Map<Eigen::VectorXd>(out.data(), static_cast<Eigen::Index>(out.size())));
    proposed_.assign(out.begin(), out.end());
    return log_q;
  }
  // An accepted point is passed on as it was proposed: of(theta) would differ from it by rounding.
  void adapt(Params theta) {
    const bool accepted = std::equal(theta.begin(), theta.end(), proposed_.begin(), proposed_.end());
    others_.adapt(params(accepted ? moved_ : of(theta)));
  }
  void freeze() { others_.freeze(); }
  void save(std::vector<double>& out) const { others_.save(out); }
  void load(std::span<const double> in) { others_.load(in); }

 private:
  [[nodiscard]] Eigen::VectorXd of(Params theta) const {
    return apart_.others(
        Eigen::Map<const Eigen::VectorXd>(theta.data(), static_cast<Eigen::Index>(theta.size())));
  }
  Apart apart_;
  MixedProposal others_;
  Eigen::VectorXd moved_;         // the others that were proposed last,
  std::vector<double> proposed_;  // and the whole point
};
static_assert(Proposal<ApartProposal>);

}  // namespace mlo
