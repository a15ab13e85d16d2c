// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/row_store.hpp"

#include <algorithm>

#include "model/linear.hpp"

namespace mlo {
namespace {

linear::RowStoreView view(const Design& design) { return {design.x.data(), design.stride, design.dim}; }

auto dense(const Design& design, std::size_t first, std::size_t count) {
  return Eigen::Map<const RowStore::Matrix, 0, Eigen::OuterStride<>>(
      design.row(first), static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(design.dim),
      Eigen::OuterStride<>(static_cast<Eigen::Index>(design.stride)));
}

}  // namespace

Coefficients::Coefficients(Params theta, std::size_t dim) {
  if (dim + linear::padding > stack_.size()) heap_.resize(dim + linear::padding);
  double* out = heap_.empty() ? stack_.data() : heap_.data();
  std::copy_n(theta.begin(), dim, out);
  std::fill_n(out + dim, linear::padding, 0.0);
}

void RowStore::responses(Rows rows, std::span<double> y) const noexcept {
  if (rows.contiguous()) {
    const double* next = design_.row(rows[0]) + design_.dim;
    for (std::size_t k = 0; k < rows.size(); ++k, next += design_.stride) y[k] = *next;
  } else {
    for (std::size_t k = 0; k < rows.size(); ++k) y[k] = design_.y(rows[k]);
  }
}

void RowStore::products(const Coefficients& beta, Rows rows, std::span<double> out) const noexcept {
  if (rows.contiguous()) {
    linear::predictors(view(design_), rows[0], rows.size(), beta.data(), out.data());
  } else {
    linear::predictors(view(design_), rows.ids(), rows.size(), beta.data(), out.data());
  }
}

void RowStore::predictors(const Coefficients& beta, Rows rows, std::span<double> eta) const noexcept {
  products(beta, rows, eta);
  if (design_.has_offset)
    for (std::size_t k = 0; k < rows.size(); ++k) eta[k] += design_.offset(rows[k]);
}

void RowStore::prefetch(std::span<const RowId> ids) const noexcept { linear::prefetch(view(design_), ids); }

void RowStore::predictor_pairs(std::span<const RowId> ids, std::size_t count, const Coefficients& from,
                               const Coefficients& to, std::span<double> from_eta,
                               std::span<double> to_eta) const noexcept {
  linear::predictor_pairs(view(design_), ids, count, from.data(), to.data(), from_eta.data(), to_eta.data());
  if (!design_.has_offset) return;
  for (std::size_t k = 0; k < count; ++k) {
    const double offset = design_.offset(ids[k]);
    from_eta[k] += offset;
    to_eta[k] += offset;
  }
}

void RowStore::add_moments(Rows rows, std::span<const double> u, std::span<const double> v,
                           std::span<double> gradient, std::span<double> information) const {
  linear::RowStoreView x = view(design_);
  std::size_t first = rows.size() > 0 ? rows[0] : 0;
  std::vector<double> packed;  // scattered rows, side by side
  if (!rows.contiguous()) {
    packed.assign(rows.size() * x.stride + linear::padding, 0.0);
    for (std::size_t k = 0; k < rows.size(); ++k)
      std::copy_n(design_.row(rows[k]), x.stride, packed.data() + k * x.stride);
    x.data = packed.data();
    first = 0;
  }
  linear::add_moments(x, first, rows.size(), u.data(), information.empty() ? nullptr : v.data(),
                      gradient.data(), information.empty() ? nullptr : information.data());
}

void RowStore::scaled_rows(Rows rows, std::span<const double> u, Eigen::MatrixXd& out,
                           std::size_t first) const {
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const double* x = design_.row(rows[k]);
    for (std::size_t j = 0; j < dim(); ++j)
      out(static_cast<Eigen::Index>(first + k), static_cast<Eigen::Index>(j)) = u[k] * x[j];
  }
}

Eigen::VectorXd RowStore::predictors(std::size_t first, std::size_t count,
                                     const Eigen::VectorXd& theta) const {
  Eigen::VectorXd eta = dense(design_, first, count) * theta.head(static_cast<Eigen::Index>(dim()));
  if (design_.has_offset)
    for (std::size_t k = 0; k < count; ++k) eta[static_cast<Eigen::Index>(k)] += design_.offset(first + k);
  return eta;
}

RowStore::Matrix RowStore::whitened(std::size_t first, std::size_t count, const Eigen::MatrixXd& upper,
                                    std::span<const std::size_t> columns) const {
  if (columns.empty()) return dense(design_, first, count) * upper.triangularView<Eigen::Upper>();
  Matrix some(static_cast<Eigen::Index>(count), upper.rows());
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t j = 0; j < columns.size(); ++j)
      some(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j)) = design_.row(first + k)[columns[j]];
  return some * upper.triangularView<Eigen::Upper>();
}

Eigen::VectorXd RowStore::white_lengths(std::size_t first, std::size_t count,
                                        const Eigen::MatrixXd& lower) const {
  return lower.triangularView<Eigen::Lower>()
      .solve(dense(design_, first, count).transpose())
      .colwise()
      .norm();
}

}  // namespace mlo
