// Copyright (c) the mlo authors. BSD-3-Clause.
// The parts of a subsampled kernel, each of whatever kind the options name. A variant is asked what it is
// once a step, or once for some hundred rows; the loops over rows inside the parts are as static as ever. One
// kernel a model is compiled instead of one for every combination of parts.
#pragma once

#include <limits>
#include <utility>
#include <variant>

#include "mlo/kernel/austerity.hpp"
#include "mlo/kernel/barker.hpp"
#include "mlo/kernel/bounded_estimator.hpp"
#include "mlo/kernel/confidence.hpp"
#include "mlo/kernel/decision.hpp"
#include "mlo/kernel/estimator.hpp"
#include "mlo/kernel/mixed_proposal.hpp"
#include "mlo/kernel/penalty.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/subsample/row_source.hpp"

namespace mlo {

class AnyProposal {
 public:
  template <Proposal P>
  AnyProposal(P proposal) : proposal_(std::move(proposal)) {}  // NOLINT(google-explicit-constructor)

  double propose(Stream& stream, Params theta, std::span<double> out) {
    return std::visit([&](auto& p) { return p.propose(stream, theta, out); }, proposal_);
  }
  void adapt(Params theta) {
    std::visit([&](auto& p) { p.adapt(theta); }, proposal_);
  }
  void freeze() {
    std::visit([](auto& p) { p.freeze(); }, proposal_);
  }
  void save(std::vector<double>& out) const {
    std::visit([&](const auto& p) { p.save(out); }, proposal_);
  }
  void load(std::span<const double> in) {
    std::visit([&](auto& p) { p.load(in); }, proposal_);
  }

 private:
  std::variant<LaplaceProposal, MixedProposal, RandomWalkProposal, AdaptiveProposal> proposal_;
};
static_assert(Proposal<AnyProposal>);

class AnyRows {
 public:
  template <RowSource S>
  AnyRows(S source) : source_(std::move(source)) {}  // NOLINT(google-explicit-constructor)

  void begin() {
    std::visit([](auto& s) { s.begin(); }, source_);
  }
  void draw(Stream& stream, std::span<RowId> ids, std::span<double> factors) {
    std::visit([&](auto& s) { s.draw(stream, ids, factors); }, source_);
  }
  [[nodiscard]] bool with_replacement() const {
    return std::visit([](const auto& s) { return s.with_replacement(); }, source_);
  }

 private:
  std::variant<WithReplacement, WithoutReplacement> source_;
};
static_assert(RowSource<AnyRows>);

class AnyRule {
 public:
  template <Decision R>
  AnyRule(R rule) : rule_(std::move(rule)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] Promise promise() const {
    return std::visit([](const auto& r) { return r.promise; }, rule_);
  }
  void begin(const Trial& trial) {
    std::visit([&](auto& r) { r.begin(trial); }, rule_);
  }
  [[nodiscard]] std::size_t wants() const {
    return std::visit([](const auto& r) { return r.wants(); }, rule_);
  }
  void see(std::span<const double> terms) {
    std::visit([&](auto& r) { r.see(terms); }, rule_);
  }
  [[nodiscard]] bool accept() {
    return std::visit([](auto& r) { return r.accept(); }, rule_);
  }
  [[nodiscard]] const TermMoments& seen() const {
    return std::visit([](const auto& r) -> const TermMoments& { return r.seen(); }, rule_);
  }
  [[nodiscard]] bool needs_term_bound() const {
    return std::visit([](const auto& r) { return r.needs_term_bound(); }, rule_);
  }

 private:
  std::variant<FixedSize, AdaptiveSize, PenaltySize, Austerity, Confidence, Barker> rule_;
};
static_assert(Decision<AnyRule>);

template <class M>
class AnyEstimator {
 public:
  template <Estimator E>
  explicit AnyEstimator(E estimator) : estimator_(std::move(estimator)) {}

  [[nodiscard]] double known(Params from, Params to) {
    return std::visit([&](auto& e) { return e.known(from, to); }, estimator_);
  }
  void terms(Params from, Params to, std::span<const RowId> ids, std::span<double> out) {
    std::visit([&](auto& e) { e.terms(from, to, ids, out); }, estimator_);
  }
  // NaN for estimators that do not know.
  [[nodiscard]] double term_bound(Params from, Params to) {
    return std::visit(
        [&](auto& e) {
          if constexpr (requires { e.term_bound(from, to); }) return e.term_bound(from, to);
          return std::numeric_limits<double>::quiet_NaN();
        },
        estimator_);
  }

 private:
  std::variant<PlainDifference<M>, ControlVariates<M>, Bounded<PlainDifference<M>>,
               Bounded<ControlVariates<M>>>
      estimator_;
};

}  // namespace mlo
