// Copyright (c) the mlo authors. BSD-3-Clause.
// A family: the law of the response y given the linear predictor eta and, for some, a second parameter that
// is positive (a scale, a size, a shape) and either known or estimated. One file per family,
// src/model/family_*.cpp, and one line in families.cpp. A virtual call is made once per batch of rows, never
// per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/model/model.hpp"
#include "mlo/model/prior.hpp"

namespace mlo {

class AnyModel;
class RowCurve;
class Stream;
struct FamilySpec;
struct Mode;
struct PriorOptions;

// A batch of rows: what a family sees of them.
struct Batch {
  std::span<const double> eta;
  std::span<const double> y;
  double log_second = 0;  // log of the second parameter where it is estimated; not read otherwise
};

// Derivatives of the row terms f with respect to eta and a, the log of the second parameter. The last three
// are written only where it is estimated.
struct BatchDerivatives {
  std::span<double> first, second;             // df/deta, d2f/deta2
  std::span<double> aux, aux_second, aux_eta;  // df/da, d2f/da2, d2f/da deta
};

// Where the search for the mode begins, in working coordinates.
struct StartingPoint {
  std::vector<double> coefficients;
  double log_second = 0;
};

// The log-likelihood of all rows as a function of a few sums. Empty: there are no such sums.
using SummedLikelihood = std::function<double(Params)>;

// Law: derivatives() are those of terms(); terms() are finite for |eta| < 700.
class Family {
 public:
  // `known`: the second parameter, if it is known.
  explicit Family(const FamilySpec& spec, std::optional<double> known = {});
  virtual ~Family() = default;
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  [[nodiscard]] const FamilySpec& spec() const noexcept { return *spec_; }
  // Whether there is a second parameter that is estimated beside the coefficients.
  [[nodiscard]] bool estimates_second() const noexcept { return estimated_; }
  // What a reader of the results must know of the law: "known sigma 2". May be empty.
  [[nodiscard]] virtual std::string words() const;

  // Throws DataError where a response breaks the family's rule, with its place.
  virtual void check(const Design& /*design*/) const {}
  // log p(y | eta), complete with its normalising constant.
  virtual void terms(const Batch& batch, std::span<double> out) const noexcept = 0;
  // The terms at `to` less those at `from`, at most `batch_rows` of them. A family overrides it where it can
  // take the two together faster, or with less rounding.
  virtual void differences(const Batch& from, const Batch& to, std::span<double> out) const noexcept;
  // The sum of the terms, without what depends on y and known parameters alone.
  [[nodiscard]] virtual double sum(const Batch& batch) const noexcept = 0;
  // The sum, as above, and the derivatives.
  virtual double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept = 0;
  // A point from which Newton's method finds its way.
  [[nodiscard]] virtual StartingPoint start(const Design& design) const = 0;
  // Whether no term of the batch falls as its eta moves in the direction of its t, for any second parameter.
  [[nodiscard]] virtual bool recedes(std::span<const double> y, std::span<const double> t,
                                     double tolerance) const noexcept;
  // Why the likelihood has no maximum, if the search got as far as this second parameter, where df/da is
  // `slope` in all; else "".
  [[nodiscard]] virtual std::string degenerate(const Design& design, double log_second, double slope) const;
  // The row terms as curves with bounded derivatives, which `exact` needs. Null: they are not.
  [[nodiscard]] virtual std::shared_ptr<const RowCurve> curve() const { return nullptr; }
  // The log-likelihood of all rows from the sums that the search for the mode has taken.
  [[nodiscard]] virtual SummedLikelihood summed(const Mode& /*mode*/, std::size_t /*rows*/) const {
    return {};
  }

  static constexpr std::size_t batch_rows = 256;

 protected:
  // The second parameter of a batch, its log and its inverse.
  [[nodiscard]] double second(const Batch& batch) const noexcept;
  [[nodiscard]] double log_second(const Batch& batch) const noexcept {
    return estimated_ ? batch.log_second : log_known_;
  }
  [[nodiscard]] double inverse_second(const Batch& batch) const noexcept;
  [[nodiscard]] double known_second() const noexcept { return known_; }

 private:
  const FamilySpec* spec_;
  bool estimated_;
  double known_, log_known_;
};

// FamilyNumbers by name: what a user states of a family ("known-sigma", "freedom"), or simulates with.
using FamilyNumbers = std::map<std::string, double, std::less<>>;

// A number that a user may state.
struct FamilyNumber {
  std::string_view name, help;
  std::optional<double> usual;  // where it is not stated; empty: then it is estimated
  bool positive = true;
};

// The centre and the spread of a response that has a unit of its own; others live on a link scale where 1
// is 1.
struct ResponseScale {
  double centre = 0, sd = 1;
};

// The second parameter.
struct SecondParameter {
  std::string_view name;      // "sigma"
  std::string_view known_by;  // the number that states it; empty: it is always estimated
  Prior (*usual_prior)(const ResponseScale& response);
  // Whether the likelihood has a limit other than 0 as the parameter grows, so that there is no posterior
  // with a flat prior, and the prior holds where the likelihood does not.
  bool needs_prior = false;
};

// How rows are simulated.
struct Simulation {
  std::span<const FamilyNumber> numbers;  // all with a usual value
  bool columns = true;                    // false: the one coefficient is a parameter by itself,
  std::string_view parameter = {};        // of this name,
  bool positive = false;                  // which must be positive
  // A response, given eta (the coefficient, where there are no columns).
  std::function<double(Stream&, double eta)> (*response)(const FamilyNumbers& numbers);
};

// What there is to say of a family besides its formulas. `numbers` have been checked.
struct FamilySpec {
  std::string_view name;        // "negative-binomial"
  std::string_view response;    // for help: what values it may have
  std::string_view parameters;  // for help
  std::span<const FamilyNumber> numbers = {};
  std::optional<SecondParameter> second = {};
  bool sums = false;    // whether the log-likelihood of all rows is a function of a few sums
  bool curved = false;  // whether the terms are curves with bounds, where no second parameter is estimated
  // Whether the log-likelihood is concave in the coefficients, for any second parameter. If not, the
  // posterior may have several modes, and they are looked for (modes.hpp).
  bool log_concave = true;
  std::string_view only_mean = {};                           // the name of the intercept where it is alone
  ResponseScale (*response_scale)(const Design&) = nullptr;  // null: 0 and 1
  std::unique_ptr<Family> (*make)(const FamilyNumbers&) =
      nullptr;  // null: the family makes a model of its own,
  std::unique_ptr<AnyModel> (*make_model)(Design design, const FamilyNumbers& numbers,
                                          const PriorOptions& priors,
                                          std::vector<std::string>& notes) = nullptr;
  Simulation simulation;
};

// All families, in the order in which help shows them.
[[nodiscard]] std::span<const FamilySpec* const> families();
// Null: there is none of that name.
[[nodiscard]] const FamilySpec* find_family(std::string_view name);
// "gaussian, logistic, ..."
[[nodiscard]] std::string family_names();
// The family of that name, with numbers that are stated. Throws UsageError: no such family, one that makes a
// model of its own, a number that it does not have, a value that breaks its rule.
[[nodiscard]] std::shared_ptr<const Family> make_family(std::string_view name,
                                                        const FamilyNumbers& numbers = {});
// Throws UsageError for a number that the family does not have, or a value that breaks its rule.
void check_numbers(const FamilySpec& spec, const FamilyNumbers& numbers);
// Whether the second parameter is estimated when these numbers are stated.
[[nodiscard]] bool estimates_second(const FamilySpec& spec, const FamilyNumbers& numbers);

// The median, and the median distance from it times 1.4826, which makes it the sd of a normal law. Where half
// of the values are the same: the mean distance.
struct RobustSpread {
  double centre = 0, scale = 0;
};
[[nodiscard]] RobustSpread robust_spread(std::vector<double> values);

}  // namespace mlo
