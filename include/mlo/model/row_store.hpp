// Copyright (c) the mlo authors. BSD-3-Clause.
// The rows of a design, in batches, as models and methods ask for them. Only this class and linear.cpp know
// what a row is made of: at present, a dense record.
#pragma once

#include <Eigen/Dense>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

// Coefficients as the SIMD loops read them: with zeros after the last.
class Coefficients {
 public:
  Coefficients(Params theta, std::size_t dim);
  [[nodiscard]] const double* data() const noexcept { return heap_.empty() ? stack_.data() : heap_.data(); }

 private:
  std::array<double, 256> stack_;  // larger designs use the heap
  std::vector<double> heap_;
};

class RowStore {
 public:
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  explicit RowStore(Design design) : design_(std::move(design)) {}

  // Names, scales and where the rows came from, without the rows themselves.
  [[nodiscard]] const Design& design() const noexcept { return design_; }
  [[nodiscard]] std::size_t size() const noexcept { return design_.rows; }
  [[nodiscard]] std::size_t dim() const noexcept { return design_.dim; }

  void responses(Rows rows, std::span<double> y) const noexcept;
  // x_k' beta plus the offset.
  void predictors(const Coefficients& beta, Rows rows, std::span<double> eta) const noexcept;
  // x_k' beta alone.
  void products(const Coefficients& beta, Rows rows, std::span<double> out) const noexcept;
  // Prefetches the first of these rows, which will be read soon; reading those prefetches the others.
  void prefetch(std::span<const RowId> ids) const noexcept;
  // Two predictors of the first `count` rows of ids, each row fetched once. Also prefetches rows that come
  // later in ids, even beyond `count`.
  void predictor_pairs(std::span<const RowId> ids, std::size_t count, const Coefficients& from,
                       const Coefficients& to, std::span<double> from_eta,
                       std::span<double> to_eta) const noexcept;

  // gradient[j] += sum_k u[k] x_kj and, unless information is empty, information[j * dim + m] += sum_k v[k]
  // x_kj x_km for m >= j (upper triangle).
  void add_moments(Rows rows, std::span<const double> u, std::span<const double> v,
                   std::span<double> gradient, std::span<double> information) const;
  // out.row(first + k) = u[k] x_k, in the first dim() columns.
  void scaled_rows(Rows rows, std::span<const double> u, Eigen::MatrixXd& out, std::size_t first) const;

  // Rows first..first+count-1 by matrix products, for passes over all rows: x_k' theta with the offset, the
  // whitened rows x_k' U for an upper triangular U, and the lengths |L^-1 x_k| for a lower triangular L. Of
  // some columns only, if there are `columns`: ascending, one per row of U.
  [[nodiscard]] Eigen::VectorXd predictors(std::size_t first, std::size_t count,
                                           const Eigen::VectorXd& theta) const;
  [[nodiscard]] Matrix whitened(std::size_t first, std::size_t count, const Eigen::MatrixXd& upper,
                                std::span<const std::size_t> columns = {}) const;
  [[nodiscard]] Eigen::VectorXd white_lengths(std::size_t first, std::size_t count,
                                              const Eigen::MatrixXd& lower) const;

 private:
  Design design_;
};

}  // namespace mlo
