// Copyright (c) the mlo authors. BSD-3-Clause.
// A family: the law of the response y given the linear predictor eta and, for some, a second parameter that
// is positive (a scale, a size, a shape) or between 0 and 1 (a share), and either known or estimated. One
// file per family, src/model/family_*.cpp, and one line in families.cpp. A virtual call is made once per
// batch of rows, never per row.
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
#include "mlo/model/link.hpp"
#include "mlo/model/model.hpp"
#include "mlo/model/prior.hpp"

namespace mlo {

class AnyModel;
class RowCurve;
class RowSurface;
class Stream;
struct FamilySpec;
struct Mode;
struct PriorOptions;

// What a family sees of a batch of rows.
struct Batch {
  std::span<const double> eta;
  std::span<const double> y;
  // The second parameter's working coordinate if it is estimated: its log, or its logit if it is a share
  // (SecondParameter). Not read otherwise.
  double log_second = 0;
};

// Derivatives of the row terms f with respect to eta and a, the second parameter's working coordinate. The
// last three are written only if it is estimated.
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
  // The second parameter if it is known; otherwise 1.
  [[nodiscard]] double known_second() const noexcept { return known_; }
  // What a reader of the results must know about the law: "known sigma 2". May be empty.
  [[nodiscard]] virtual std::string words() const;

  // Throws DataError if a response breaks the family's rule, with its place.
  virtual void check(const Design& /*design*/) const {}
  // log p(y | eta), complete with its normalising constant.
  virtual void terms(const Batch& batch, std::span<double> out) const noexcept = 0;
  // The terms at `to` minus those at `from`, of at most `batch_rows` rows. A family overrides it if it can
  // compute the two together faster, or with less rounding error.
  virtual void differences(const Batch& from, const Batch& to, std::span<double> out) const noexcept;
  // The sum of the terms, without the parts that depend only on y and known parameters.
  [[nodiscard]] virtual double sum(const Batch& batch) const noexcept = 0;
  // The sum, as above, and the derivatives.
  virtual double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept = 0;
  // A point from which Newton's method converges.
  [[nodiscard]] virtual StartingPoint start(const Design& design) const = 0;
  // Whether no term of the batch decreases as its eta moves in the direction of its t, whatever the second
  // parameter is.
  [[nodiscard]] virtual bool recedes(std::span<const double> y, std::span<const double> t,
                                     double tolerance) const noexcept;
  // Why the likelihood has no maximum, if the search reaching this value of the second parameter shows that;
  // otherwise "". `slope` is the sum of df/da over all rows there.
  [[nodiscard]] virtual std::string degenerate(const Design& design, double log_second, double slope) const;
  // The row terms as curves with bounded derivatives, which `exact` needs. Null if they are not such curves.
  [[nodiscard]] virtual std::shared_ptr<const RowCurve> curve() const { return nullptr; }
  // The same of the terms' functions of the predictor, if the second parameter is estimated and a factor of
  // them (SecondFactor).
  [[nodiscard]] virtual std::shared_ptr<const RowCurve> unit_curve() const { return nullptr; }
  // The row terms as surfaces over the predictor and the second parameter's working coordinate, about this
  // value of it,
  // which `exact` needs if it is estimated. `largest`: no response is larger. Null: there are no bounds.
  [[nodiscard]] virtual std::shared_ptr<const RowSurface> surface(double /*log_second*/,
                                                                  double /*largest*/) const {
    return nullptr;
  }
  // The log-likelihood of all rows from the sums that the search for the mode has taken.
  // `rows`: how many they are, each as often as its weight says.
  [[nodiscard]] virtual SummedLikelihood summed(const Mode& /*mode*/, double /*rows*/) const { return {}; }

  static constexpr std::size_t batch_rows = 256;

 protected:
  // The second parameter of a batch, its working coordinate and its inverse.
  [[nodiscard]] double second(const Batch& batch) const noexcept;
  [[nodiscard]] double log_second(const Batch& batch) const noexcept {
    return estimated_ ? batch.log_second : log_known_;
  }
  [[nodiscard]] double inverse_second(const Batch& batch) const noexcept;

 private:
  const FamilySpec* spec_;
  bool estimated_;
  double known_, log_known_;
};

// Numbers by name: what a user states about a family ("known-sigma", "freedom"), or simulates with.
using FamilyNumbers = std::map<std::string, double, std::less<>>;

// A number that a user may state.
struct FamilyNumber {
  std::string_view name, help;
  std::optional<double> usual;  // the value if none is stated; empty: it is estimated then
  bool positive = true;
  bool share = false;  // whether it must be between 0 and 1
};

// The centre and the spread of a response that has a unit. Other families have 0 and 1, because their link
// scale has no unit.
struct ResponseScale {
  double centre = 0, sd = 1;
};

// A second parameter that is a factor of the likelihood: with a its log, a row's term is e^(power a) times a
// function of the predictor, plus a function of a alone.
struct SecondFactor {
  double power;
  struct Alone {
    double value, slope;  // up to a constant
  };
  Alone (*alone)(double log_second);
};

// The second parameter.
struct SecondParameter {
  std::string_view name;      // "sigma"
  std::string_view known_by;  // the number by which a user states it; empty: always estimated
  Prior (*usual_prior)(const ResponseScale& response);
  // Whether the likelihood tends to a positive limit as the parameter grows. Then there is no posterior with
  // a flat prior, and with a proper one there is a mode even if the likelihood has none.
  bool needs_prior = false;
  // Whether the likelihood grows beyond all bounds as the parameter goes to 0, where the columns predict the
  // response exactly.
  bool scale = false;
  std::optional<SecondFactor> factor = {};
  // Whether it is between 0 and 1: chains move in its logit instead of its log.
  bool share = false;

  // Between the parameter and its working coordinate.
  [[nodiscard]] double to_working(double value) const noexcept;
  [[nodiscard]] double to_user(double working) const noexcept;
};

// How rows are simulated.
struct Simulation {
  std::span<const FamilyNumber> numbers;  // each has a usual value
  bool columns = true;                    // false: the response depends on one parameter instead
  std::string_view parameter = {};        // the name of that parameter
  bool positive = false;                  // whether it must be positive
  // Draws a response, given eta (or the one parameter, if there are no columns).
  std::function<double(Stream&, double eta)> (*response)(const FamilyNumbers& numbers);
};

// Everything about a family except its formulas. The numbers that make and make_model get have been checked.
struct FamilySpec {
  std::string_view name;                           // "negative-binomial"
  std::span<const std::string_view> aliases = {};  // other names that users know it by
  std::string_view response;                       // for help: what values it may have
  std::string_view parameters;                     // for help
  std::span<const FamilyNumber> numbers = {};
  std::optional<SecondParameter> second = {};
  bool binary = false;  // whether responses are 0 or 1, or text with two levels
  bool shares = false;  // whether responses may be shares of trials: the log-likelihood is linear in y
  // Whether a response is a number of successes out of a number of trials, both in one number (Outcome).
  bool counted = false;
  bool sums = false;      // whether the log-likelihood of all rows is a function of a few sums
  bool curved = false;    // whether terms are curves with bounds, if no second parameter is estimated
  bool surfaced = false;  // whether they are surfaces with bounds, if it is
  bool classes = false;   // whether responses are classes, each but the base with coefficients of its own
  // Whether the log-likelihood is concave in the coefficients, for any second parameter. If not, the
  // posterior may have several modes, and they are looked for (modes.hpp).
  bool log_concave = true;
  std::string_view only_mean = {};                           // the name of the intercept if it is alone
  ResponseScale (*response_scale)(const Design&) = nullptr;  // null: 0 and 1
  std::unique_ptr<Family> (*make)(const FamilyNumbers&) = nullptr;  // null: make_model is used instead
  std::unique_ptr<AnyModel> (*make_model)(Design design, const FamilyNumbers& numbers,
                                          const PriorOptions& priors,
                                          std::vector<std::string>& notes) = nullptr;
  Simulation simulation;
  Link link = Link::identity;  // of the mean of the response
  // What the inverse link is multiplied by to make the mean, given the second parameter. Null: 1.
  double (*mean_factor)(double second) = nullptr;
  // Twice what the log-likelihood of a response falls short of the largest possible one if its mean is
  // `mean`, without the scale: R's deviance of a row. Null: it is not in use for this family.
  double (*deviance)(double y, double mean, double second) = nullptr;
  // The variance of a response about its mean on the predictor's scale, given the second parameter: of a
  // gaussian response, or of the latent variable behind a binary one. Null: there is no such number.
  double (*residual_variance)(double second) = nullptr;
  bool (*accepts)(double y) = nullptr;  // whether it can be a response; null: any number can
};

// All families, in the order in which help shows them.
[[nodiscard]] std::span<const FamilySpec* const> families();
// Null if there is no family of that name; an alias is a name.
[[nodiscard]] const FamilySpec* find_family(std::string_view name);
// "gaussian, logistic, ..."
[[nodiscard]] std::string family_names();
// Throws UsageError: "WHAT must be one of ...", with the one that NAME may mean.
[[noreturn]] void refuse_family(std::string_view what, std::string_view name);
// The family of that name, with the numbers that are stated. Throws UsageError: no such family, a family that
// only make_model can make, a number that the family does not have, a value that breaks its rule.
[[nodiscard]] std::shared_ptr<const Family> make_family(std::string_view name,
                                                        const FamilyNumbers& numbers = {});
// Throws UsageError for a number that the family does not have, or a value that breaks its rule.
void check_numbers(const FamilySpec& spec, const FamilyNumbers& numbers);
// Whether the second parameter is estimated when these numbers are stated.
[[nodiscard]] bool estimates_second(const FamilySpec& spec, const FamilyNumbers& numbers);

// The median, and the median distance from it times 1.4826, which is the sd for a normal law. If half of the
// values are equal, the mean distance instead.
struct RobustSpread {
  double centre = 0, scale = 0;
};
[[nodiscard]] RobustSpread robust_spread(std::vector<double> values);

}  // namespace mlo
