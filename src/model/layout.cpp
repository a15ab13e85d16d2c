// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "mlo/base/errors.hpp"
#include "mlo/base/names.hpp"

namespace mlo {
namespace {

using Kind = Block::Kind;
using Eigen::Index;

// user's slope = working slope / scale; user's intercept = working intercept - sum of slope * centre
void coefficients_to_user(const Block& block, Params theta, std::span<double> out) noexcept {
  for (std::size_t j = 0; j < block.size(); ++j) out[j] = theta[j] / block.scale[j];
  if (!block.intercept) return;
  double shift = 0;
  for (std::size_t j = 0; j < block.size(); ++j) shift += out[j] * block.centre[j];
  out[0] = theta[0] - shift;
}

void coefficients_to_working(const Block& block, Params user, std::span<double> out) noexcept {
  double shift = 0;
  for (std::size_t j = 0; j < block.size(); ++j) {
    out[j] = user[j] * block.scale[j];
    shift += user[j] * block.centre[j];
  }
  if (block.intercept) out[0] = user[0] + shift;
}

double coefficients_log_prior(const Block& block, Params theta) noexcept {
  double total = 0, shift = 0;
  for (std::size_t j = block.intercept ? 1 : 0; j < block.size(); ++j) {
    const double slope = theta[j] / block.scale[j];
    shift += slope * block.centre[j];
    total += block.priors[j].log_density(slope);
  }
  if (block.intercept)
    total += block.priors[0].log_density(block.intercept_at_means ? theta[0] : theta[0] - shift);
  return total;
}

// The parameter whose logit this is. Not 0 or 1 themselves, where priors may have poles.
double share_of(double logit) noexcept {
  constexpr double least = std::numeric_limits<double>::min(), most = 1 - 0x1p-53;
  return std::clamp(1 / (1 + std::exp(-logit)), least, most);
}

// The log of the derivative of share_of.
double log_slope_of_share(double logit) noexcept {
  const double size = std::abs(logit);
  return -size - 2 * std::log1p(std::exp(-size));
}

// Of one that is not a coefficient, in its working coordinate: with the Jacobian.
double other_log_prior(Kind kind, const Prior& prior, double value) noexcept {
  if (kind == Kind::log_positive) return prior.log_density(std::exp(value)) + value;
  if (kind == Kind::logit_share) return prior.log_density(share_of(value)) + log_slope_of_share(value);
  return value > 0 ? prior.log_density(value) : -std::numeric_limits<double>::infinity();
}

// Refuses a gamma or beta prior for a coefficient, which can have any value, and a beta prior for a parameter
// that may be above 1.
Prior parse_for(Kind kind, const std::string& text, const std::string& option) {
  const Prior prior = Prior::parse(text, option);
  if (kind == Kind::coefficients && prior.kind() == Prior::Kind::gamma)
    throw UsageError(fmt::format(
        "{} \"{}\": a gamma prior is for parameters that are positive; a coefficient can be negative", option,
        text));
  if (kind != Kind::logit_share && prior.kind() == Prior::Kind::beta)
    throw UsageError(
        fmt::format("{} \"{}\": a beta prior is for parameters between 0 and 1, such as `zi`", option, text));
  return prior;
}

}  // namespace

Layout::Layout(std::vector<Block> blocks) : blocks_(std::move(blocks)) {
  for (Block& block : blocks_) {
    assert(block.priors.size() == block.size());
    block.first = names_.size();
    names_.insert(names_.end(), block.names.begin(), block.names.end());
  }
}

void Layout::to_user(Params theta, std::span<double> out) const noexcept {
  for (const Block& block : blocks_) {
    const Params from = theta.subspan(block.first, block.size());
    const std::span<double> to = out.subspan(block.first, block.size());
    if (block.kind == Kind::coefficients) {
      coefficients_to_user(block, from, to);
    } else {
      for (std::size_t j = 0; j < from.size(); ++j)
        to[j] = block.kind == Kind::log_positive  ? std::exp(from[j])
                : block.kind == Kind::logit_share ? share_of(from[j])
                                                  : from[j];
    }
  }
}

void Layout::to_working(Params user, std::span<double> out) const {
  for (const Block& block : blocks_) {
    const Params from = user.subspan(block.first, block.size());
    const std::span<double> to = out.subspan(block.first, block.size());
    if (block.kind == Kind::coefficients) {
      coefficients_to_working(block, from, to);
      continue;
    }
    for (std::size_t j = 0; j < from.size(); ++j) {
      if (!(from[j] > 0))
        throw UsageError(fmt::format("{} must be positive (got {})", block.names[j], from[j]));
      if (block.kind == Kind::logit_share && !(from[j] < 1))
        throw UsageError(fmt::format("{} must be below 1 (got {})", block.names[j], from[j]));
      to[j] = block.kind == Kind::log_positive  ? std::log(from[j])
              : block.kind == Kind::logit_share ? std::log(from[j]) - std::log1p(-from[j])
                                                : from[j];
    }
  }
}

Eigen::MatrixXd Layout::user_jacobian(Params theta) const {
  const auto size = static_cast<Index>(dim());
  Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(size, size);
  for (const Block& block : blocks_)
    for (std::size_t j = 0; j < block.size(); ++j) {
      const auto first = static_cast<Index>(block.first), row = first + static_cast<Index>(j);
      switch (block.kind) {
        case Kind::coefficients:
          jacobian(row, row) = 1 / block.scale[j];
          if (block.intercept && j > 0) jacobian(first, row) = -block.centre[j] / block.scale[j];
          break;
        case Kind::log_positive:
          jacobian(row, row) = std::exp(theta[block.first + j]);
          break;
        case Kind::logit_share:
          jacobian(row, row) = std::exp(log_slope_of_share(theta[block.first + j]));
          break;
        case Kind::positive:
          jacobian(row, row) = 1;
          break;
      }
    }
  return jacobian;
}

double Layout::log_prior(Params theta) const noexcept {
  double total = 0;
  for (const Block& block : blocks_) {
    if (block.kind == Kind::coefficients) {
      total += coefficients_log_prior(block, theta.subspan(block.first, block.size()));
      continue;
    }
    for (std::size_t j = 0; j < block.size(); ++j)
      total += other_log_prior(block.kind, block.priors[j], theta[block.first + j]);
  }
  return total;
}

double Layout::log_prior_of(std::span<const std::size_t> parameters, Params theta) const noexcept {
  double total = 0;
  for (const Block& block : blocks_) {
    const Params part = theta.subspan(block.first, block.size());
    bool intercept = false;
    for (const std::size_t k : parameters) {
      if (k < block.first || k >= block.first + block.size()) continue;
      const std::size_t j = k - block.first;
      if (block.kind != Kind::coefficients)
        total += other_log_prior(block.kind, block.priors[j], part[j]);
      else if (j > 0 || !block.intercept)
        total += block.priors[j].log_density(part[j] / block.scale[j]);
      // A prior of the intercept at zero depends on every slope.
      intercept = intercept || (block.intercept && (j == 0 || !block.intercept_at_means));
    }
    if (!intercept) continue;
    double shift = 0;
    if (!block.intercept_at_means)
      for (std::size_t j = 1; j < block.size(); ++j) shift += part[j] / block.scale[j] * block.centre[j];
    total += block.priors[0].log_density(part[0] - shift);
  }
  return total;
}

double Layout::log_prior_at(std::size_t parameter, double value) const noexcept {
  for (const Block& block : blocks_)
    if (parameter >= block.first && parameter < block.first + block.size()) {
      assert(block.kind != Kind::coefficients);
      return other_log_prior(block.kind, block.priors[parameter - block.first], value);
    }
  return 0;
}

void Layout::add_prior_derivatives(Params theta, Derivatives& d) const {
  // The prior of a coefficient is a function of one linear form of theta: a'theta with a the matching row of
  // the Jacobian.
  const Eigen::MatrixXd jacobian = user_jacobian(theta);
  const Eigen::VectorXd user = jacobian * vector(theta);
  for (const Block& block : blocks_)
    for (std::size_t j = 0; j < block.size(); ++j) {
      const auto row = static_cast<Index>(block.first + j);
      const double value = theta[block.first + j];
      const Prior& prior = block.priors[j];
      if (block.kind == Kind::coefficients) {
        const bool centred = block.intercept && j == 0 && block.intercept_at_means;
        const Prior::Smooth s = prior.smooth(centred ? value : user[row]);
        Eigen::VectorXd form = jacobian.row(row);
        if (centred) form = Eigen::VectorXd::Unit(form.size(), row);
        d.value += s.value;
        d.gradient += s.slope * form;
        // The form of most coefficients is a multiple of their own: not p^2 products for each of p.
        std::vector<Index> own;
        for (Index k = 0; k < form.size(); ++k)
          if (form[k] != 0) own.push_back(k);
        for (const Index k : own)
          for (const Index m : own) d.information(m, k) += s.curvature * form[m] * form[k];
      } else if (block.kind == Kind::log_positive) {
        const double scale = std::exp(value);
        const Prior::Smooth s = prior.smooth(scale);
        d.value += s.value + value;
        d.gradient[row] += s.slope * scale + 1;
        d.information(row, row) += std::max(s.curvature * scale * scale - s.slope * scale, 0.0);
      } else if (block.kind == Kind::logit_share) {
        // With x the share: dx/ds = x (1 - x) = slope, d2x/ds2 = slope (1 - 2 x), and the Jacobian's log is
        // log x + log(1 - x).
        const double share = share_of(value), slope = std::exp(log_slope_of_share(value));
        const double odd = std::tanh(-0.5 * value);  // 1 - 2 x
        const Prior::Smooth s = prior.smooth(share);
        d.value += s.value + log_slope_of_share(value);
        d.gradient[row] += s.slope * slope + odd;
        d.information(row, row) +=
            std::max(s.curvature * slope * slope - s.slope * slope * odd, 0.0) + 2 * slope;
      } else if (value > 0) {
        const Prior::Smooth s = prior.smooth(value);
        d.value += s.value;
        d.gradient[row] += s.slope;
        d.information(row, row) += s.curvature;
      } else {
        d.value = -std::numeric_limits<double>::infinity();
      }
    }
}

bool Layout::proper_prior() const noexcept {
  return std::all_of(blocks_.begin(), blocks_.end(), [](const Block& block) {
    return block.kind == Kind::log_positive || block.kind == Kind::logit_share ||
           std::all_of(block.priors.begin(), block.priors.end(), [](const Prior& p) { return p.proper(); });
  });
}

bool Layout::quadratic_prior() const noexcept {
  return quadratic_coefficients() && std::all_of(blocks_.begin(), blocks_.end(), [](const Block& block) {
           return block.kind == Kind::coefficients;
         });
}

bool Layout::quadratic_coefficients() const noexcept {
  return std::all_of(blocks_.begin(), blocks_.end(), [](const Block& block) {
    return block.kind != Kind::coefficients ||
           std::all_of(block.priors.begin(), block.priors.end(), [](const Prior& p) {
             return p.kind() == Prior::Kind::flat || p.kind() == Prior::Kind::normal;
           });
  });
}

bool Layout::all_positive() const noexcept {
  return std::all_of(blocks_.begin(), blocks_.end(),
                     [](const Block& block) { return block.kind == Kind::positive; });
}

// ---- the user's priors

void Layout::set_all_coefficients(const std::string& text) {
  // If the only parameter is not an intercept, the prior can only be for that one.
  const bool one = dim() == 1 && !names_[0].ends_with("(Intercept)");
  std::size_t count = 0;
  for (Block& block : blocks_) {
    if (block.kind != Kind::coefficients && !one) continue;
    for (std::size_t j = block.intercept && !one ? 1 : 0; j < block.size(); ++j, ++count)
      block.priors[j] = parse_for(block.kind, text, "`prior`");
    if (one) block.intercept_at_means = false;
  }
  if (count == 0)
    throw UsageError(
        "`prior` is for the coefficients of columns, and the formula has none; use `prior-intercept`");
}

void Layout::set_priors(const PriorOptions& options) {
  const auto set = [&](std::size_t at, const std::string& text, const std::string& option) {
    for (Block& block : blocks_) {
      if (at < block.first || at >= block.first + block.size()) continue;
      block.priors[at - block.first] = parse_for(block.kind, text, option);
      if (block.intercept && at == block.first) block.intercept_at_means = false;
    }
  };
  if (options.prior) set_all_coefficients(*options.prior);
  if (options.prior_intercept) {
    if (blocks_[0].kind != Kind::coefficients)
      throw UsageError(
          fmt::format("`prior-intercept` has no meaning for a model whose parameter is {}", names_[0]));
    if (!blocks_[0].intercept) throw UsageError("`prior-intercept`: the formula has no intercept");
    for (const Block& block : blocks_)
      if (block.intercept) set(block.first, *options.prior_intercept, "`prior-intercept`");
  }
  for (const auto& [name, text] : options.prior_for) {
    const auto at = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    if (at == names_.size())
      throw UsageError(
          fmt::format("`prior-for {}`: there is no such parameter; {}", name, names_instead(name, names_)));
    set(at, text, fmt::format("`prior-for {}`", name));
  }
}

// Neighbours with the same prior, such as the levels of a factor, are named together, and so are many whose
// normal priors differ in their scales only: those of a wide file would fill the screen.
std::string Layout::prior_words() const {
  constexpr std::size_t together = 5;
  constexpr std::size_t many = 20;
  const auto same_but_for_the_scale = [](const Prior& a, const Prior& b) {
    return a.kind() == Prior::Kind::normal && b.kind() == Prior::Kind::normal && a.location() == b.location();
  };
  std::string out;
  for (const Block& block : blocks_)
    for (std::size_t j = 0; j < block.size();) {
      std::string text = block.priors[j].text();
      const bool at_means = j == 0 && block.intercept_at_means && block.size() > 1;
      std::size_t end = j + 1;
      while (!at_means && end < block.size() && block.priors[end].text() == text) ++end;
      if (end - j < together) end = j + 1;
      std::size_t like = j + 1;
      const auto begins_a_run = [&](std::size_t k) {
        return k + 1 < block.size() && block.priors[k].text() == block.priors[k + 1].text();
      };
      while (!at_means && like < block.size() && !begins_a_run(like) &&
             same_but_for_the_scale(block.priors[like], block.priors[j]))
        ++like;
      if (like - j >= many && like > end) {
        end = like;
        const auto [least, most] =
            std::minmax_element(block.priors.begin() + static_cast<std::ptrdiff_t>(j),
                                block.priors.begin() + static_cast<std::ptrdiff_t>(end),
                                [](const Prior& a, const Prior& b) { return a.scale() < b.scale(); });
        text = fmt::format("normal({:.6g}, {:.4g} to {:.4g})", block.priors[j].location(), least->scale(),
                           most->scale());
      }
      const std::string names = end == j + 1 ? block.names[j]
                                             : fmt::format("{} to {} ({} coefficients)", block.names[j],
                                                           block.names[end - 1], end - j);
      out += fmt::format("{}{} ~ {}{}", out.empty() ? "" : "; ", names, text,
                         at_means ? " at the columns' means" : "");
      j = end;
    }
  return out;
}

}  // namespace mlo
