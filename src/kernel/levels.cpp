// Copyright (c) the mlo authors. BSD-3-Clause.
// The sweep, and the moves of single levels.
#include "mlo/kernel/levels.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernel/level_parts.hpp"
#include "kernel/row_batch.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {
namespace {

using Eigen::Index;
constexpr std::size_t batch = Family::batch_rows;
constexpr std::size_t levels_of_chunk = 128;
// The least precision of a proposal, as a share of that at the reference: the cubic terms can take it all.
constexpr double least_precision = 0.4;
constexpr double wider = 1.05;      // proposals than the expansion says
constexpr double pass_share = 0.5;  // of a level's rows: beyond it all of them are read

[[maybe_unused]] bool groups_are_bounded(const GroupedModel& model) {
  const Family& family = model.family();
  return (model.rows().groups().size() == 1 || model.rows().plain()) &&
         (family.spec().sums || (!family.estimates_second() && family.curve() != nullptr));
}

}  // namespace

LevelKernel::LevelKernel(std::shared_ptr<const LevelReference> reference, const LevelOptions& options,
                         ThreadPool& pool)
    : reference_(std::move(reference)), model_(&reference_->model()), options_(options), pool_(&pool) {
  // Without all rows there must be bounds: of one grouping, or of plain ones, and of a known law.
  assert(options.all_rows || groups_are_bounded(*model_));
  const std::size_t q = model_->rows().columns();
  alpha_.setZero(index(q));
  for (std::size_t k = 0; k < reference_->groups().size(); ++k) {
    const LevelSums& sums = reference_->groups()[k];
    const std::size_t levels = model_->rows().groups()[k].levels();
    Group group;
    group.beta.assign(sums.g.size(), 0);
    group.ma.assign(sums.g.size(), 0);
    group.linear.assign(sums.g.size(), 0);
    group.bend.assign(sums.h.size(), 0);
    group.cubes.assign(levels, 0);
    group.others.assign(levels, 0);
    group.share.assign(levels, 0);
    const double sd = 0.1 + 1 / std::sqrt(2 * static_cast<double>(levels));
    group.walk = LearntWalk(model_->covariances()[k].size(), sd);
    groups_.push_back(std::move(group));
    next_.emplace_back(sums.g.size(), 0.0);
  }
  product_ = !all_rows() && reference_->has_curve() && reference_->curve().exponential() &&
             groups_.size() == 1 && model_->rows().plain();
  if (product_) direction_ = static_cast<double>(reference_->shape(0).direction);
  std::vector<double> theta(reference_->at().coefficients);
  theta.resize(model_->layout().dim(), reference_->at().log_second);
  Derivatives prior(theta.size());
  model_->layout().add_prior_derivatives(theta, prior);
  prior_gradient_ = prior.gradient.head(index(q));
  prior_information_ = prior.information.topLeftCorner(index(q), index(q));
  if (model_->family().estimates_second()) second_ = LearntWalk(1, second_sd_);
  if (all_rows()) eta_.resize(model_->rows().size());
  effect_sums_.assign(model_->effects(), 0);
  effect_squares_.assign(model_->effects(), 0);
}

void LevelKernel::set_precision(std::size_t k) {
  const Eigen::MatrixXd l = model_->covariances()[k].factor(point_.covariances[k]);
  groups_[k].omega = model_->covariances()[k].precision(point_.covariances[k]);
  groups_[k].log_det = -2 * l.diagonal().array().log().sum();
}

// From the packed point to displacements.
void LevelKernel::enter(const ChainState& state) {
  model_->unpack(params(state.theta), point_);
  const GroupedPoint& at = reference_->at();
  precision_ = model_->precision(point_.log_second);
  for (Index j = 0; j < alpha_.size(); ++j)
    alpha_[j] =
        point_.coefficients[static_cast<std::size_t>(j)] - at.coefficients[static_cast<std::size_t>(j)];
  apply_m();
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    Group& group = groups_[k];
    set_precision(k);
    for (std::size_t r = 0; r < group.beta.size(); ++r)
      group.beta[r] = point_.effects[k][r] - at.effects[k][r] + group.ma[r];
  }
  if (all_rows()) read_predictors();
}

void LevelKernel::leave(ChainState& state) const {
  GroupedPoint to = point_;
  const GroupedPoint& at = reference_->at();
  for (Index j = 0; j < alpha_.size(); ++j)
    to.coefficients[static_cast<std::size_t>(j)] = at.coefficients[static_cast<std::size_t>(j)] + alpha_[j];
  for (std::size_t k = 0; k < groups_.size(); ++k)
    for (std::size_t r = 0; r < groups_[k].beta.size(); ++r)
      to.effects[k][r] = at.effects[k][r] + groups_[k].beta[r] - groups_[k].ma[r];
  model_->pack(to, {state.theta.data(), static_cast<std::size_t>(state.theta.size())});
}

// M alpha of all levels.
void LevelKernel::apply_m() {
  const auto q = static_cast<std::size_t>(alpha_.size());
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const double* m = reference_->groups()[k].m.data();
    for (double& out : groups_[k].ma) {
      double sum = 0;
      for (std::size_t j = 0; j < q; ++j) sum += m[j] * alpha_[index(j)];
      out = sum;
      m += q;
    }
  }
  length_ = (reference_->factor().transpose() * alpha_).norm();
}

// eta of all rows, from the point alone: the same after a resume.
void LevelKernel::read_predictors() {
  const LevelRows& rows = model_->rows();
  const std::size_t q = rows.columns();
  pool_->run((rows.size() + 4095) / 4096, [&](std::size_t chunk) {
    const std::size_t begin = chunk * 4096, end = std::min(rows.size(), begin + 4096);
    std::array<double, LevelRows::most_effects> z;
    for (std::size_t i = begin; i < end; ++i) {
      const float* const x = rows.x(i);
      double sum = reference_->predictors()[i];
      for (std::size_t j = 0; j < q; ++j) sum += static_cast<double>(x[j]) * alpha_[index(j)];
      for (std::size_t k = 0; k < groups_.size(); ++k) {
        const Grouping& group = rows.groups()[k];
        const std::size_t d = group.dim(), first = group.codes[i] * d;
        group.multipliers(i, z.data());
        for (std::size_t a = 0; a < d; ++a)
          sum += z[a] * (groups_[k].beta[first + a] - groups_[k].ma[first + a]);
      }
      eta_[i] = sum;
    }
  });
}

StepInfo LevelKernel::step(ChainState& state, const StepId& id) {
  StepInfo info;
  enter(state);
  const auto stream_of = [&](std::uint64_t part) {
    return Stream({.seed = id.seed,
                   .chain = id.chain,
                   .purpose = Purpose::covariances,
                   .iteration = (id.iteration << 8U) | part});
  };
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    all_rows() ? prepare_from_rows(k) : prepare(k);
    with_dim(reference_->groups()[k].d, [&](auto d) { sweep_levels<d()>(k, id, info); });
    Stream stream = stream_of(k + 1);
    move_covariance(k, stream, info);
  }
  Stream stream = stream_of(0);
  info.accepted = move_coefficients(stream, info);
  if (!all_rows() && frozen_) state.polynomial = polynomial();
  for (std::size_t k = 0; k < groups_.size(); ++k)
    for (std::size_t j = 0; j < reference_->groups()[k].d; ++j) shift(k, j, stream);
  if (model_->family().estimates_second()) move_second(stream, info);
  leave(state);
  if (all_rows()) {
    state.log_likelihood = 0;
    std::array<double, batch> terms;
    const LevelRows& rows = model_->rows();
    for (std::size_t at = 0; at < rows.size(); at += batch) {
      const std::size_t count = std::min(batch, rows.size() - at);
      model_->family().terms(
          {{eta_.data() + at, count}, rows.responses().subspan(at, count), point_.log_second},
          std::span(terms).first(count));
      for (std::size_t r = 0; r < count; ++r) state.log_likelihood += rows.weight(at + r) * terms[r];
    }
    info.rows_read += rows.size();
    double prior = model_->log_prior_of_main(point_);
    for (std::size_t k = 0; k < groups_.size(); ++k)
      prior += model_->covariances()[k].log_prior(point_.covariances[k]);
    state.polynomial = state.log_likelihood + prior;
  }
  ++sweeps_;
  if (!frozen_) {
    for (std::size_t k = 0; k < groups_.size(); ++k) groups_[k].walk.learn(point_.covariances[k]);
    if (model_->family().estimates_second()) second_.learn({&point_.log_second, 1});
  } else {
    ++counted_;
    const std::size_t first = model_->main_parameters();
    for (std::size_t r = 0; r < effect_sums_.size(); ++r) {
      const double b = state.theta[index(first + r)];
      effect_sums_[r] += b;
      effect_squares_[r] += b * b;
    }
  }
  return info;
}

// The expansion in one grouping's effects, given all else: linear, bend, and what the bounds need of the
// other groupings.
void LevelKernel::prepare(std::size_t k) {
  const LevelRows& rows = model_->rows();
  const LevelSums& sums = reference_->groups()[k];
  Group& group = groups_[k];
  const std::size_t d = sums.d, levels = rows.groups()[k].levels(), k_count = groups_.size();
  const auto q = static_cast<std::size_t>(alpha_.size());
  const double* const alpha = alpha_.data();
  pool_->run((levels + levels_of_chunk - 1) / levels_of_chunk, [&](std::size_t chunk) {
    const std::size_t end = std::min(levels, (chunk + 1) * levels_of_chunk);
    for (std::size_t l = chunk * levels_of_chunk; l < end; ++l) {
      for (std::size_t a = 0; a < d; ++a) {
        double sum = sums.g[l * d + a];
        const double* const hx = sums.hx.data() + (l * d + a) * q;
        for (std::size_t j = 0; j < q; ++j) sum += hx[j] * alpha[j];
        group.linear[l * d + a] = sum;
      }
      if (product_) {  // bend is the sum of the scales times the columns' part: h - direction hx'alpha
        group.bend[l] = sums.h[l] - direction_ * (group.linear[l] - sums.g[l]);
        continue;
      }
      for (std::size_t ab = 0; ab < d * d; ++ab) {
        double sum = sums.h[l * d * d + ab];
        const double* const s = sums.s.data() + (l * d * d + ab) * q;
        for (std::size_t j = 0; j < q; ++j) sum -= s[j] * alpha[j];
        group.bend[l * d * d + ab] = sum;
      }
      if (k_count == 1) continue;
      const LevelCells::Of& cells = rows.cells().of[k];
      const CellSums& of = reference_->cells()[k];
      double f2g = 0, f3g = 0, f3gg = 0, cubes = 0, most = 0;
      const std::size_t others = k_count - 1;
      std::array<const double*, 8> betas{};
      for (std::size_t j = 0, at = 0; j < k_count; ++j)
        if (j != k) betas[at++] = groups_[j].beta.data();
      const std::uint32_t* other = cells.others.data() + cells.starts[l] * others;
      for (std::size_t c = cells.starts[l]; c < cells.starts[l + 1]; ++c, other += others) {
        double gamma = betas[0][other[0]];
        for (std::size_t j = 1; j < others; ++j) gamma += betas[j][other[j]];
        const double f2 = of.f2[c], f3 = of.f3[c], size = std::abs(gamma);
        f2g += f2 * gamma;
        f3g += f3 * gamma;
        f3gg += f3 * gamma * gamma;
        cubes += static_cast<double>(of.count[c]) * size * size * size;
        most = std::max(most, size);
      }
      group.linear[l] += f2g + 0.5 * f3gg;
      group.bend[l] -= f3g;
      group.cubes[l] = cubes;
      group.others[l] = most;
    }
  });
}

// The same where all rows are read, about their present predictors.
void LevelKernel::prepare_from_rows(std::size_t k) {
  const LevelRows& rows = model_->rows();
  const Grouping& grouping = rows.groups()[k];
  Group& group = groups_[k];
  const std::size_t d = grouping.dim(), levels = grouping.levels();
  const std::span<const double> reference = reference_->predictors();
  pool_->run((levels + levels_of_chunk - 1) / levels_of_chunk, [&](std::size_t chunk) {
    const std::size_t end = std::min(levels, (chunk + 1) * levels_of_chunk);
    std::array<double, LevelRows::most_effects> z;
    for (std::size_t l = chunk * levels_of_chunk; l < end; ++l) {
      double* const linear = group.linear.data() + l * d;
      double* const bend = group.bend.data() + l * d * d;
      std::fill_n(linear, d, 0.0);
      std::fill_n(bend, d * d, 0.0);
      for (std::size_t p = grouping.starts[l]; p < grouping.starts[l + 1]; ++p) {
        const std::size_t i = grouping.row(p);
        grouping.multipliers(i, z.data());
        double rest = eta_[i] - reference[i];
        for (std::size_t a = 0; a < d; ++a) rest -= z[a] * group.beta[l * d + a];
        const LevelReference::Bend& f = reference_->bend(i);
        const double f2 = f.f2, f3 = f.f3;
        const double slope = static_cast<double>(f.f1) + rest * (f2 + 0.5 * f3 * rest),
                     curve = f2 + f3 * rest;
        for (std::size_t a = 0; a < d; ++a) {
          linear[a] += slope * z[a];
          for (std::size_t b = 0; b < d; ++b) bend[a * d + b] -= curve * z[a] * z[b];
        }
      }
    }
  });
}

template <int d>
void LevelKernel::sweep_levels(std::size_t k, const StepId& id, StepInfo& info) {
  const std::size_t levels = model_->rows().groups()[k].levels();
  const std::size_t chunks = (levels + levels_of_chunk - 1) / levels_of_chunk;
  std::vector<Tally> tallies(chunks);
  pool_->run(chunks, [&](std::size_t chunk) {
    Stream stream({.seed = id.seed,
                   .chain = id.chain,
                   .purpose = Purpose::levels,
                   .iteration = (id.iteration << 24U) | (static_cast<std::uint64_t>(k) << 20U) | chunk});
    sweep_chunk<d>(k, chunk * levels_of_chunk, std::min(levels, (chunk + 1) * levels_of_chunk), stream,
                   tallies[chunk]);
  });
  for (const Tally& tally : tallies) {
    info.rows_read += tally.rows;
    info.bound_violations += tally.violations;
    level_acceptance_.tried += tally.levels.tried;
    level_acceptance_.accepted += tally.levels.accepted;
  }
}

// Proposals for all levels of a chunk; then the rows that were drawn for them; then the decisions.
template <int d>
void LevelKernel::sweep_chunk(std::size_t k, std::size_t first, std::size_t last, Stream& stream,
                              Tally& tally) {
  using Vector = typename LevelTypes<d>::Vector;
  using Matrix = typename LevelTypes<d>::Matrix;
  const LevelSums& sums = reference_->groups()[k];
  const Grouping& grouping = model_->rows().groups()[k];
  Group& group = groups_[k];
  const auto dim = index(sums.d);
  const auto size = static_cast<std::size_t>(dim);
  const Matrix omega = group.omega;
  struct Move {
    double log_ratio = 0;
    LevelBound bound;
    bool open = false;
  };
  struct Event {
    std::size_t level, row;
  };
  std::vector<Move> moves(last - first);
  std::vector<Event> events;
  double clock = exponential(stream);
  for (std::size_t l = first; l < last; ++l) {
    if (sums.tiny[l] != 0) continue;
    Eigen::Map<Vector> beta(group.beta.data() + l * size, dim);
    Eigen::Map<Vector> next(next_[k].data() + l * size, dim);
    const Eigen::Map<const Vector> linear(group.linear.data() + l * size, dim);
    const Eigen::Map<const Matrix> bend(group.bend.data() + l * size * size, dim, dim);
    const Eigen::Map<const Vector> ma(group.ma.data() + l * size, dim);
    const Eigen::Map<const Vector> b(reference_->at().effects[k].data() + l * size, dim);
    const Eigen::Map<const Matrix> h(sums.h.data() + l * size * size, dim, dim);
    const double* const c = sums.c.data() + l * size * size * size;
    // The mode of the expansion with its prior, by two steps of Newton's method; the law proposed is normal
    // there.
    const Vector mu = ma - b;
    const Vector right = precision_ * linear + omega * mu;
    Vector mean;
    Matrix curvature;
    if (d == 1 && product_) {
      // linear has g and the columns' part of the slope, E is the sum of the rows' scales.
      const double tau = omega(0, 0), rise = std::max(group.bend[l], 0.2 * sums.h[l]);
      const double pull = sums.g[l] + direction_ * sums.h[l] + tau * mu[0];
      const ProductLaw law = product_law(pull, rise, tau, direction_);
      mean[0] = law.mode;
      curvature(0, 0) = law.curvature;
    } else if constexpr (d == 1) {
      const double here = precision_ * bend(0, 0) + omega(0, 0), cubic = precision_ * c[0];
      // The prior's share is positive even where a likelihood that is not log-concave leaves less.
      const double least = least_precision * std::max(precision_ * h(0, 0) + omega(0, 0), omega(0, 0));
      double m = right[0] / std::max(here, least);
      m += (right[0] - m * (here - 0.5 * cubic * m)) / std::max(here - cubic * m, least);
      mean[0] = m;
      curvature(0, 0) = std::max(here - cubic * m, least);
    } else {
      const Matrix least = least_precision * (precision_ * h + omega);
      const auto bent_by = [&](const Vector& v) -> Matrix {
        Matrix m = precision_ * bend + omega;
        for (Index a = 0; a < dim; ++a)
          for (Index e = 0; e < dim; ++e) {
            double sum = 0;
            for (Index f = 0; f < dim; ++f) sum += c[(a * dim + e) * dim + f] * v[f];
            m(a, e) -= precision_ * sum;
          }
        // Where the cubic terms have taken too much, the reference's precision.
        const auto positive = [](const Matrix& x) { return x.llt().info() == Eigen::Success; };
        if (positive(m - least) && positive(m)) return m;
        m = precision_ * h + omega;
        return positive(m) ? m : omega;
      };
      mean = Vector::Zero(dim);
      curvature = bent_by(mean);
      mean = curvature.llt().solve(right);
      Vector slope = right - (precision_ * bend + omega) * mean;
      for (Index a = 0; a < dim; ++a) {
        double sum = 0;
        for (Index e = 0; e < dim; ++e)
          for (Index f = 0; f < dim; ++f) sum += c[(a * dim + e) * dim + f] * mean[e] * mean[f];
        slope[a] += 0.5 * precision_ * sum;
      }
      curvature = bent_by(mean);
      mean += curvature.llt().solve(slope);
      curvature = bent_by(mean);
    }
    Vector noise(dim);
    for (Index a = 0; a < dim; ++a) noise[a] = normal(stream);
    const bool walk = all_rows() && uniform(stream) < walk_share;
    double proposal = 0;
    if constexpr (d == 1) {
      const double root = std::sqrt(curvature(0, 0));
      if (walk) {
        next[0] = beta[0] + 2 * noise[0] / root;
      } else {
        next[0] = mean[0] + wider * noise[0] / root;
        const double back = (beta[0] - mean[0]) * root / wider;
        proposal = 0.5 * (noise[0] * noise[0] - back * back);
      }
    } else {
      const Eigen::LLT<Matrix> llt(curvature);
      const Vector away = llt.matrixU().solve(noise);
      if (walk) {
        next = beta + 1.5 * away;
      } else {
        next = mean + wider * away;
        const Vector back = llt.matrixU() * (beta - mean) / wider;
        proposal = 0.5 * (noise.squaredNorm() - back.squaredNorm());
      }
    }
    const Vector from = beta - mu, to = next - mu;
    const double prior = -0.5 * (to.dot(omega * to) - from.dot(omega * from));
    Move& move = moves[l - first];
    move.log_ratio = prior + proposal;
    move.open = true;
    if (all_rows()) {
      const Vector delta = next - beta;
      move.log_ratio += likelihood_of_level(k, l, delta.data());
      tally.rows += grouping.size(l);
      continue;
    }
    move.log_ratio += level_surrogate<d>(k, l, beta.data(), next.data());
    if (!options_.remainders) continue;
    move.bound = level_bound<d>(k, l, beta.data(), next.data());
    const auto count = static_cast<double>(grouping.size(l));
    const double rate = move.bound.own * count + move.bound.cross * group.cubes[l];
    if (!move.bound.finite || !(rate <= pass_share * count)) {
      move.log_ratio += remainders_of_level(k, l, beta.data(), next.data());
      tally.rows += grouping.size(l);
      continue;
    }
    while (clock < rate) {
      events.push_back({l, draw_row(k, l, move.bound.own, move.bound.cross, stream)});
      clock += exponential(stream);
    }
    clock -= rate;
  }
  if (!events.empty()) {
    for (const Event& event : events) model_->rows().prefetch(event.row);
    RowBatch rows;
    std::array<double, batch> extra, bound;
    std::size_t done = 0;
    const auto flush = [&] {
      rows.evaluate(reference_->curve());
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const double change = rows.change(r) + rows.third(r) * extra[r];
        moves[events[done + r].level - first].log_ratio +=
            thinned(change / bound[r], stream, tally.violations);
      }
      done += rows.size();
      rows.clear();
    };
    for (const Event& event : events) {
      const RowPlace at = place(k, event.row);
      const double* const beta = group.beta.data() + event.level * size;
      const double* const next = next_[k].data() + event.level * size;
      double before = 0, after = 0;
      for (std::size_t a = 0; a < size; ++a) {
        before += at.z[a] * beta[a];
        after += at.z[a] * next[a];
      }
      const LevelBound& limit = moves[event.level - first].bound;
      if (product_) {
        const double change = product_change(reference_->shape(event.row), at.u, before, after);
        moves[event.level - first].log_ratio += thinned(change / limit.own, stream, tally.violations);
        continue;
      }
      const double other = std::abs(at.gamma);
      extra[rows.size()] = (after - before) * at.u * (0.5 * at.u + at.gamma);
      bound[rows.size()] = limit.own + limit.cross * other * other * other;
      const double rest = at.u + at.gamma;
      rows.add(reference_->shape(event.row), rest + before, rest + after);
      if (rows.full()) flush();
    }
    flush();
    tally.rows += events.size();
  }
  for (std::size_t l = first; l < last; ++l) {
    if (sums.tiny[l] != 0) {
      slice_level(k, l, stream, tally);
      continue;
    }
    const bool yes = accepts(stream, moves[l - first].log_ratio);
    tally.levels.count(yes);
    if (!yes) continue;
    double* const beta = group.beta.data() + l * size;
    const double* const next = next_[k].data() + l * size;
    if (all_rows()) {
      std::array<double, LevelRows::most_effects> z;
      for (std::size_t p = grouping.starts[l]; p < grouping.starts[l + 1]; ++p) {
        const std::size_t i = grouping.row(p);
        grouping.multipliers(i, z.data());
        double moved = 0;
        for (std::size_t a = 0; a < size; ++a) moved += z[a] * (next[a] - beta[a]);
        eta_[i] += moved;
      }
    }
    std::copy_n(next, size, beta);
  }
}

// A slice sampler (Neal 2003) for a level with few rows, all of which are read.
void LevelKernel::slice_level(std::size_t k, std::size_t level, Stream& stream, Tally& tally) {
  const LevelSums& sums = reference_->groups()[k];
  const Grouping& grouping = model_->rows().groups()[k];
  Group& group = groups_[k];
  double& beta = group.beta[level];
  const double omega = group.omega(0, 0), mu = group.ma[level] - reference_->at().effects[k][level];
  const double here = beta;
  const auto above = [&](double to) {  // the log density there, compared with here
    const double prior = -0.5 * omega * ((to - mu) * (to - mu) - (here - mu) * (here - mu));
    const double delta = to - here;
    tally.rows += grouping.size(level);
    if (all_rows()) return prior + likelihood_of_level(k, level, &delta);
    return prior + level_surrogate<1>(k, level, &here, &to) +
           (options_.remainders ? remainders_of_level(k, level, &here, &to) : 0);
  };
  const double floor = -exponential(stream);
  const double width = 2 / std::sqrt(std::max(precision_ * sums.h[level], 0.0) + omega);
  double low = here - width * uniform(stream), high = low + width;
  constexpr int most_steps = 60;  // on both sides together
  const auto below = static_cast<int>(most_steps * uniform(stream));
  for (int s = 0; s < below && above(low) > floor; ++s) low -= width;
  for (int s = below + 1; s < most_steps && above(high) > floor; ++s) high += width;
  for (;;) {
    const double to = low + (high - low) * uniform(stream);
    if (above(to) > floor) {
      if (all_rows()) {
        std::array<double, 1> z{};
        for (std::size_t p = grouping.starts[level]; p < grouping.starts[level + 1]; ++p) {
          const std::size_t i = grouping.row(p);
          grouping.multipliers(i, z.data());
          eta_[i] += z[0] * (to - here);
        }
      }
      beta = to;
      return;
    }
    (to < here ? low : high) = to;
    if (high - low < 1e-12 * (1 + std::abs(here))) return;
  }
}

void LevelKernel::freeze() {
  frozen_ = true;
  for (Group& group : groups_) group.walk.freeze();
  if (model_->family().estimates_second()) second_.freeze();
}

void LevelKernel::save(std::vector<double>& out) const {
  out.push_back(frozen_ ? 1 : 0);
  for (const Group& group : groups_) group.walk.save(out);
  if (model_->family().estimates_second()) second_.save(out);
  out.push_back(counted_);
  out.insert(out.end(), effect_sums_.begin(), effect_sums_.end());
  out.insert(out.end(), effect_squares_.begin(), effect_squares_.end());
}

void LevelKernel::load(std::span<const double> in) {
  frozen_ = in[0] != 0;
  std::size_t at = 1;
  for (Group& group : groups_) at += group.walk.load(in.subspan(at));
  if (model_->family().estimates_second()) at += second_.load(in.subspan(at));
  counted_ = in[at++];
  for (double& sum : effect_sums_) sum = in[at++];
  for (double& sum : effect_squares_) sum = in[at++];
}

LevelKernel::EffectMoments LevelKernel::moments(const GroupedModel& model, std::span<const double> saved) {
  const std::size_t count = model.effects();
  const std::span<const double> tail = saved.last(2 * count + 1);
  EffectMoments out;
  out.draws = tail[0];
  for (std::size_t r = 0; r < count; ++r) {
    const double mean = tail[1 + r] / out.draws;
    out.mean.push_back(mean);
    out.sd.push_back(std::sqrt(std::max(0.0, tail[1 + count + r] / out.draws - mean * mean)));
  }
  return out;
}

}  // namespace mlo
