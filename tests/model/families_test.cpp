// Copyright (c) the mlo authors. BSD-3-Clause.
// What every family in the list must have, whichever it is: a new family is tested without a line here.
#include "support/families.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "mlo/base/errors.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/model/curve.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/layout.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

class EveryFamily : public ::testing::TestWithParam<const FamilySpec*> {
 protected:
  const FamilySpec& spec = *GetParam();
};
std::string label(const ::testing::TestParamInfo<const FamilySpec*>& info) {
  std::string out(info.param->name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, EveryFamily, ::testing::ValuesIn(families()), label);

TEST_P(EveryFamily, SaysWhatItIs) {
  EXPECT_FALSE(spec.name.empty());
  EXPECT_FALSE(spec.response.empty());
  EXPECT_FALSE(spec.parameters.empty());
  EXPECT_EQ(find_family(spec.name), &spec);
  std::set<std::string_view> names;
  for (const FamilyNumber& n : spec.numbers) {
    EXPECT_TRUE(names.insert(n.name).second) << n.name << " twice";
    EXPECT_FALSE(n.name.empty());
    EXPECT_FALSE(n.help.empty()) << n.name;
    // A number without a usual value is that of the second parameter, which is estimated then.
    EXPECT_TRUE(n.usual || (spec.second && spec.second->known_by == n.name)) << n.name;
  }
  if (spec.second) {
    EXPECT_FALSE(spec.second->name.empty());
    EXPECT_NE(spec.second->usual_prior, nullptr);
    if (!spec.second->known_by.empty()) {
      EXPECT_TRUE(names.contains(spec.second->known_by));
    }
  }
  EXPECT_NE(spec.make == nullptr, spec.make_model == nullptr) << "one way to make it";
  EXPECT_NE(spec.simulation.response, nullptr);
  EXPECT_NE(spec.simulation.columns, !spec.simulation.parameter.empty());
  for (const FamilyNumber& n : spec.simulation.numbers) {
    EXPECT_FALSE(n.name.empty());
    EXPECT_FALSE(n.help.empty()) << n.name;
    EXPECT_TRUE(n.usual) << n.name;
  }
}

TEST_P(EveryFamily, KeepsTheRulesOfItsNumbers) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const FamilyNumber& n : spec.numbers) {
    const std::string name(n.name);
    const auto with = [&](double value) { return refusal([&] { check_numbers(spec, {{name, value}}); }); };
    EXPECT_EQ(with(n.share ? 0.25 : 2.5), "no error");
    if (n.usual) {
      EXPECT_EQ(with(*n.usual), "no error");
    }
    if (n.share) {
      for (const double value : {0.0, -1.0, 1.0, 1.5, nan, infinity})
        EXPECT_EQ(with(value), fmt::format("`{}` must be between 0 and 1, exclusive (got {})", name, value));
    } else if (n.positive) {
      EXPECT_EQ(with(0), "`" + name + "` must be positive (got 0)");
      EXPECT_EQ(with(-1), "`" + name + "` must be positive (got -1)");
      EXPECT_EQ(with(nan), "`" + name + "` must be positive (got nan)");
      EXPECT_EQ(with(infinity), "`" + name + "` must be positive and finite (got inf)");
    } else {
      EXPECT_EQ(with(0), "no error");
      EXPECT_EQ(with(-1), "no error");
      EXPECT_EQ(with(nan), "`" + name + "` must be a finite number (got nan)");
      EXPECT_EQ(with(infinity), "`" + name + "` must be a finite number (got inf)");
    }
  }
}

TEST_P(EveryFamily, RefusesANumberThatItDoesNotHave) {
  const std::string name(spec.name), expected = "` has no meaning with `family " + name + "`";
  EXPECT_EQ(refusal([&] { check_numbers(spec, {{"nonsense", 1}}); }), "`nonsense" + expected);
  if (spec.make != nullptr) {
    const std::string words = refusal([&] { static_cast<void>(make_family(name, {{"nonsense", 1}})); });
    EXPECT_EQ(words, "`nonsense" + expected);
  }
  // Numbers of other families are refused too.
  for (const FamilySpec* other : families())
    for (const FamilyNumber& n : other->numbers) {
      const bool own = std::any_of(spec.numbers.begin(), spec.numbers.end(),
                                   [&](const FamilyNumber& m) { return m.name == n.name; });
      EXPECT_EQ(refusal([&] {
                  check_numbers(spec, {{std::string(n.name), 0.5}});
                }),
                own ? "no error" : "`" + std::string(n.name) + expected);
    }
}

// ---- simulation

// Not the usual values, which are 1, so that a number that is ignored is noticed.
FamilyNumbers simulation_numbers(const FamilySpec& spec) {
  FamilyNumbers out;
  for (const FamilyNumber& n : spec.simulation.numbers)
    out[std::string(n.name)] = *n.usual + (n.share ? 0.2 : n.name == "trials" ? 3 : 0.7);
  return out;
}
// The same, as the numbers of the family; what it estimates is left out.
FamilyNumbers family_numbers(const FamilySpec& spec, const FamilyNumbers& simulated) {
  FamilyNumbers out;
  for (const FamilyNumber& n : spec.numbers) {
    const bool second = spec.second && n.name == spec.second->known_by;
    const auto at = simulated.find(second ? spec.second->name : n.name);
    if (n.usual && at != simulated.end()) out[std::string(n.name)] = at->second;
  }
  return out;
}

TEST_P(EveryFamily, AcceptsTheResponsesItSimulates) {
  const FamilyNumbers numbers = simulation_numbers(spec);
  const auto response = spec.simulation.response(numbers);
  const bool columns = spec.simulation.columns;
  Table table = testing::regression_table(
      500, columns ? 0.3 : 0.8, columns ? std::vector<double>{0.5} : std::vector<double>{}, 9, response);
  Design design = testing::design_of(std::move(table), columns ? "y ~ x1" : "y ~ 1");
  design.counted = spec.counted;
  const FamilyNumbers own = family_numbers(spec, numbers);
  if (spec.make != nullptr) {
    EXPECT_NO_THROW(make_family(spec.name, own)->check(design));
  }
  std::vector<std::string> notes;
  const auto model = make_model(spec, design, own, {}, notes);
  EXPECT_EQ(model->rows(), 500U);
  EXPECT_EQ(model->names().size(), model->dim());
  // Three classes are simulated.
  EXPECT_EQ(model->dim(), design.dim * (spec.classes ? 2 : 1) + (estimates_second(spec, own) ? 1 : 0));
  ASSERT_FALSE(notes.empty());
  for (const std::string& note : notes) EXPECT_FALSE(note.empty());
  if (!columns) {
    EXPECT_EQ(model->names()[0], spec.simulation.parameter);
  }
}

// The scores have mean 0 at the parameters that the rows were simulated with: the simulated law is that of
// the terms. 5 standard errors: one false alarm in a million.
TEST_P(EveryFamily, SimulatesTheLawOfItsTerms) {
  const FamilyNumbers numbers = simulation_numbers(spec);
  const auto response = spec.simulation.response(numbers);
  const double eta = 0.6;  // or tau
  constexpr std::size_t n = 40'000;
  Design design = testing::design_of(testing::regression_table(n, eta, {}, 12, response), "y ~ 1");
  design.counted = spec.counted;
  std::vector<std::string> notes;
  const auto model = make_model(spec, design, family_numbers(spec, numbers), {}, notes);
  std::vector<double> user(model->dim(), eta), theta(model->dim());
  if (spec.classes) {
    user[1] = 2 * eta;  // of the third class
  } else if (model->dim() == 2) {
    user[1] = numbers.find(spec.second->name)->second;
  }
  model->to_working(user, theta);
  Eigen::MatrixXd scores;
  model->gradients(theta, Rows::range(0, n), scores);
  for (Eigen::Index j = 0; j < scores.cols(); ++j) {
    const Eigen::ArrayXd score = scores.col(j);
    const double mean = score.mean(), sd = std::sqrt((score - mean).square().mean());
    EXPECT_LT(std::abs(mean) / (sd / std::sqrt(static_cast<double>(n))), 5) << "parameter " << j;
  }
}

// ---- making them

TEST(Families, AreFoundByName) {
  EXPECT_EQ(family_names(),
            "gaussian, gaussian-mean, gaussian-precision, student, logistic, probit, beta-binomial, poisson, "
            "negative-binomial, zero-inflated-poisson, gamma, softmax");
  EXPECT_EQ(find_family("gauss"), nullptr);
  EXPECT_EQ(refusal([] { static_cast<void>(make_family("gauss")); }),
            "`family` must be one of " + family_names() + " (got \"gauss\")");
  EXPECT_EQ(make_family("poisson")->spec().name, "poisson");
  EXPECT_EQ(refusal([] {
              static_cast<void>(make_family("student", {{"freedom", -1}}));
            }),
            "`freedom` must be positive (got -1)");
}

TEST(Families, GaussianPrecisionIsAModelOfItsOwn) {
  EXPECT_EQ(refusal([] { static_cast<void>(make_family("gaussian-precision")); }),
            "`family gaussian-precision` is a model of its own: make_model() makes it");
  const FamilySpec& spec = *find_family("gaussian-precision");
  const Table table = testing::regression_table(50, 0, {0.5}, 3, testing::draw_gaussian);
  std::vector<std::string> notes;
  EXPECT_EQ(refusal([&] {
              static_cast<void>(make_model(spec, testing::design_of(table, "y ~ x1"), {}, {}, notes));
            }),
            "`family gaussian-precision` has one parameter, tau, and no columns: write y ~ 1");
  static_cast<void>(make_model(spec, testing::design_of(table, "y ~ 1"), {{"known-mean", -0.5}}, {}, notes));
  EXPECT_EQ(notes, (std::vector<std::string>{"known mean -0.5", "prior: tau ~ gamma(0.01, 0.01)"}));
}

TEST(Families, TellAReaderTheirPriorsAndKnownParameters) {
  const auto notes_of = [](const char* family, const FamilyNumbers& numbers, const PriorOptions& priors) {
    const bool positive = std::string_view(family) == "gamma";
    const Table table =
        testing::regression_table(50, 1, {0.5}, 3, positive ? testing::draw_gamma : testing::draw_poisson);
    std::vector<std::string> notes;
    static_cast<void>(
        make_model(*find_family(family), testing::design_of(table, "y ~ 1"), numbers, priors, notes));
    return notes;
  };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes_of("poisson", {}, {.prior_intercept = "flat"}), (Notes{"priors: (Intercept) ~ flat"}));
  EXPECT_EQ(notes_of("negative-binomial", {}, {}),
            (Notes{"priors: (Intercept) ~ normal(0, 10); size ~ gamma(2, 0.1)"}));
  EXPECT_EQ(notes_of("negative-binomial", {{"size", 3}}, {}),
            (Notes{"priors: (Intercept) ~ normal(0, 10)", "known size 3"}));
  EXPECT_EQ(notes_of("zip", {}, {}), (Notes{"priors: (Intercept) ~ normal(0, 10); zi ~ beta(1, 1)"}));
  EXPECT_EQ(notes_of("zip", {{"zi", 0.25}}, {}),
            (Notes{"priors: (Intercept) ~ normal(0, 10)", "known zi 0.25"}));
  EXPECT_EQ(notes_of("gamma", {}, {}), (Notes{"priors: (Intercept) ~ normal(0, 10); shape ~ cauchy(0, 10)"}));
  EXPECT_EQ(notes_of("gamma", {{"shape", 3}}, {}),
            (Notes{"priors: (Intercept) ~ normal(0, 10)", "known shape 3"}));
  EXPECT_EQ(notes_of("gaussian-mean", {{"known-sigma", 2}}, {.prior = "normal(0, 4)"}),
            (Notes{"priors: mu ~ normal(0, 4)", "known sigma 2"}));
  EXPECT_EQ(notes_of("gaussian-mean", {}, {.prior = "flat"}), (Notes{"priors: mu ~ flat", "known sigma 1"}));
  EXPECT_EQ(
      notes_of("student", {{"freedom", 3}}, {.prior_for = {{"(Intercept)", "flat"}, {"sigma", "flat"}}}),
      (Notes{"priors: (Intercept) ~ flat; sigma ~ flat", "Student's law with 3 degrees of freedom"}));
  EXPECT_EQ(notes_of("student", {{"known-sigma", 2}}, {.prior_intercept = "flat"}),
            (Notes{"priors: (Intercept) ~ flat", "Student's law with 4 degrees of freedom, known sigma 2"}));
}

// ---- a second parameter, known or estimated

// An estimated parameter at the value of the known one gives the same terms, differences and derivatives, and
// sums that differ only by a constant.
TEST(Families, AgreeWhetherTheSecondParameterIsKnownOrEstimated) {
  struct Pair {
    const char *estimated, *known, *number;
    FamilyNumbers others;
  };
  const std::vector<double> etas{-1.5, 0.2, 0.9, 2.0, 4.5, 8.1}, moved{-1.1, 0.5, 0.1, 2.6, 4.9, 8.4};
  const std::size_t n = etas.size();
  for (const Pair& pair :
       {Pair{"gaussian", "gaussian-mean", "known-sigma", {}},
        Pair{"student", "student", "known-sigma", {{"freedom", 3}}},
        Pair{"negative-binomial", "negative-binomial", "size", {}}, Pair{"gamma", "gamma", "shape", {}},
        Pair{"zero-inflated-poisson", "zero-inflated-poisson", "zi", {}}})
    for (const double other : {0.2, 1.0, 3.7}) {
      const bool share = find_family(pair.estimated)->second->share;
      const double value = share ? other / 4 : other;
      SCOPED_TRACE(::testing::Message() << pair.estimated << ", " << value);
      const std::vector<double> y{pair.estimated == std::string_view("gamma") ? 0.3 : 0, 1, 2, 7, 130, 4000};
      FamilyNumbers with = pair.others;
      with[pair.number] = value;
      const auto estimated = make_family(pair.estimated, pair.others), known = make_family(pair.known, with);
      EXPECT_TRUE(estimated->estimates_second());
      EXPECT_FALSE(known->estimates_second());
      EXPECT_TRUE(estimates_second(estimated->spec(), pair.others));
      EXPECT_FALSE(estimates_second(known->spec(), with));
      const double a = estimated->spec().second->to_working(value);
      // If the parameter is known, the log in the batch must not be read.
      const Batch at_estimated{etas, y, a}, at_known{etas, y, std::nan("")};
      const Batch to_estimated{moved, y, a}, to_known{moved, y, std::nan("")};
      std::vector<double> t(n), u(n);
      estimated->terms(at_estimated, t);
      known->terms(at_known, u);
      for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(t[k], u[k], 2e-14 * (1 + std::abs(u[k])));
      std::vector<double> dt(n), du(n);
      estimated->differences(at_estimated, to_estimated, dt);
      known->differences(at_known, to_known, du);
      for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(dt[k], du[k], 4e-14 * (1 + std::abs(u[k])));
      const double change = estimated->sum(to_estimated) - estimated->sum(at_estimated);
      EXPECT_NEAR(known->sum(to_known) - known->sum(at_known), change,
                  1e-13 * (1 + std::abs(known->sum(at_known))));
      std::vector<double> f(n), ff(n), g(n), gg(n), aux(n), aux_second(n), aux_eta(n);
      EXPECT_EQ(estimated->derivatives(at_estimated, {f, ff, aux, aux_second, aux_eta}),
                estimated->sum(at_estimated));
      EXPECT_EQ(known->derivatives(at_known, {g, gg, {}, {}, {}}), known->sum(at_known));
      for (std::size_t k = 0; k < n; ++k) {
        EXPECT_NEAR(f[k], g[k], 1e-12 * (1 + std::abs(g[k])));
        EXPECT_NEAR(ff[k], gg[k], 1e-12 * (1 + std::abs(gg[k])));
      }
    }
}

// ---- families as curves

class FamilyCurves : public testing::OnFamily {};
MLO_ON_FAMILIES(FamilyCurves, testing::all_families());

// A third derivative by differences of the second, which the family has.
double third_by_differences(const Family& family, double eta, double y) {
  constexpr double h = 1e-4;
  const std::vector<double> etas{eta - h, eta + h}, ys{y, y};
  std::vector<double> first(2), second(2);
  static_cast<void>(family.derivatives({etas, ys}, {first, second, {}, {}, {}}));
  return (second[1] - second[0]) / (2 * h);
}

TEST_P(FamilyCurves, AreThereWhereTheListSaysSo) {
  const auto family = GetParam().make();
  EXPECT_EQ(family->curve() != nullptr, family->spec().curved && !family->estimates_second());
}

// scale * f(e + direction * t) + tilt * t is the row's term up to a constant.
TEST_P(FamilyCurves, AreTheTermsOfTheFamily) {
  const auto family = GetParam().make();
  const auto curve = family->curve();
  if (curve == nullptr) return;
  Stream stream({.seed = 4, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  for (const double eta : {-1.2, 0.0, 0.7, 2.1})
    for (int repeat = 0; repeat < 5; ++repeat) {
      const double y = GetParam().draw(stream, eta);
      SCOPED_TRACE(::testing::Message() << "eta " << eta << ", y " << y);
      RowShape shape{};
      curve->shapes({&eta, 1}, {&y, 1}, {&shape, 1});
      double first = 0, second = 0;
      static_cast<void>(family->derivatives({{&eta, 1}, {&y, 1}}, {{&first, 1}, {&second, 1}, {}, {}, {}}));
      const auto term = [&](double at) {
        double out = 0;
        family->terms({{&at, 1}, {&y, 1}}, {&out, 1});
        return out;
      };
      const auto d = [&](double t) { return term(eta + t) - term(eta) - t * first - t * t * second / 2; };
      const double size = 1 + std::abs(term(eta));

      double third = 0;
      curve->third({&shape.e, 1}, {&third, 1});
      EXPECT_NEAR(shape.scale * std::pow(shape.direction, 3) * third, third_by_differences(*family, eta, y),
                  1e-5 * (1 + std::abs(third * shape.scale)));
      const std::vector<double> moves{-1.5, -0.4, 0.3, 0.9};
      for (const double t : moves) {
        const double along = shape.direction * t, back = -shape.direction * t;
        double remainder = 0, change = 0, change3 = 0;
        curve->remainders({&shape.e, 1}, {&along, 1}, {&remainder, 1});
        EXPECT_NEAR(shape.scale * remainder, d(t), 1e-12 * size);
        curve->changes(2, {&shape.e, 1}, {&back, 1}, {&along, 1}, {&change, 1});
        EXPECT_NEAR(shape.scale * change, d(t) - d(-t), 1e-12 * size);
        curve->changes(3, {&shape.e, 1}, {&back, 1}, {&along, 1}, {&change3, 1});
        EXPECT_NEAR(change3, change - third * std::pow(along, 3) / 3, 1e-12 * size);
      }

      // The suprema over an interval are bounds, and nearly reached.
      const double radius = 1.1, reach = std::abs(shape.direction) * radius;
      double slope = 0, sup = 0, steepest = 0, largest = 0;
      curve->slopes({&shape, 1}, {&radius, 1}, {&slope, 1});
      curve->suprema(3, {&shape.e, 1}, {&reach, 1}, {&sup, 1});
      for (int k = -400; k <= 400; ++k) {
        const double at = eta + radius * k / 400;
        static_cast<void>(family->derivatives({{&at, 1}, {&y, 1}}, {{&first, 1}, {&second, 1}, {}, {}, {}}));
        steepest = std::max(steepest, std::abs(first));
        largest = std::max(largest, std::abs(third_by_differences(*family, at, y)));
      }
      EXPECT_GE(slope, steepest * (1 - 1e-9));
      EXPECT_LE(slope, steepest * (1 + 1e-3) + 1e-9);
      const double bound = shape.scale * std::pow(std::abs(shape.direction), 3) * sup;
      EXPECT_GE(bound, largest * (1 - 1e-3) - 1e-6);
      EXPECT_LE(bound, largest * (1 + 1e-2) + 1e-6);  // probit's come from a table
    }
}

}  // namespace
}  // namespace mlo
