// Copyright (c) the mlo authors. BSD-3-Clause.
// Families as the values of TEST_P: TEST_P(Name, ...) with `class Name : public OnFamily {}` and
// MLO_ON_FAMILIES(Name, all_families()).
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "mlo/model/family.hpp"
#include "support/designs.hpp"

namespace mlo::testing {

struct FamilyCase {
  std::string name;
  FamilyNumbers numbers;
  double (*draw)(Stream&, double eta);

  [[nodiscard]] std::shared_ptr<const Family> make() const { return make_family(name, numbers); }
  // A name that a test may have: "student_freedom_known_sigma".
  [[nodiscard]] std::string label() const {
    std::string out = name;
    for (const auto& [number, value] : numbers) out += "_" + number;
    for (char& c : out)
      if (c == '-') c = '_';
    return out;
  }
};
inline void PrintTo(const FamilyCase& family, std::ostream* out) { *out << family.label(); }

// Known second parameters are not 1, so that a factor that is left out is noticed.
inline std::vector<FamilyCase> all_families() {
  return {{"logistic", {}, draw_logistic},
          {"probit", {}, draw_probit},
          {"poisson", {}, draw_poisson},
          {"gaussian-mean", {{"known-sigma", 1.3}}, draw_gaussian},
          {"gaussian", {}, draw_gaussian},
          {"student", {{"freedom", 4}, {"known-sigma", 1.2}}, draw_student},
          {"student", {{"freedom", 4}}, draw_student},
          {"negative-binomial", {{"size", 2.5}}, draw_negative_binomial},
          {"negative-binomial", {}, draw_negative_binomial},
          {"zero-inflated-poisson", {{"zi", 0.3}}, draw_zero_inflated},
          {"zero-inflated-poisson", {}, draw_zero_inflated},
          {"gamma", {{"shape", 2.5}}, draw_gamma},
          {"gamma", {}, draw_gamma}};
}

class OnFamily : public ::testing::TestWithParam<FamilyCase> {};

#define MLO_ON_FAMILIES(Suite, families)                              \
  INSTANTIATE_TEST_SUITE_P(All, Suite, ::testing::ValuesIn(families), \
                           [](const auto& family) { return family.param.label(); })

}  // namespace mlo::testing
