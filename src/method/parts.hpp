// Copyright (c) the mlo authors. BSD-3-Clause.
// The parts of a subsampled kernel, each of any kind behind one type. A call through a pointer is made once
// per step, or once per batch of some hundred rows; the loops over rows inside the parts are static. So one
// kernel is compiled instead of one for every combination of parts, and a new part is listed nowhere.
#pragma once

#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "mlo/kernel/bounded_estimator.hpp"
#include "mlo/kernel/decision.hpp"
#include "mlo/kernel/estimator.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/subsample/row_source.hpp"

namespace mlo {

// A value of any type behind an interface. Copies copy the value: a chain has parts of its own.
template <class Interface>
class Erased {
 public:
  explicit Erased(std::unique_ptr<Interface> value) : value_(std::move(value)) {}
  Erased(const Erased& other) : value_(other.value_->clone()) {}
  Erased(Erased&&) noexcept = default;
  Erased& operator=(Erased other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~Erased() = default;

 protected:
  Interface& value() { return *value_; }
  [[nodiscard]] const Interface& value() const { return *value_; }

 private:
  std::unique_ptr<Interface> value_;
};

struct ProposalInterface {
  virtual ~ProposalInterface() = default;
  [[nodiscard]] virtual std::unique_ptr<ProposalInterface> clone() const = 0;
  virtual double propose(Stream& stream, Params theta, std::span<double> out) = 0;
  virtual void adapt(Params theta) = 0;
  virtual void freeze() = 0;
  virtual void save(std::vector<double>& out) const = 0;
  virtual void load(std::span<const double> in) = 0;
};

class AnyProposal : public Erased<ProposalInterface> {
 public:
  template <Proposal P>
  requires(!std::same_as<P, AnyProposal>) AnyProposal(P proposal)  // NOLINT(google-explicit-constructor)
      : Erased(std::make_unique<Of<P>>(std::move(proposal))) {}

  double propose(Stream& stream, Params theta, std::span<double> out) {
    return value().propose(stream, theta, out);
  }
  void adapt(Params theta) { value().adapt(theta); }
  void freeze() { value().freeze(); }
  void save(std::vector<double>& out) const { value().save(out); }
  void load(std::span<const double> in) { value().load(in); }

 private:
  template <Proposal P>
  struct Of final : ProposalInterface {
    explicit Of(P p) : proposal(std::move(p)) {}
    [[nodiscard]] std::unique_ptr<ProposalInterface> clone() const override {
      return std::make_unique<Of>(proposal);
    }
    double propose(Stream& stream, Params theta, std::span<double> out) override {
      return proposal.propose(stream, theta, out);
    }
    void adapt(Params theta) override { proposal.adapt(theta); }
    void freeze() override { proposal.freeze(); }
    void save(std::vector<double>& out) const override { proposal.save(out); }
    void load(std::span<const double> in) override { proposal.load(in); }
    P proposal;
  };
};
static_assert(Proposal<AnyProposal>);

struct RuleInterface {
  virtual ~RuleInterface() = default;
  [[nodiscard]] virtual std::unique_ptr<RuleInterface> clone() const = 0;
  [[nodiscard]] virtual Promise promise() const = 0;
  virtual void begin(const Trial& trial) = 0;
  [[nodiscard]] virtual std::size_t wants() const = 0;
  virtual void see(std::span<const double> terms) = 0;
  [[nodiscard]] virtual bool accept() = 0;
  [[nodiscard]] virtual const TermMoments& seen() const = 0;
  [[nodiscard]] virtual bool needs_term_bound() const = 0;
};

class AnyRule : public Erased<RuleInterface> {
 public:
  template <Decision R>
  requires(!std::same_as<R, AnyRule>) AnyRule(R rule)
      : Erased(std::make_unique<Of<R>>(std::move(rule))) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] Promise promise() const { return value().promise(); }
  void begin(const Trial& trial) { value().begin(trial); }
  [[nodiscard]] std::size_t wants() const { return value().wants(); }
  void see(std::span<const double> terms) { value().see(terms); }
  [[nodiscard]] bool accept() { return value().accept(); }
  [[nodiscard]] const TermMoments& seen() const { return value().seen(); }
  [[nodiscard]] bool needs_term_bound() const { return value().needs_term_bound(); }

 private:
  template <Decision R>
  struct Of final : RuleInterface {
    explicit Of(R r) : rule(std::move(r)) {}
    [[nodiscard]] std::unique_ptr<RuleInterface> clone() const override { return std::make_unique<Of>(rule); }
    [[nodiscard]] Promise promise() const override { return rule.promise(); }
    void begin(const Trial& trial) override { rule.begin(trial); }
    [[nodiscard]] std::size_t wants() const override { return rule.wants(); }
    void see(std::span<const double> terms) override { rule.see(terms); }
    [[nodiscard]] bool accept() override { return rule.accept(); }
    [[nodiscard]] const TermMoments& seen() const override { return rule.seen(); }
    [[nodiscard]] bool needs_term_bound() const override { return rule.needs_term_bound(); }
    R rule;
  };
};
static_assert(Decision<AnyRule>);

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
  std::variant<PlainDifference<AnyModel>, ControlVariates<AnyModel>, Bounded<PlainDifference<AnyModel>>,
               Bounded<ControlVariates<AnyModel>>>
      estimator_;
};

}  // namespace mlo
