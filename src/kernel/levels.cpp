// Copyright (c) the mlo authors. BSD-3-Clause.
// The sweep, and the moves of single levels.
#include "mlo/kernel/levels.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernel/level_limits.hpp"
#include "kernel/level_parts.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {
namespace {

using Eigen::Index;
using level_passes::Range;
constexpr std::size_t batch = Family::batch_rows;
constexpr std::size_t blocks_of_chunk = 16;
constexpr std::size_t levels_of_chunk = blocks_of_chunk * level_lanes;

[[maybe_unused]] bool groups_are_bounded(const GroupedModel& model) {
  return (model.rows().groups().size() == 1 || model.rows().plain()) &&
         (model.family().spec().sums || model.curve() != nullptr || model.has_surface());
}

}  // namespace

void RowBoost::learn(double noise, double most) noexcept {
  constexpr double enough = 0.1;
  factor = std::clamp(factor * std::clamp(std::sqrt(noise / enough), 0.9, 1.1), 1.0, most);
}

LevelKernel::LevelKernel(LevelKernel&&) noexcept = default;
LevelKernel& LevelKernel::operator=(LevelKernel&&) noexcept = default;
LevelKernel::~LevelKernel() = default;

LevelKernel::LevelKernel(std::shared_ptr<const LevelReference> reference, const LevelOptions& options,
                         ThreadPool& pool)
    : reference_(std::move(reference)), model_(&reference_->model()), options_(options), pool_(&pool) {
  // Without all rows there must be bounds: of one grouping, or of plain ones, and of curves.
  assert(options.all_rows || groups_are_bounded(*model_));
  const std::size_t q = model_->rows().columns(), k_count = reference_->groups().size();
  alpha_.setZero(index(q));
  recentred_ = Recentred(index(q));
  gradient_ = reference_->gradient();
  information_ = reference_->information();
  boost_.factor = std::min(boost_.factor, options.most_boost);
  product_ = !all_rows() && reference_->has_curve() && reference_->curve().exponential() && k_count == 1 &&
             model_->rows().plain();
  if (product_) direction_ = static_cast<double>(reference_->shape(0).direction);
  for (std::size_t k = 0; k < k_count; ++k) {
    const LevelTable& table = reference_->table(k);
    Group group;
    group.boost = boost_;
    group.levels = table.levels();
    group.d = table.fields().d;
    for (const char tiny : reference_->groups()[k].tiny) group.tiny = group.tiny || tiny != 0;
    const std::size_t room = table.blocks() * level_lanes;
    for (auto* const v : {&group.beta, &group.next, &group.ma, &group.linear}) v->assign(room * group.d, 0);
    group.bend.assign(room * pairs_of(group.d), 0);
    for (auto* const v :
         {&group.cell_linear, &group.cell_first, &group.cell_bend, &group.cubes, &group.typical,
          &group.others, &group.own, &group.cross, &group.rate, &group.ratio, &group.taken, &group.phi})
      v->assign(room, 0);
    const double sd = 0.1 + 1 / std::sqrt(2 * static_cast<double>(group.levels));
    group.walk = LearntWalk(model_->covariances()[k].size(), sd);
    groups_.push_back(std::move(group));
    level_passes::Levels& lanes = groups_.back().lanes;
    lanes.table = table.data();
    lanes.at = table.fields();
    lanes.count = table.levels();
    lanes.curves = all_rows() ? nullptr : table.curves();
    lanes.curved = table.curved();
    lanes.rides = lanes.curves != nullptr && std::none_of(groups_.begin(), groups_.end() - 1,
                                                          [](const Group& g) { return g.lanes.rides; });
    lanes.direction = direction_;
    lanes.product = product_;
    if (product_ && table.levels() > many_levels) {
      groups_.back().anchor.assign(room, 0);
      groups_.back().anchor_power.assign(room, 1);
      lanes.anchor_omega = model_->covariances()[k].precision(reference_->at().covariances[k])(0, 0);
    }
    lanes.bounded = draws_rows();
    lanes.apart = sets_apart();
    lanes.all_rows = all_rows();
    lanes.plain = model_->rows().groups()[k].plain();
    lanes.crossed = k_count > 1 && !all_rows();
    if (lanes.crossed) {
      groups_.back().chunks.assign(
          model_->rows().cells().of[k].cells() / level_passes::Cells::chunk + table.levels() + 1, 0);
      groups_.back().rounded.assign(room, 0);
    }
    lanes.weighted = draws_rows() && !model_->rows().groups()[k].plain();
    if (!all_rows() && reference_->has_surface()) {
      const MixedSums& mixed = reference_->mixed();
      std::vector<double>& own = groups_.back().table;
      own.assign(table.data(), table.data() + table.blocks() * level_lanes * table.fields().width);
      lanes.table = own.data();
      lanes.k31 = mixed.k31.data();
      lanes.k22 = mixed.k22.data();
      lanes.k13 = mixed.k13.data();
      lanes.k04 = mixed.k04.data();
      lanes.width = mixed.width;
    }
  }
  if (options_.factors == nullptr) find_nested();
  std::vector<double> theta(reference_->at().coefficients);
  theta.resize(model_->layout().dim(), reference_->at().log_second);
  Derivatives prior(theta.size());
  model_->layout().add_prior_derivatives(theta, prior);
  prior_gradient_ = prior.gradient.head(index(q));
  prior_information_ = prior.information.topLeftCorner(index(q), index(q));
  if (model_->family().estimates_second()) {
    if (thins_second()) second_sd_ = 1 / std::sqrt(std::max(reference_->second_information(), 1.0));
    second_ = LearntWalk(1, second_sd_);
    second_boost_ = boost_;
    second_slope_.squares = 10 * second_sd_ * second_sd_;  // the first moves say little
  }
  if (moves_variances()) {
    variances_ = LearntWalk(1 + model_->covariances()[0].size(), 0.3);
    double squares = 0;
    for (std::size_t l = 0; l < groups_[0].levels; ++l)
      squares += reference_->table(0).at(l, reference_->table(0).fields().h);
    log_weight_ = std::log(squares / reference_->weight());
  }
  if (options_.odds)
    make_odds();
  else if (all_rows())
    eta_.resize(model_->rows().size());
  effect_sums_.assign(model_->effects(), 0);
  effect_squares_.assign(model_->effects(), 0);
}

void LevelKernel::set_precision(std::size_t k) {
  const Eigen::MatrixXd l = model_->covariances()[k].factor(point_.covariances[k]);
  groups_[k].omega = model_->covariances()[k].precision(point_.covariances[k]);
  groups_[k].log_det = -2 * l.diagonal().array().log().sum();
}

// The passes' view of the present point.
const level_passes::Levels& LevelKernel::lanes(std::size_t k) noexcept { return lanes(groups_[k]); }
const level_passes::Levels& LevelKernel::lanes(Group& group) const noexcept {
  level_passes::Levels& of = group.lanes;
  of.beta = group.beta.data();
  of.next = group.next.data();
  of.ma = group.ma.data();
  of.linear = group.linear.data();
  of.bend = group.bend.data();
  of.cell_linear = group.cell_linear.data();
  of.cell_first = group.cell_first.data();
  of.cell_bend = group.cell_bend.data();
  of.cubes = group.cubes.data();
  of.typical = group.typical.data();
  of.others = group.others.data();
  of.anchor = group.anchor.empty() ? nullptr : group.anchor.data();
  of.anchor_power = group.anchor_power.data();
  of.own = group.own.data();
  of.cross = group.cross.data();
  of.rate = group.rate.data();
  of.ratio = group.ratio.data();
  of.taken = group.taken.data();
  of.phi = group.phi.data();
  of.chunks = group.chunks.data();
  of.omega = group.omega.data();
  of.precision = precision_;
  of.slack = precision_ * slack();
  of.second = std::abs(second_at_);
  of.length = length_;
  return of;
}

// From the packed point to displacements.
void LevelKernel::enter(const ChainState& state) {
  model_->unpack(params(state.theta), point_);
  const GroupedPoint& at = reference_->at();
  precision_ = model_->precision(point_.log_second);
  if (!all_rows() && reference_->has_surface()) set_second(point_.log_second - at.log_second);
  for (Index j = 0; j < alpha_.size(); ++j)
    alpha_[j] =
        point_.coefficients[static_cast<std::size_t>(j)] - at.coefficients[static_cast<std::size_t>(j)];
  apply_m();
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    Group& group = groups_[k];
    set_precision(k);
    for (std::size_t l = 0, r = 0; l < group.levels; ++l)
      for (std::size_t a = 0; a < group.d; ++a, ++r) {
        const std::size_t place = group.at(l, a);
        group.beta[place] = point_.effects[k][r] - at.effects[k][r] + group.ma[place];
      }
  }
  if (by_odds())
    enter_odds(state.log_likelihood);
  else if (all_rows())
    read_predictors();
}

void LevelKernel::leave(ChainState& state) {
  read_point();
  model_->pack(point_, {state.theta.data(), static_cast<std::size_t>(state.theta.size())});
}

void LevelKernel::read_point() {
  const GroupedPoint& at = reference_->at();
  for (Index j = 0; j < alpha_.size(); ++j)
    point_.coefficients[static_cast<std::size_t>(j)] =
        at.coefficients[static_cast<std::size_t>(j)] + alpha_[j];
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const Group& group = groups_[k];
    for (std::size_t l = 0, r = 0; l < group.levels; ++l)
      for (std::size_t a = 0; a < group.d; ++a, ++r) {
        const std::size_t place = group.at(l, a);
        point_.effects[k][r] = at.effects[k][r] + group.beta[place] - group.ma[place];
      }
  }
}

// M alpha of all levels.
void LevelKernel::apply_m() {
  for (Group& group : groups_)
    over_parts(*pool_, group.blocks(), [&, &of = lanes(group)](std::size_t /*part*/, Range range) {
      level_passes::apply_m(of, alpha_.data(), range);
    });
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
        const Group& group = groups_[k];
        const std::size_t level = rows.groups()[k].codes[i];
        rows.groups()[k].multipliers(i, z.data());
        for (std::size_t a = 0; a < group.d; ++a)
          sum += z[a] * (group.beta[group.at(level, a)] - group.ma[group.at(level, a)]);
      }
      eta_[i] = sum;
    }
  });
}

// Everything in turn. Returns the expansion of the log-likelihood where the sweep ends.
double LevelKernel::sweep(const StepId& id, StepInfo& info) {
  const auto stream_of = [&](std::uint64_t part) {
    return Stream({.seed = id.seed,
                   .chain = id.chain,
                   .purpose = Purpose::covariances,
                   .iteration = (id.iteration << 8U) | part});
  };
  const double scaled = scale_acceptance_.accepted;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    if (by_odds()) {
      if (rides(k)) {  // its effects move with the coefficients
        Stream stream = stream_of(k + 1);
        draw_covariance(k, stream);
        continue;
      }
      if (!has_turn(k, id.iteration)) continue;
      sweep_by_odds(k, id, info);
    } else {
      all_rows() ? prepare_from_rows(k) : prepare(k);
      sweep_levels(k, id, info);
    }
    if (options_.factors != nullptr) {
      decide_factor(k, id, info);
      continue;
    }
    Stream stream = stream_of(k + 1);
    move_covariance(k, stream, info);
    if (by_odds()) leave_grouping(k);
  }
  Stream stream = stream_of(0);
  hide_apart();
  if (!by_odds() || has_turn(groups_.size(), id.iteration))
    info.accepted = move_coefficients(stream, info);
  else
    info.accepted = scale_acceptance_.accepted > scaled;
  double polynomial =
      !all_rows() && (frozen_ || model_->family().estimates_second()) ? likelihood_polynomial() : 0;
  // Shifts change no predictor, but they do change what the expansion leaves of a row.
  if (thins_second()) move_second(polynomial, stream, info);
  if (!apart_.levels.empty() && frozen_) polynomial += change_of_apart(alpha_, point_.log_second, true);
  show_apart();
  if (options_.factors == nullptr) {
    const auto moves = [&](std::size_t k) { return !by_odds() || has_turn(k, id.iteration); };
    for (std::size_t k = 0; k < groups_.size(); ++k)
      for (std::size_t j = 0; j < groups_[k].d && moves(k); ++j) shift(k, j, stream);
    for (const Nested& pair : nested_) shift_nested(pair, stream);
    for (std::size_t k = 1; k < groups_.size(); ++k)
      if (moves(k)) shift_between(0, k, stream);
  }
  if (model_->family().estimates_second() && !thins_second()) move_second(polynomial, stream, info);
  if (moves_variances()) {
    move_variances(id, stream);
    polynomial = 0;
  }
  return polynomial;
}

StepInfo LevelKernel::step(ChainState& state, const StepId& id) {
  StepInfo info;
  enter(state);
  double polynomial = 0;
  std::optional<bool> moved;
  if (variances_suffice()) {
    Stream stream({.seed = id.seed,
                   .chain = id.chain,
                   .purpose = Purpose::covariances,
                   .iteration = id.iteration << 8U});
    moved = move_variances(id, stream);
  }
  if (moved)
    info.accepted = *moved;
  else
    polynomial = sweep(id, info);
  if (frozen_ && moves_variances()) {
    prepare(0);
    polynomial = likelihood_polynomial();
  }
  leave(state);
  if (all_rows())
    read_likelihood(state, info);
  else if (frozen_)
    state.polynomial = log_posterior(polynomial);
  ++sweeps_;
  if (thins_second() && reference_->has_surface()) watch_edge();
  if (!frozen_) {
    for (std::size_t k = 0; k < groups_.size(); ++k) groups_[k].walk.learn(point_.covariances[k]);
    if (model_->family().estimates_second()) second_.learn({&point_.log_second, 1});
    if (moves_variances()) {
      std::vector<double> at(1 + point_.covariances[0].size());
      to_variances(point_.log_second, point_.covariances[0], at);
      variances_.learn(at);
    }
  } else {
    ++counted_;
    const double* const effects = state.theta.data() + model_->main_parameters();
    for (std::size_t r = 0; r < effect_sums_.size(); ++r) {
      effect_sums_[r] += effects[r];
      effect_squares_[r] += effects[r] * effects[r];
    }
  }
  if (options_.audit_share > 0 && frozen_) {
    // With random numbers of its own: an audited chain is the chain of the same seed.
    Stream coin = id.stream(Purpose::audit);
    if (uniform(coin) < options_.audit_share) {
      enter(state);
      for (std::size_t k = 0; k < groups_.size(); ++k)
        by_odds() ? audit_odds(k, coin, info) : audit(k, coin, info);
      if (thins_second()) audit_second(coin, info);
    }
  }
  return info;
}

// Where all rows are read, the log posterior is known.
void LevelKernel::read_likelihood(ChainState& state, StepInfo& info) {
  if (by_odds()) {
    state.log_likelihood = likelihood_by_odds();
    state.polynomial = state.log_likelihood + log_prior();
    return;
  }
  state.log_likelihood = 0;
  std::array<double, batch> terms, response;
  const LevelRows& rows = model_->rows();
  for (std::size_t at = 0; at < rows.size(); at += batch) {
    const std::size_t count = std::min(batch, rows.size() - at);
    model_->family().terms(
        {{eta_.data() + at, count}, rows.responses(at, std::span(response).first(count)), point_.log_second},
        std::span(terms).first(count));
    for (std::size_t r = 0; r < count; ++r) state.log_likelihood += rows.weight(at + r) * terms[r];
  }
  info.rows_read += rows.size();
  state.polynomial = state.log_likelihood + log_prior();
}

// The cells of a grouping, with the effects of the others.
level_passes::Cells LevelKernel::cells_of(std::size_t k) const noexcept {
  const LevelCells::Of& from = model_->rows().cells().of[k];
  const CellSums& sums = reference_->cells()[k];
  level_passes::Cells cells;
  cells.starts = from.starts.data();
  for (std::size_t j = 0; j < groups_.size(); ++j) {
    if (j == k) continue;
    cells.levels[cells.others] = from.levels_in(cells.others);
    cells.betas[cells.others] = groups_[j].rounded.data();
    ++cells.others;
  }
  if (!sums.f1.empty()) cells.f1 = sums.f1.data();
  cells.f2 = sums.f2.data();
  cells.f3 = sums.f3.data();
  if (from.cells() < model_->rows().size()) cells.count = sums.count.data();
  return cells;
}

// The expansion in one grouping's effects, given all else: linear, bend, and what the bounds need of the
// other groupings.
void LevelKernel::prepare(std::size_t k) {
  const level_passes::Levels& of = lanes(k);
  const std::size_t blocks = groups_[k].blocks();
  if (of.crossed) {
    for (std::size_t j = 0; j < groups_.size(); ++j)
      if (j != k) std::copy(groups_[j].beta.begin(), groups_[j].beta.end(), groups_[j].rounded.begin());
    const level_passes::Cells cells = cells_of(k);
    cells_ = sum_over_parts(*pool_, blocks,
                            [&](Range range) { return level_passes::add_cells(of, cells, range); });
  }
  over_parts(*pool_, blocks,
             [&](std::size_t /*part*/, Range range) { level_passes::prepare(of, alpha_.data(), range); });
}

// The same where all rows are read, about their present predictors.
void LevelKernel::prepare_from_rows(std::size_t k) {
  const Grouping& grouping = model_->rows().groups()[k];
  Group& group = groups_[k];
  const std::size_t d = group.d, levels = group.levels;
  const std::span<const double> reference = reference_->predictors();
  pool_->run((levels + levels_of_chunk - 1) / levels_of_chunk, [&](std::size_t chunk) {
    const std::size_t end = std::min(levels, (chunk + 1) * levels_of_chunk);
    std::array<double, LevelRows::most_effects> z, linear;
    std::array<double, pairs_of(LevelRows::most_effects)> bend;
    for (std::size_t l = chunk * levels_of_chunk; l < end; ++l) {
      linear.fill(0);
      bend.fill(0);
      for (std::size_t p = grouping.starts[l]; p < grouping.starts[l + 1]; ++p) {
        const std::size_t i = grouping.row(p);
        grouping.multipliers(i, z.data());
        double rest = eta_[i] - reference[i];
        for (std::size_t a = 0; a < d; ++a) rest -= z[a] * group.beta[group.at(l, a)];
        const LevelReference::Bend& f = reference_->bend(i);
        const double f2 = f.f2, f3 = f.f3;
        const double slope = static_cast<double>(f.f1) + rest * (f2 + 0.5 * f3 * rest),
                     curve = f2 + f3 * rest;
        for (std::size_t a = 0; a < d; ++a) {
          linear[a] += slope * z[a];
          for (std::size_t b = 0; b <= a; ++b) bend[pair_at(a, b)] -= curve * z[a] * z[b];
        }
      }
      for (std::size_t a = 0; a < d; ++a) group.linear[group.at(l, a)] = linear[a];
      for (std::size_t p = 0; p < pairs_of(d); ++p) group.bend[lane_at(l, p, pairs_of(d))] = bend[p];
    }
  });
}

void LevelKernel::sweep_levels(std::size_t k, const StepId& id, StepInfo& info) {
  const std::size_t blocks = groups_[k].blocks(), chunks = (blocks + blocks_of_chunk - 1) / blocks_of_chunk;
  static_cast<void>(lanes(k));
  std::vector<Tally> tallies(chunks);
  pool_->run(chunks, [&](std::size_t chunk) {
    Stream stream({.seed = id.seed,
                   .chain = id.chain,
                   .purpose = Purpose::levels,
                   .iteration = (id.iteration << 24U) | (static_cast<std::uint64_t>(k) << 20U) | chunk});
    sweep_chunk(k, chunk * blocks_of_chunk, std::min(blocks, (chunk + 1) * blocks_of_chunk), stream,
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
void LevelKernel::sweep_chunk(std::size_t k, std::size_t first, std::size_t last, Stream& stream,
                              Tally& tally) {
  const Grouping& grouping = model_->rows().groups()[k];
  Group& group = groups_[k];
  const level_passes::Levels& of = group.lanes;
  const std::size_t d = group.d, count = (last - first) * level_lanes, begin = first * level_lanes,
                    end = std::min(group.levels, last * level_lanes);
  std::array<double, levels_of_chunk * LevelRows::most_effects> noise;
  std::array<double, levels_of_chunk> uniforms, walks;
  std::array<double, LevelRows::most_effects> from, to;
  normals(stream, {noise.data(), count * d});
  for (std::size_t i = 0; i < count; ++i) uniforms[i] = uniform(stream);
  // Terms that are not concave may have several modes.
  const bool walk = all_rows() || of.apart;
  for (std::size_t i = 0; i < count && walk; ++i) walks[i] = uniform(stream) < walk_share ? 1 : 0;
  level_passes::propose(of, noise.data(), walk ? walks.data() : nullptr, {first, last});
  const auto is_tiny = [&](std::size_t l) { return reference_->groups()[k].tiny[l] != 0; };
  if (all_rows()) {
    for (std::size_t l = begin; l < end; ++l) {
      if (is_tiny(l)) continue;
      group.moved(l, to.data());
      group.ratio[l] += likelihood_of_level(k, l, to.data());
      tally.rows += grouping.size(l);
    }
  } else if (draws_rows()) {
    std::vector<Event> events;
    run_clock(
        group.rate.data(), 1, {first, last}, group.levels, stream,
        [&](std::size_t l) {
          for (std::size_t a = 0; a < d; ++a) {
            from[a] = group.beta[group.at(l, a)];
            to[a] = group.next[group.at(l, a)];
          }
          group.ratio[l] += whole_level(k, l, from.data(), to.data());
          tally.rows += grouping.size(l);
        },
        [&](std::size_t l) { events.push_back({l}); });
    draw_rows(k, events, stream);
    static_cast<void>(
        read_events(k, events, stream, 1, tally.violations,
                    [&](const Event& event, double change) { group.ratio[event.level] += change; }));
    tally.rows += events.size();
  }
  if (options_.factors != nullptr) {  // the priors of levels depend on each other: decide_factor()
    for (std::size_t l = begin; l < end; ++l) group.ratio[l] -= std::log(uniforms[l - begin]);
    return;
  }
  // The rows' predictors follow the moves that are accepted.
  for (std::size_t l = begin; l < end && all_rows(); ++l) group.moved(l, noise.data() + (l - begin) * d);
  tally.levels.accepted += level_passes::accept(of, uniforms.data(), {first, last});
  for (std::size_t l = begin; l < end && all_rows(); ++l)
    if (group.taken[l] != 0) add_to_predictors(k, l, noise.data() + (l - begin) * d);
  tally.levels.tried += static_cast<double>(end - begin);
  if (!group.tiny) return;
  for (std::size_t l = begin; l < end; ++l)
    if (is_tiny(l)) {
      slice_level(k, l, stream, tally, [](double /*delta*/) { return 0.0; });
      tally.levels.count(true);
      tally.levels.tried -= 1;
    }
}

void LevelKernel::freeze() {
  frozen_ = true;
  for (Group& group : groups_) group.walk.freeze();
  if (model_->family().estimates_second()) second_.freeze();
  if (moves_variances()) variances_.freeze();
}

}  // namespace mlo
