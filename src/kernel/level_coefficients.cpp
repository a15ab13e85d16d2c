// Copyright (c) the mlo authors. BSD-3-Clause.
// The moves of the coefficients: with what the effects owe them, against the effects of one kind, and the
// second parameter's.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/level_parts.hpp"
#include "kernel/row_batch.hpp"
#include "mlo/kernel/levels.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {

// alpha moves, beta stays: the coefficients a += d, the effects b_k -= M_k d. Given beta, the expansion's law
// of alpha is normal, with the drift that the cubic terms beta^2 alpha give it.
bool LevelKernel::move_coefficients(Stream& stream, StepInfo& info) {
  const LevelRows& rows = model_->rows();
  const auto q = static_cast<std::size_t>(alpha_.size());
  if (q == 0) return true;
  Eigen::MatrixXd information = precision_ * reference_->information() + prior_information_;
  Eigen::VectorXd slope = precision_ * reference_->gradient() + prior_gradient_;
  std::vector<double> sum(q, 0);
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const LevelSums& sums = reference_->groups()[k];
    const Group& group = groups_[k];
    const std::size_t d = sums.d, levels = group.beta.size() / d;
    const std::vector<double>& b0 = reference_->at().effects[k];
    for (std::size_t a = 0; a < d; ++a)
      for (std::size_t b = 0; b < d; ++b) information += group.omega(index(a), index(b)) * sums.mm[a * d + b];
    for (std::size_t l = 0; l < levels; ++l)
      for (std::size_t a = 0; a < d; ++a) {
        const std::size_t r = l * d + a;
        double owed = 0;
        for (std::size_t b = 0; b < d; ++b)
          owed += group.omega(index(a), index(b)) * (b0[l * d + b] + group.beta[l * d + b]);
        // Of a product, the slope along the columns grows with e^(direction beta).
        const double beta =
            product_ ? direction_ * std::expm1(direction_ * group.beta[r]) : precision_ * group.beta[r];
        const double* const hx = sums.hx.data() + r * q;
        const double* const m = sums.m.data() + r * q;
        for (std::size_t j = 0; j < q; ++j) sum[j] += beta * hx[j] + owed * m[j];
        for (std::size_t b = 0; b < d && !product_; ++b) {
          const double* const s = sums.s.data() + (r * d + b) * q;
          const double product = 0.5 * beta * group.beta[l * d + b];
          for (std::size_t j = 0; j < q; ++j) sum[j] += product * s[j];
        }
      }
  }
  for (std::size_t j = 0; j < q; ++j) slope[index(j)] += sum[j];
  const Eigen::LLT<Eigen::MatrixXd> llt(information);
  Eigen::VectorXd noise(index(q));
  for (Eigen::Index j = 0; j < noise.size(); ++j) noise[j] = normal(stream);
  const bool walk = all_rows() && uniform(stream) < walk_share;
  const Eigen::VectorXd mean = llt.solve(slope), away = llt.matrixU().solve(noise);
  const Eigen::VectorXd next = walk ? Eigen::VectorXd(alpha_ + 1.5 / std::sqrt(static_cast<double>(q)) * away)
                                    : Eigen::VectorXd(mean + away);
  const Eigen::VectorXd moved = next - alpha_;
  // The effects' priors are in the proposal's law; the coefficients' only up to their quadratic expansion.
  const auto prior_of = [&](const Eigen::VectorXd& alpha) {
    GroupedPoint at;
    at.coefficients = reference_->at().coefficients;
    at.log_second = point_.log_second;
    for (std::size_t j = 0; j < q; ++j) at.coefficients[j] += alpha[index(j)];
    return model_->log_prior_of_main(at);
  };
  const auto quadratic = [&](const Eigen::VectorXd& alpha) {
    return prior_gradient_.dot(alpha) - 0.5 * alpha.dot(prior_information_ * alpha);
  };
  double log_ratio = 0;
  if (!model_->layout().quadratic_coefficients())
    log_ratio += prior_of(next) - prior_of(alpha_) - quadratic(next) + quadratic(alpha_);
  if (all_rows()) {
    // The likelihood itself takes the place of its expansion.
    const Eigen::VectorXd from = llt.matrixU() * (alpha_ - mean);
    const auto others = [&](const Eigen::VectorXd& alpha) {  // priors of coefficients and effects
      double out = quadratic(alpha);
      for (std::size_t k = 0; k < groups_.size(); ++k) {
        const LevelSums& sums = reference_->groups()[k];
        const Group& group = groups_[k];
        const std::size_t d = sums.d;
        Eigen::VectorXd b(index(d));
        for (std::size_t l = 0; l < group.beta.size() / d; ++l) {
          for (std::size_t a = 0; a < d; ++a) {
            const std::size_t r = l * d + a;
            double ma = 0;
            for (std::size_t j = 0; j < q; ++j) ma += sums.m[r * q + j] * alpha[index(j)];
            b[index(a)] = reference_->at().effects[k][r] + group.beta[r] - ma;
          }
          out -= 0.5 * b.dot(group.omega * b);
        }
      }
      return out;
    };
    log_ratio += others(next) - others(alpha_);
    if (!walk) log_ratio += 0.5 * (noise.squaredNorm() - from.squaredNorm());
    // x^c'd of all rows.
    std::vector<std::vector<double>> md(groups_.size());
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const LevelSums& sums = reference_->groups()[k];
      md[k].resize(groups_[k].beta.size());
      for (std::size_t r = 0; r < md[k].size(); ++r) {
        double out = 0;
        for (std::size_t j = 0; j < q; ++j) out += sums.m[r * q + j] * moved[index(j)];
        md[k][r] = out;
      }
    }
    constexpr std::size_t batch = Family::batch_rows;
    HugeVector<double> to(rows.size());
    log_ratio += block_sum(*pool_, rows.size(), 4096, 0.0, [&](std::size_t begin, std::size_t length) {
      double part = 0;
      std::array<double, batch> change;
      std::array<double, LevelRows::most_effects> z;
      for (std::size_t at = begin; at < begin + length; at += batch) {
        const std::size_t count = std::min(batch, begin + length - at);
        for (std::size_t r = 0; r < count; ++r) {
          const std::size_t i = at + r;
          const float* const x = rows.x(i);
          double delta = 0;
          for (std::size_t j = 0; j < q; ++j) delta += static_cast<double>(x[j]) * moved[index(j)];
          for (std::size_t k = 0; k < groups_.size(); ++k) {
            const Grouping& group = rows.groups()[k];
            group.multipliers(i, z.data());
            const std::size_t d = group.dim(), first = group.codes[i] * d;
            for (std::size_t a = 0; a < d; ++a) delta -= z[a] * md[k][first + a];
          }
          to[i] = eta_[i] + delta;
        }
        const auto y = rows.responses().subspan(at, count);
        model_->family().differences({{eta_.data() + at, count}, y, point_.log_second},
                                     {{to.data() + at, count}, y, point_.log_second},
                                     std::span(change).first(count));
        for (std::size_t r = 0; r < count; ++r) part += rows.weight(at + r) * change[r];
      }
      return part;
    });
    info.rows_read += rows.size();
    if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return false;
    eta_.swap(to);
    alpha_ = next;
    apply_m();
    return true;
  }
  if (options_.remainders && reference_->has_curve())
    log_ratio += thin_coefficients(moved, next, stream, info);
  if (!accepts(stream, log_ratio)) return false;
  alpha_ = next;
  apply_m();
  return true;
}

// A row's remainder is at most |x^c'd| (K3 (U^2 / 2 + U |G| + sum of |G_j G_k|) + K4 (U + |G|)^3 / 6), with
// U = |x^c'alpha| at most and G = sum of G_k, the groupings' parts of t. Each grouping has a share of it, and
// draws rows by its share; a drawn row's bound is the sum of its shares.
double LevelKernel::thin_coefficients(const Eigen::VectorXd& moved, const Eigen::VectorXd& next,
                                      Stream& stream, StepInfo& info) {
  const LevelRows& rows = model_->rows();
  const Eigen::MatrixXd& l = reference_->factor();
  const double step = (l.transpose() * moved).norm();
  const double length = std::max(length_, (l.transpose() * next).norm());
  const std::size_t k_count = groups_.size();
  const auto size_of = [&](std::size_t k, std::size_t level) {  // |z'beta| at most
    const LevelSums& sums = reference_->groups()[k];
    const std::size_t d = sums.d;
    const double* const beta = groups_[k].beta.data() + level * d;
    if (rows.groups()[k].plain()) return std::abs(beta[0]);
    const double* const factor = sums.factor.data() + level * d * d;
    double square = 0;
    for (std::size_t a = 0; a < d; ++a) {
      double x = 0;
      for (std::size_t b = a; b < d; ++b) x += factor[a * d + b] * beta[b];
      square += x * x;
    }
    return sums.span[level] * std::sqrt(square);
  };
  std::vector<double> rms(k_count, 0), most(k_count, 0);
  if (k_count > 1)
    for (std::size_t k = 0; k < k_count; ++k) {
      double weight = 0;
      const Grouping& group = rows.groups()[k];
      for (std::size_t level = 0; level < group.levels(); ++level) {
        const double b = size_of(k, level);
        const double w = static_cast<double>(group.size(level)) * reference_->groups()[k].reach[level];
        rms[k] += w * b * b;
        weight += w;
        most[k] = std::max(most[k], b);
      }
      rms[k] = std::sqrt(rms[k] / std::max(weight, 1e-300));
    }
  const double boost = (product_ ? 2 : options_.boost_coefficients) * options_.bound_factor * (1 + 1e-9);
  const double split = static_cast<double>(k_count * k_count);  // 1 / lambda^2, lambda = 1 / K
  double total = 0;
  std::vector<double> totals(k_count, 0);
  for (std::size_t k = 0; k < k_count; ++k) {
    const LevelSums& sums = reference_->groups()[k];
    const Grouping& group = rows.groups()[k];
    double cross = 0, others = 0;
    for (std::size_t j = 0; j < k_count; ++j)
      if (j != k) {
        cross += 0.5 * (rms[k] > 0 ? rms[j] / rms[k] : 0);
        others += most[j];
      }
    for (std::size_t level = 0; level < group.levels(); ++level) {
      const double u = sums.reach[level] * length, b = size_of(k, level);
      if (product_) {
        const double power = std::exp(direction_ * groups_[k].beta[level]);
        const double share = boost * sums.scale[level] * sums.reach[level] * step *
                             (std::abs(power - 1) * u + 0.5 * power * std::exp(u) * u * u);
        groups_[k].share[level] = share;
        totals[k] += share * static_cast<double>(group.size(level));
        continue;
      }
      const bool near = u + b + others <= sums.box[level];
      const double k3 = near ? sums.k3[level] : sums.k3_all[level];
      const double k4 = near ? sums.k4[level] : sums.k4_all[level];
      const double x = k == 0 ? u + b : b;
      const double share =
          boost * sums.reach[level] * step *
          (k3 * ((k == 0 ? 0.5 * u * u : 0) + u * b + cross * b * b) + k4 * split * x * x * x / 6);
      groups_[k].share[level] = share;
      totals[k] += share * static_cast<double>(group.size(level));
    }
    total += totals[k];
  }
  const auto evaluate = [&](RowBatch& batch, std::size_t row, std::array<double, RowBatch::most>& extra,
                            std::array<double, RowBatch::most>& changes) {
    double from = 0, to = 0, gamma = 0, squares = 0;
    const float* const x = rows.x(row);
    for (Eigen::Index j = 0; j < moved.size(); ++j) {
      from += static_cast<double>(x[j]) * alpha_[j];
      to += static_cast<double>(x[j]) * next[j];
    }
    std::array<double, LevelRows::most_effects> z;
    for (std::size_t k = 0; k < k_count; ++k) {
      const Grouping& group = rows.groups()[k];
      const std::size_t d = group.dim(), first = group.codes[row] * d, q = reference_->groups()[k].q;
      group.multipliers(row, z.data());
      double part = 0;
      for (std::size_t a = 0; a < d; ++a) {
        const double* const m = reference_->groups()[k].m.data() + (first + a) * q;
        double there = 0;
        for (std::size_t j = 0; j < q; ++j) there += m[j] * next[index(j)];
        from -= z[a] * groups_[k].ma[first + a];
        to -= z[a] * there;
        part += z[a] * groups_[k].beta[first + a];
      }
      gamma += part;
      squares += part * part;
    }
    if (product_) {
      const LevelReference::Shape& shape = reference_->shape(row);
      const double here = direction_ * from, there = direction_ * to;
      const double rise = (std::expm1(there) - there) - (std::expm1(here) - here);
      changes[batch.size()] = -static_cast<double>(shape.scale) *
                              (std::exp(direction_ * gamma) * rise - 0.5 * (there * there - here * here));
    }
    const double before = from + gamma, after = to + gamma;
    extra[batch.size()] =
        (after * after * after - before * before * before) / 6 - 0.5 * squares * (to - from);
    batch.add(reference_->shape(row), before, after);
  };
  RowBatch batch;
  std::array<double, RowBatch::most> extra, limit, changes;
  const auto change = [&](std::size_t r) {
    return product_ ? changes[r] : batch.change(r) + batch.third(r) * extra[r];
  };
  double log_ratio = 0;
  if (!(total <= 0.5 * static_cast<double>(rows.size()))) {  // reading all rows takes no longer
    for (std::size_t i = 0; i < rows.size(); ++i) {
      evaluate(batch, i, extra, changes);
      if (!batch.full() && i + 1 < rows.size()) continue;
      if (!product_) batch.evaluate(reference_->curve());
      for (std::size_t r = 0; r < batch.size(); ++r) log_ratio += change(r);
      batch.clear();
    }
    info.rows_read += rows.size();
    return log_ratio;
  }
  std::vector<std::size_t> events;
  for (std::size_t k = 0; k < k_count; ++k) {
    const Grouping& group = rows.groups()[k];
    // Arrivals of the grouping's Poisson process, in order, against the running sum of its levels' rates.
    double arrival = exponential(stream);
    if (arrival >= totals[k]) continue;
    double sum = 0;
    for (std::size_t level = 0; level < group.levels(); ++level) {
      sum += groups_[k].share[level] * static_cast<double>(group.size(level));
      while (arrival < sum) {
        events.push_back(group.row(group.starts[level] + bounded(stream, group.size(level))));
        arrival += exponential(stream);
      }
    }
  }
  for (const std::size_t row : events) rows.prefetch(row);
  const auto flush = [&] {
    if (!product_) batch.evaluate(reference_->curve());
    for (std::size_t r = 0; r < batch.size(); ++r)
      log_ratio += thinned(change(r) / limit[r], stream, info.bound_violations);
    batch.clear();
  };
  for (const std::size_t row : events) {
    limit[batch.size()] = 0;
    for (std::size_t k = 0; k < k_count; ++k)
      limit[batch.size()] += groups_[k].share[rows.groups()[k].codes[row]];
    evaluate(batch, row, extra, changes);
    if (batch.full()) flush();
  }
  flush();
  info.rows_read += events.size();
  return log_ratio;
}

// A coefficient and all effects of its kind, against each other: no predictor changes, and no row is read.
void LevelKernel::shift(std::size_t k, std::size_t effect, Stream& stream) {
  const Eigen::VectorXd& twin = model_->twin(k, effect);
  if (twin.size() == 0) return;
  const LevelSums& sums = reference_->groups()[k];
  Group& group = groups_[k];
  const std::size_t d = sums.d, levels = group.beta.size() / d;
  const auto q = static_cast<std::size_t>(alpha_.size());
  const std::vector<double>& b0 = reference_->at().effects[k];
  double slope = 0;
  for (std::size_t l = 0; l < levels; ++l)
    for (std::size_t a = 0; a < d; ++a) {
      const std::size_t r = l * d + a;
      slope += group.omega(index(effect), index(a)) * (b0[r] + group.beta[r] - group.ma[r]);
    }
  const Eigen::VectorXd bent = prior_information_ * twin;
  const double information =
      static_cast<double>(levels) * group.omega(index(effect), index(effect)) + twin.dot(bent);
  slope += twin.dot(prior_gradient_) - bent.dot(alpha_);
  const double moved = slope / information + normal(stream) / std::sqrt(information);
  if (!model_->layout().quadratic_coefficients()) {
    const auto excess = [&](double by) {  // of the prior over its expansion
      const Eigen::VectorXd alpha = alpha_ + by * twin;
      GroupedPoint at;
      at.coefficients = reference_->at().coefficients;
      at.log_second = point_.log_second;
      for (std::size_t j = 0; j < q; ++j) at.coefficients[j] += alpha[index(j)];
      return model_->log_prior_of_main(at) - prior_gradient_.dot(alpha) +
             0.5 * alpha.dot(prior_information_ * alpha);
    };
    if (!accepts(stream, excess(moved) - excess(0))) return;
  }
  alpha_ += moved * twin;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const double* m = reference_->groups()[g].m.data();
    for (double& beta : groups_[g].beta) {
      double sum = 0;
      for (std::size_t j = 0; j < q; ++j) sum += m[j] * twin[index(j)];
      beta += moved * sum;
      m += q;
    }
  }
  for (std::size_t l = 0; l < levels; ++l) group.beta[l * d + effect] -= moved;
  apply_m();
}

void LevelKernel::move_second(Stream& stream, StepInfo& info) {
  const std::size_t q = model_->rows().columns();
  const Layout& layout = model_->layout();
  if (!all_rows()) {
    // A gaussian response: the precision's law given the residuals' squares, but for its prior, which
    // decides.
    const double squares = reference_->squares() - 2 * likelihood_polynomial();
    const double drawn = gamma(stream, 0.5 * reference_->weight()) / (0.5 * squares);
    const double next = -0.5 * std::log(drawn);
    if (!std::isfinite(next)) return;
    if (!accepts(stream, layout.log_prior_at(q, next) - layout.log_prior_at(q, point_.log_second))) return;
    point_.log_second = next;
    precision_ = model_->precision(next);
    return;
  }
  double next = 0;
  double log_ratio = second_.propose(stream, {&point_.log_second, 1}, {&next, 1});
  log_ratio += layout.log_prior_at(q, next) - layout.log_prior_at(q, point_.log_second);
  if (!std::isfinite(log_ratio)) return;
  const LevelRows& rows = model_->rows();
  constexpr std::size_t batch = Family::batch_rows;
  log_ratio += block_sum(*pool_, rows.size(), 4096, 0.0, [&](std::size_t begin, std::size_t length) {
    double part = 0;
    std::array<double, batch> change;
    for (std::size_t at = begin; at < begin + length; at += batch) {
      const std::size_t count = std::min(batch, begin + length - at);
      const std::span<const double> eta(eta_.data() + at, count), y = rows.responses().subspan(at, count);
      model_->family().differences({eta, y, point_.log_second}, {eta, y, next},
                                   std::span(change).first(count));
      for (std::size_t r = 0; r < count; ++r) part += rows.weight(at + r) * change[r];
    }
    return part;
  });
  info.rows_read += rows.size();
  if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return;
  point_.log_second = next;
  precision_ = model_->precision(next);
}

// The log-likelihood by its expansion, compared with the reference, without the precision.
double LevelKernel::likelihood_polynomial() const {
  const auto q = static_cast<std::size_t>(alpha_.size());
  double sum = reference_->gradient().dot(alpha_) - 0.5 * alpha_.dot(reference_->information() * alpha_);
  const LevelRows& rows = model_->rows();
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const LevelSums& sums = reference_->groups()[k];
    const Group& group = groups_[k];
    const std::size_t d = sums.d;
    for (std::size_t r = 0; r < group.beta.size(); ++r) {
      double product = 0;
      for (std::size_t j = 0; j < q; ++j) product += sums.hx[r * q + j] * alpha_[index(j)];
      sum += group.beta[r] * product;
      if (groups_.size() > 1) continue;
      const std::size_t a = r % d, first = r - a;
      double bent = 0;
      for (std::size_t b = 0; b < d; ++b) bent += sums.h[r * d + b] * group.beta[first + b];
      sum += group.beta[r] * (sums.g[r] - 0.5 * bent);
    }
    if (groups_.size() == 1)
      for (std::size_t l = 0; l < group.beta.size() / d; ++l)
        sum += cubic_form(sums.c.data() + l * d * d * d, d, group.beta.data() + l * d) / 6;
  }
  if (groups_.size() == 1) return sum;
  const LevelCells::Of& cells = rows.cells().of[0];
  const CellSums& of = reference_->cells()[0];
  const std::size_t others = groups_.size() - 1;
  for (std::size_t l = 0; l + 1 < cells.starts.size(); ++l)
    for (std::size_t c = cells.starts[l]; c < cells.starts[l + 1]; ++c) {
      double gamma = groups_[0].beta[l];
      for (std::size_t j = 0; j < others; ++j) gamma += groups_[j + 1].beta[cells.others[c * others + j]];
      sum +=
          gamma * (static_cast<double>(reference_->cell_f1()[cells.ids[c]]) +
                   gamma * (0.5 * static_cast<double>(of.f2[c]) + gamma * static_cast<double>(of.f3[c]) / 6));
    }
  return sum;
}

double LevelKernel::polynomial() const {
  GroupedPoint at = point_;
  for (Eigen::Index j = 0; j < alpha_.size(); ++j)
    at.coefficients[static_cast<std::size_t>(j)] =
        reference_->at().coefficients[static_cast<std::size_t>(j)] + alpha_[j];
  double sum = reference_->value() + precision_ * likelihood_polynomial() + model_->log_prior_of_main(at);
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const Group& group = groups_[k];
    const std::size_t d = reference_->groups()[k].d, levels = group.beta.size() / d;
    sum += model_->covariances()[k].log_prior(point_.covariances[k]);
    Eigen::VectorXd b(index(d));
    sum += 0.5 * static_cast<double>(levels) * group.log_det;
    for (std::size_t l = 0; l < levels; ++l) {
      for (std::size_t a = 0; a < d; ++a) {
        const std::size_t r = l * d + a;
        b[index(a)] = reference_->at().effects[k][r] + group.beta[r] - group.ma[r];
      }
      sum -= 0.5 * b.dot(group.omega * b);
    }
  }
  return sum;
}

}  // namespace mlo
