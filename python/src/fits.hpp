// Copyright (c) the mlo authors. BSD-3-Clause.
// A fit that Python holds.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>
#include <vector>

#include "mlo/base/huge_vector.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo::python {

// The draws of all chains are moved to one buffer, chain after chain, which arrays of NumPy are views of. Of
// chains that differ in length, because they were interrupted, only as many draws are kept as the shortest
// has.
class HeldFit {
 public:
  explicit HeldFit(FitResult result);

  [[nodiscard]] const FitResult& result() const noexcept { return result_; }  // its chains have no draws
  [[nodiscard]] FitResult with_draws() const;
  [[nodiscard]] std::size_t chains() const noexcept { return result_.chains.size(); }
  [[nodiscard]] std::size_t draws() const noexcept { return draws_per_chain_; }
  [[nodiscard]] std::size_t dim() const noexcept { return result_.names.size(); }
  [[nodiscard]] const double* data() const noexcept { return draws_.data(); }
  // Group effects per draw, and their draws in the same order; null if these were not kept.
  [[nodiscard]] std::size_t effects() const noexcept { return result_.effects.size(); }
  [[nodiscard]] const float* effect_data() const noexcept {
    return effects_.empty() ? nullptr : effects_.data();
  }

 private:
  FitResult result_;
  std::size_t draws_per_chain_ = 0;
  HugeVector<double> draws_;
  HugeVector<float> effects_;
};

void add_fits(pybind11::module_& module);

}  // namespace mlo::python
