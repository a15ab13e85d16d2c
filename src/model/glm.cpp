// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/glm.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "mlo/base/errors.hpp"
#include "model/linear.hpp"

namespace mlo {
namespace {

// Rows at a time: eta, y and a few derivatives of a block stay in the first-level cache with the rows
// themselves.
constexpr std::size_t block_rows = 256;
// Random rows at a time: while one block goes through the family, the next one's rows are on their way.
constexpr std::size_t pair_rows = 64;
// Coefficients are copied beside zeros for the SIMD loads; larger designs use the heap.
constexpr std::size_t stack_dim = 256;

// Coefficients followed by the zeros that linear::predictors reads.
class PaddedCoefficients {
 public:
  PaddedCoefficients(Params theta, std::size_t dim) {
    if (dim + linear::padding > stack_.size()) heap_.resize(dim + linear::padding);
    double* out = heap_.empty() ? stack_.data() : heap_.data();
    std::copy_n(theta.begin(), dim, out);
    std::fill_n(out + dim, linear::padding, 0.0);
  }
  [[nodiscard]] const double* data() const { return heap_.empty() ? stack_.data() : heap_.data(); }

 private:
  std::array<double, stack_dim> stack_;
  std::vector<double> heap_;
};

linear::RowStoreView view(const Design& design) { return {design.x.data(), design.stride, design.dim}; }

// The terms at `to` less those at `from`, of up to block_rows rows.
template <Family F>
void term_differences(const F& family, const Batch& from, const Batch& to, std::span<double> out) noexcept {
  if constexpr (requires { family.differences(from, to, out); }) {
    family.differences(from, to, out);
  } else {
    std::array<double, block_rows> from_terms;
    family.terms(to, out);
    family.terms(from, std::span(from_terms).first(out.size()));
    for (std::size_t k = 0; k < out.size(); ++k) out[k] -= from_terms[k];
  }
}

}  // namespace

template <Family F>
struct Glm<F>::Block {
  std::array<double, block_rows> eta, y;
};

template <Family F>
Glm<F>::Glm(Design design, F family, GlmPriors priors)
    : design_(std::move(design)), family_(family), priors_(std::move(priors)), names_(design_.names) {
  assert(priors_.coefficients.size() == design_.dim);
  F::check(design_);
  if constexpr (F::has_aux) names_.emplace_back(F::aux_name);
}

template <Family F>
bool Glm<F>::proper_prior() const noexcept {
  return std::all_of(priors_.coefficients.begin(), priors_.coefficients.end(),
                     [](const Prior& p) { return p.proper(); });
}

template <Family F>
bool Glm<F>::quadratic_prior() const noexcept {
  return !F::has_aux &&
         std::all_of(priors_.coefficients.begin(), priors_.coefficients.end(), [](const Prior& p) {
           return p.kind() == Prior::Kind::flat || p.kind() == Prior::Kind::normal;
         });
}

// eta and y of up to block_rows rows.
template <Family F>
void Glm<F>::load(Params theta, Rows rows, Block& block) const noexcept {
  const PaddedCoefficients beta(theta, design_.dim);
  if (rows.contiguous()) {
    linear::predictors(view(design_), rows[0], rows.size(), beta.data(), block.eta.data());
  } else {
    linear::predictors(view(design_), rows.ids(), rows.size(), beta.data(), block.eta.data());
  }
  for (std::size_t k = 0; k < rows.size(); ++k) block.y[k] = design_.y(rows[k]);
  if (design_.has_offset)
    for (std::size_t k = 0; k < rows.size(); ++k) block.eta[k] += design_.offset(rows[k]);
}

template <Family F>
void Glm<F>::log_likelihoods(Params theta, Rows rows, std::span<double> terms) const noexcept {
  Block block;
  for (std::size_t first = 0; first < rows.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.size() - first);
    load(theta, rows.part(first, count), block);
    family_.terms({{block.eta.data(), count}, {block.y.data(), count}, F::has_aux ? theta.back() : 0},
                  terms.subspan(first, count));
  }
}

template <Family F>
void Glm<F>::prefetch(std::span<const RowId> ids) const noexcept {
  linear::prefetch(view(design_), ids);
}

template <Family F>
void Glm<F>::log_likelihood_differences(Params from, Params to, std::span<const RowId> ids,
                                        std::span<double> differences) const noexcept {
  const PaddedCoefficients from_beta(from, design_.dim), to_beta(to, design_.dim);
  std::array<double, pair_rows> from_eta, to_eta, y;
  for (std::size_t first = 0; first < ids.size(); first += pair_rows) {
    const std::size_t count = std::min(pair_rows, ids.size() - first);
    const RowId* part = ids.data() + first;
    linear::predictor_pairs(view(design_), ids.subspan(first), count, from_beta.data(), to_beta.data(),
                            from_eta.data(), to_eta.data());
    for (std::size_t k = 0; k < count; ++k) y[k] = design_.y(part[k]);
    if (design_.has_offset)
      for (std::size_t k = 0; k < count; ++k) {
        from_eta[k] += design_.offset(part[k]);
        to_eta[k] += design_.offset(part[k]);
      }
    term_differences(family_, {{from_eta.data(), count}, {y.data(), count}, F::has_aux ? from.back() : 0},
                     {{to_eta.data(), count}, {y.data(), count}, F::has_aux ? to.back() : 0},
                     differences.subspan(first, count));
  }
}

template <Family F>
double Glm<F>::log_likelihood(Params theta, Rows rows) const noexcept {
  Block block;
  double total = 0;
  for (std::size_t first = 0; first < rows.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.size() - first);
    load(theta, rows.part(first, count), block);
    total += family_.sum({{block.eta.data(), count}, {block.y.data(), count}, F::has_aux ? theta.back() : 0});
  }
  return total;
}

namespace {

struct DerivativeBlock {
  std::array<double, block_rows> first, second, aux, aux_second, aux_eta;
  BatchDerivatives spans(std::size_t count) {
    return {{first.data(), count},
            {second.data(), count},
            {aux.data(), count},
            {aux_second.data(), count},
            {aux_eta.data(), count}};
  }
};

}  // namespace

// Through eta: with t = eta - e and a the change of the auxiliary parameter,
// q = f_e t + f_a a + (f_ee t^2 + 2 f_ea t a + f_aa a^2) / 2, derivatives at the centre. Its difference
// between the two points is taken factor by factor, (t'^2 - t^2) = (t' - t)(t' + t), so that a short step
// loses no digits.
template <Family F>
void Glm<F>::log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                       std::span<double> remainders) const noexcept {
  const PaddedCoefficients beta(centre, design_.dim);
  std::array<double, block_rows> eta, from_eta, to_eta, y;
  DerivativeBlock f;
  const PaddedCoefficients from_beta(from, design_.dim), to_beta(to, design_.dim);
  for (std::size_t first = 0; first < ids.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, ids.size() - first);
    const RowId* part = ids.data() + first;
    linear::predictor_pairs(view(design_), ids.subspan(first), count, from_beta.data(), to_beta.data(),
                            from_eta.data(), to_eta.data());
    linear::predictors(view(design_), part, count, beta.data(), eta.data());
    for (std::size_t k = 0; k < count; ++k) {
      y[k] = design_.y(part[k]);
      if (design_.has_offset) {
        const double offset = design_.offset(part[k]);
        eta[k] += offset;
        from_eta[k] += offset;
        to_eta[k] += offset;
      }
    }
    const std::span<const double> responses(y.data(), count);
    const std::span<double> out = remainders.subspan(first, count);
    term_differences(family_, {{from_eta.data(), count}, responses, F::has_aux ? from.back() : 0},
                     {{to_eta.data(), count}, responses, F::has_aux ? to.back() : 0}, out);
    family_.derivatives({{eta.data(), count}, responses, F::has_aux ? centre.back() : 0}, f.spans(count));
    for (std::size_t k = 0; k < count; ++k) {
      const double change = to_eta[k] - from_eta[k];
      const double middle = 0.5 * ((to_eta[k] - eta[k]) + (from_eta[k] - eta[k]));
      double expansion = change * (f.first[k] + f.second[k] * middle);
      if constexpr (F::has_aux) {
        const double aux_change = to.back() - from.back();
        const double aux_middle = 0.5 * ((to.back() - centre.back()) + (from.back() - centre.back()));
        // t'a' - t a = (t' - t) (a' + a)/2 + (a' - a) (t' + t)/2
        expansion += aux_change * (f.aux[k] + f.aux_second[k] * aux_middle) +
                     f.aux_eta[k] * (change * aux_middle + aux_change * middle);
      }
      out[k] -= expansion;
    }
  }
}

template <Family F>
void Glm<F>::gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const {
  out.resize(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(dim()));
  Block block;
  DerivativeBlock f;
  for (std::size_t first = 0; first < rows.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.size() - first);
    const Rows part = rows.part(first, count);
    load(theta, part, block);
    family_.derivatives({{block.eta.data(), count}, {block.y.data(), count}, F::has_aux ? theta.back() : 0},
                        f.spans(count));
    for (std::size_t k = 0; k < count; ++k) {
      const double* x = design_.row(part[k]);
      const auto row = static_cast<Eigen::Index>(first + k);
      for (std::size_t j = 0; j < design_.dim; ++j)
        out(row, static_cast<Eigen::Index>(j)) = f.first[k] * x[j];
      if constexpr (F::has_aux) out(row, static_cast<Eigen::Index>(design_.dim)) = f.aux[k];
    }
  }
}

template <Family F>
void Glm<F>::add_derivatives(Params theta, Rows rows, Derivatives& d) const {
  const std::size_t p = design_.dim;
  Block block;
  DerivativeBlock f;
  std::vector<double> gradient(p, 0.0), cross(F::has_aux ? p : 0, 0.0);
  std::vector<double> information(p * p, 0.0);  // upper triangle
  std::vector<double> packed;                   // rows of a scattered block, side by side
  for (std::size_t first = 0; first < rows.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.size() - first);
    const Rows part = rows.part(first, count);
    load(theta, part, block);
    d.value += family_.derivatives(
        {{block.eta.data(), count}, {block.y.data(), count}, F::has_aux ? theta.back() : 0}, f.spans(count));
    linear::RowStoreView x = view(design_);
    std::size_t start = part[0];
    if (!part.contiguous()) {
      packed.assign(count * x.stride + linear::padding, 0.0);
      for (std::size_t k = 0; k < count; ++k)
        std::copy_n(design_.row(part[k]), x.stride, packed.data() + k * x.stride);
      x.data = packed.data();
      start = 0;
    }
    for (std::size_t k = 0; k < count; ++k) f.second[k] = -f.second[k];
    linear::add_moments(x, start, count, f.first.data(), f.second.data(), gradient.data(),
                        information.data());
    if constexpr (F::has_aux) {
      const auto last = static_cast<Eigen::Index>(p);
      for (std::size_t k = 0; k < count; ++k) {
        d.gradient[last] += f.aux[k];
        d.information(last, last) -= f.aux_second[k];
      }
      linear::add_moments(x, start, count, f.aux_eta.data(), nullptr, cross.data(), nullptr);
    }
  }
  for (std::size_t j = 0; j < p; ++j) {
    const auto row = static_cast<Eigen::Index>(j);
    d.gradient[row] += gradient[j];
    d.information(row, row) += information[j * p + j];
    for (std::size_t m = j + 1; m < p; ++m) {
      const auto column = static_cast<Eigen::Index>(m);
      d.information(row, column) += information[j * p + m];
      d.information(column, row) += information[j * p + m];
    }
    if constexpr (F::has_aux) {
      const auto last = static_cast<Eigen::Index>(p);
      d.information(row, last) -= cross[j];
      d.information(last, row) -= cross[j];
    }
  }
}

// ---- coordinates: user's slope = working slope / scale; user's intercept = working intercept - sum slope *
// centre.

template <Family F>
void Glm<F>::to_user(Params theta, std::span<double> out) const noexcept {
  double shift = 0;
  for (std::size_t j = 0; j < design_.dim; ++j) {
    out[j] = theta[j] / design_.scale[j];
    shift += out[j] * design_.centre[j];
  }
  if (design_.intercept) out[0] = theta[0] - shift;
  if constexpr (F::has_aux) out[design_.dim] = std::exp(theta.back());
}

template <Family F>
void Glm<F>::to_working(Params user, std::span<double> out) const {
  double shift = 0;
  for (std::size_t j = 0; j < design_.dim; ++j) {
    out[j] = user[j] * design_.scale[j];
    shift += user[j] * design_.centre[j];
  }
  if (design_.intercept) out[0] = user[0] + shift;
  if constexpr (F::has_aux) {
    if (!(user[design_.dim] > 0)) throw UsageError(std::string(F::aux_name) + " must be positive");
    out[design_.dim] = std::log(user[design_.dim]);
  }
}

template <Family F>
Eigen::MatrixXd Glm<F>::user_jacobian(Params theta) const {
  const auto size = static_cast<Eigen::Index>(dim());
  Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(size, size);
  for (std::size_t j = 0; j < design_.dim; ++j) {
    const auto row = static_cast<Eigen::Index>(j);
    jacobian(row, row) = 1 / design_.scale[j];
    if (design_.intercept && j > 0) jacobian(0, row) = -design_.centre[j] / design_.scale[j];
  }
  if constexpr (F::has_aux) jacobian(size - 1, size - 1) = std::exp(theta.back());
  return jacobian;
}

// ---- prior

template <Family F>
double Glm<F>::log_prior(Params theta) const noexcept {
  double total = 0, shift = 0;
  for (std::size_t j = design_.intercept ? 1 : 0; j < design_.dim; ++j) {
    const double slope = theta[j] / design_.scale[j];
    shift += slope * design_.centre[j];
    total += priors_.coefficients[j].log_density(slope);
  }
  if (design_.intercept)
    total += priors_.coefficients[0].log_density(priors_.intercept_at_means ? theta[0] : theta[0] - shift);
  if constexpr (F::has_aux) total += priors_.aux.log_density(std::exp(theta.back())) + theta.back();
  return total;
}

template <Family F>
void Glm<F>::add_prior_derivatives(Params theta, Derivatives& d) const {
  // Each prior is a function of one linear form of theta: a'theta with a the matching row of the Jacobian.
  const Eigen::MatrixXd jacobian = user_jacobian(theta);
  const Eigen::VectorXd user = jacobian * vector(theta);
  for (std::size_t j = 0; j < design_.dim; ++j) {
    const auto row = static_cast<Eigen::Index>(j);
    const bool centred = design_.intercept && j == 0 && priors_.intercept_at_means;
    const Prior::Smooth s = priors_.coefficients[j].smooth(centred ? theta[0] : user[row]);
    Eigen::VectorXd form = jacobian.row(row);
    if (centred) form = Eigen::VectorXd::Unit(form.size(), 0);
    d.value += s.value;
    d.gradient += s.slope * form;
    d.information += s.curvature * form * form.transpose();
  }
  if constexpr (F::has_aux) {
    const auto last = static_cast<Eigen::Index>(design_.dim);
    const double scale = std::exp(theta.back());
    const Prior::Smooth s = priors_.aux.smooth(scale);
    d.value += s.value + theta.back();
    d.gradient[last] += s.slope * scale + 1;
    d.information(last, last) += std::max(s.curvature * scale * scale - s.slope * scale, 0.0);
  }
}

// ---- where to start, and whether there is an end

template <Family F>
Eigen::VectorXd Glm<F>::start() const {
  const StartingPoint point = family_.start(design_);
  Eigen::VectorXd theta(static_cast<Eigen::Index>(dim()));
  std::copy(point.coefficients.begin(), point.coefficients.end(), theta.begin());
  if constexpr (F::has_aux) theta[static_cast<Eigen::Index>(design_.dim)] = point.aux;
  return theta;
}

template <Family F>
std::string Glm<F>::degenerate([[maybe_unused]] Params theta, [[maybe_unused]] const Derivatives& at,
                               [[maybe_unused]] bool with_prior) const {
  if constexpr (F::has_aux) {
    if (F::aux_needs_prior && with_prior) {
      if (priors_.aux.proper()) return {};
      const std::string name(F::aux_name);
      return "with a flat prior on " + name + " there is no posterior: the likelihood does not vanish as " +
             name + " grows; give it a proper one (--prior-for " + name + " \"gamma(2, 0.1)\")";
    }
    return F::degenerate(design_, theta.back(), at.gradient[static_cast<Eigen::Index>(design_.dim)]);
  }
  return {};
}

template <Family F>
bool Glm<F>::recedes(Params direction, Rows rows) const {
  const PaddedCoefficients beta(direction, design_.dim);
  double length = 0;
  for (std::size_t j = 0; j < design_.dim; ++j) length += direction[j] * direction[j];
  if (length == 0) return false;
  // Rows on the border (quasi-separation) have x'd = 0 up to the direction's own error.
  const double tolerance = 1e-4 * std::sqrt(length);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    double t = 0;
    linear::predictors(view(design_), rows[k], 1, beta.data(), &t);
    if (!F::recedes(design_.y(rows[k]), t, tolerance)) return false;
  }
  return true;
}

template class Glm<Logistic>;
template class Glm<Probit>;
template class Glm<Poisson>;
template class Glm<GaussianMean>;
template class Glm<Gaussian>;
template class Glm<StudentKnownScale>;
template class Glm<Student>;
template class Glm<NegativeBinomialKnownSize>;
template class Glm<NegativeBinomial>;

}  // namespace mlo
