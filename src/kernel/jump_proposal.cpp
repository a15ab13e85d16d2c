// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/jump_proposal.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace mlo {
ModeMixture::ModeMixture(std::vector<Component> components) : components_(std::move(components)) {
  assert(!components_.empty());
  log_heights_.reserve(components_.size());
  for (const Component& c : components_)
    log_heights_.push_back(std::log(c.weight) + c.fit.cholesky.diagonal().array().log().sum());
  noise_.resize(components_[0].fit.mode.size());
  white_.resize(noise_.size());
}

void ModeMixture::draw(Stream& stream, std::span<double> out) {
  double left = uniform(stream);
  std::size_t k = 0;
  while (k + 1 < components_.size() && left >= components_[k].weight) left -= components_[k++].weight;
  const Laplace& fit = components_[k].fit;
  normals(stream, {noise_.data(), out.size()});
  noise_ *= std::sqrt(student_freedom / (2 * gamma(stream, student_freedom / 2)));
  fit.cholesky.transpose().triangularView<Eigen::Upper>().solveInPlace(noise_);
  Eigen::Map<Eigen::VectorXd>(out.data(), noise_.size()) = fit.mode + noise_;
}

double ModeMixture::log_density(Params theta) {
  const double power = 0.5 * (student_freedom + static_cast<double>(theta.size()));
  double top = -std::numeric_limits<double>::infinity(), sum = 0;  // sum of exp(term - top)
  for (std::size_t k = 0; k < components_.size(); ++k) {
    const Laplace& fit = components_[k].fit;
    noise_ = vector(theta) - fit.mode;
    white_.noalias() = fit.cholesky.transpose().triangularView<Eigen::Upper>() * noise_;
    const double term = log_heights_[k] - power * std::log1p(white_.squaredNorm() / student_freedom);
    const double higher = std::max(top, term);
    sum = sum * std::exp(top - higher) + std::exp(term - higher);
    top = higher;
  }
  return top + std::log(sum);
}

}  // namespace mlo
