// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/grouped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/base/names.hpp"
#include "mlo/base/text.hpp"
#include "mlo/model/glm.hpp"

namespace mlo {
namespace {

// "lkj(2)".
double parse_lkj(const std::string& text) {
  double shape = 0;
  const bool form = text.starts_with("lkj(") && text.ends_with(")");
  if (form) {
    const char* const end = text.data() + text.size() - 1;
    const auto [at, error] = std::from_chars(text.data() + 4, end, shape);
    if (error == std::errc() && at == end && shape > 0 && std::isfinite(shape)) return shape;
  }
  throw UsageError(fmt::format("`prior-cor` must be lkj(SHAPE) with a positive SHAPE (got \"{}\")", text));
}

std::string sd_name(const Grouping& group, std::size_t effect) {
  return fmt::format("sd_{}__{}", group.name, group.effects[effect]);
}

// Standard deviations whose name is this, or begins with it: sd_g is all of g's.
bool names_sd(const std::string& given, const Grouping& group, std::size_t effect) {
  return given == sd_name(group, effect) || given == "sd_" + group.name;
}

// Which of the priors that are stated for one parameter are for a standard deviation: they are taken out.
std::vector<std::pair<std::string, std::string>> take_sd_priors(PriorOptions& options,
                                                                const std::vector<Grouping>& groups) {
  std::vector<std::pair<std::string, std::string>> out;
  std::erase_if(options.prior_for, [&](const auto& stated) {
    for (const Grouping& group : groups)
      for (std::size_t j = 0; j < group.dim(); ++j)
        if (names_sd(stated.first, group, j)) {
          out.push_back(stated);
          return true;
        }
    return false;
  });
  return out;
}

// As a prior of a standard deviation: its part above 0.
Prior sd_prior(const std::string& text, const std::string& option) {
  const Prior prior = Prior::parse(text, option);
  if (prior.kind() == Prior::Kind::flat)
    throw UsageError(
        fmt::format("{}: with a flat prior of a standard deviation the posterior need not exist; use e.g. "
                    "student_t(3, 0, 10)",
                    option));
  return prior;
}

// The groupings' names alone.
std::vector<Grouping> names_of_groups(const Design& design) {
  std::vector<Grouping> out;
  for (const GroupDesign& g : design.groups) {
    Grouping group;
    group.name = g.name;
    group.effects = g.effects;
    out.push_back(std::move(group));
  }
  return out;
}

// What a layout, which knows nothing of groups, would not refuse, or not in these words.
void check_priors(const GroupPriorOptions& options, const PriorOptions& main, const Design& design,
                  const Layout& layout) {
  if (options.coefficients.prior && design.dim == 0)
    throw UsageError("`prior` is for the coefficients of columns, and the formula has none");
  const bool correlated = std::any_of(design.groups.begin(), design.groups.end(),
                                      [](const GroupDesign& g) { return g.correlated && g.dim() > 1; });
  if (options.prior_cor) static_cast<void>(parse_lkj(*options.prior_cor));
  if (options.prior_cor && !correlated)
    throw UsageError(
        "`prior-cor` is for the correlations of a group's effects, and the formula has none, such as "
        "(1 + x | group)");
  std::vector<std::string> known = layout.names();
  for (const Grouping& group : names_of_groups(design))
    for (std::size_t j = 0; j < group.dim(); ++j) known.push_back(sd_name(group, j));
  for (const auto& [name, text] : main.prior_for)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError(fmt::format("`prior-for {}`: there is no such parameter; {}", name,
                                   correlated && name.starts_with("cor_")
                                       ? "correlations have one prior, `prior-cor`"
                                       : names_instead(name, known)));
}

Layout make_layout(const Design& design, const Family& family, const GroupPriorOptions& options) {
  Layout layout = glm_layout(design, family, usual_priors(design, family));
  PriorOptions main = options.coefficients;
  static_cast<void>(take_sd_priors(main, names_of_groups(design)));
  check_priors(options, main, design, layout);
  layout.set_priors(main);
  return layout;
}

// Whether x_i'direction is what multiplies an effect in row i, for all i.
bool same_multipliers(const LevelRows& rows, const Grouping& group, std::size_t effect,
                      const Eigen::VectorXd& direction) {
  std::array<double, LevelRows::most_effects> z;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    group.multipliers(i, z.data());
    double product = 0, size = std::abs(z[effect]);
    for (Eigen::Index j = 0; j < direction.size(); ++j) {
      const double part = direction[j] * static_cast<double>(rows.x(i)[j]);
      product += part;
      size += std::abs(part);
    }
    if (!(std::abs(product - z[effect]) <= 1e-6 * size)) return false;
  }
  return true;
}

double scale_of_response(const Design& design, const Family& family) {
  const FamilySpec& spec = family.spec();
  return spec.response_scale == nullptr ? 1 : spec.response_scale(design).sd;
}

}  // namespace

GroupedModel::GroupedModel(Design design, std::shared_ptr<const Family> family,
                           const GroupPriorOptions& options)
    : family_((check_responses(design, *family), std::move(family))),
      start_(family_->start(design)),
      response_sd_(scale_of_response(design, *family_)),
      layout_(make_layout(design, *family_, options)),
      rows_(design),
      design_(std::move(design)) {
  names_ = layout_.names();
  PriorOptions stated = options.coefficients;
  const auto for_sd = take_sd_priors(stated, rows_.groups());
  const double lkj = options.prior_cor ? parse_lkj(*options.prior_cor) : 1;
  const Prior usual = options.prior_sd ? sd_prior(*options.prior_sd, "`prior-sd`")
                                       : Prior::student_t(3, 0, std::max(2.5, response_sd_));
  for (const Grouping& group : rows_.groups()) {
    std::vector<Prior> priors(group.dim(), usual);
    for (std::size_t j = 0; j < group.dim(); ++j)
      for (const auto& [name, text] : for_sd)
        if (names_sd(name, group, j)) priors[j] = sd_prior(text, fmt::format("`prior-for {}`", name));
    covariances_.emplace_back(std::move(priors), group.correlated, lkj);
    for (std::size_t j = 0; j < group.dim(); ++j) names_.push_back(sd_name(group, j));
    if (covariances_.back().correlated())
      for (std::size_t i = 1; i < group.dim(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          names_.push_back(fmt::format("cor_{}__{}__{}", group.name, group.effects[j], group.effects[i]));
  }
  find_twins();
}

GroupedModel::GroupedModel(LevelRows rows, std::shared_ptr<const Family> family, Layout layout,
                           std::vector<GroupCovariance> covariances)
    : family_(std::move(family)),
      layout_(std::move(layout)),
      rows_(std::move(rows)),
      covariances_(std::move(covariances)),
      names_(layout_.names()) {
  for (const Grouping& group : rows_.groups()) {
    for (std::size_t j = 0; j < group.dim(); ++j) names_.push_back(sd_name(group, j));
    twins_.emplace_back(group.dim());
  }
}

const SecondFactor* GroupedModel::factor() const noexcept {
  if (!family_->estimates_second() || !family_->spec().second->factor) return nullptr;
  return &*family_->spec().second->factor;
}

double GroupedModel::precision(double log_second) const noexcept {
  const SecondFactor* const of = factor();
  return of == nullptr ? 1 : std::exp(of->power * log_second);
}

std::shared_ptr<const RowCurve> GroupedModel::curve() const {
  if (!family_->spec().log_concave && rows_.groups().size() > 1) return nullptr;
  return family_->estimates_second() ? family_->unit_curve() : family_->curve();
}

bool GroupedModel::has_surface() const noexcept {
  const FamilySpec& spec = family_->spec();
  return family_->estimates_second() && factor() == nullptr && spec.surfaced && rows_.groups().size() == 1;
}

std::shared_ptr<const RowSurface> GroupedModel::surface(double log_second) const {
  if (!has_surface()) return nullptr;
  double largest = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) largest = std::max(largest, rows_.y(i));
  return family_->surface(log_second, largest);
}

std::size_t GroupedModel::effects() const noexcept {
  std::size_t sum = 0;
  for (const Grouping& group : rows_.groups()) sum += group.levels() * group.dim();
  return sum;
}

std::string GroupedModel::effect_name(std::size_t group, std::size_t level, std::size_t effect) const {
  const Grouping& g = rows_.groups()[group];
  return fmt::format("r_{}[{},{}]", g.name, g.level_names[level], g.effects[effect]);
}

std::size_t GroupedModel::dim() const noexcept { return main_parameters() + effects(); }

void GroupedModel::pack(const GroupedPoint& point, std::span<double> out) const noexcept {
  auto at = std::copy(point.coefficients.begin(), point.coefficients.end(), out.begin());
  if (family_->estimates_second()) *at++ = point.log_second;
  for (const auto& c : point.covariances) at = std::copy(c.begin(), c.end(), at);
  for (const auto& b : point.effects) at = std::copy(b.begin(), b.end(), at);
}

void GroupedModel::unpack(std::span<const double> theta, GroupedPoint& point) const {
  const double* at = theta.data();
  const auto take = [&](std::vector<double>& to, std::size_t count) {
    to.assign(at, at + count);
    at += count;
  };
  take(point.coefficients, rows_.columns());
  if (family_->estimates_second()) point.log_second = *at++;
  point.covariances.resize(covariances_.size());
  point.effects.resize(covariances_.size());
  for (std::size_t k = 0; k < covariances_.size(); ++k) take(point.covariances[k], covariances_[k].size());
  for (std::size_t k = 0; k < covariances_.size(); ++k)
    take(point.effects[k], rows_.groups()[k].levels() * covariances_[k].dim());
}

void GroupedModel::to_user(std::span<const double> theta, std::span<double> out) const {
  const std::size_t first = layout_.dim();
  layout_.to_user(theta.first(first), out.first(first));
  std::size_t at = first;
  for (const GroupCovariance& c : covariances_) {
    c.to_user(theta.subspan(at, c.size()), out.subspan(at, c.size()));
    at += c.size();
  }
  const std::size_t rest = out.size() - at;
  std::copy_n(theta.begin() + static_cast<std::ptrdiff_t>(at), rest,
              out.begin() + static_cast<std::ptrdiff_t>(at));
}

double GroupedModel::log_prior_of_main(const GroupedPoint& point) const {
  std::array<double, 64> stack;
  std::vector<double> heap;
  std::span<double> theta(stack);
  if (layout_.dim() > stack.size()) {
    heap.resize(layout_.dim());
    theta = heap;
  }
  theta = theta.first(layout_.dim());
  std::copy(point.coefficients.begin(), point.coefficients.end(), theta.begin());
  if (family_->estimates_second()) theta[point.coefficients.size()] = point.log_second;
  return layout_.log_prior(theta);
}

std::string GroupedModel::prior_words() const {
  std::string out = layout_.prior_words();
  for (std::size_t k = 0; k < covariances_.size(); ++k) {
    const Grouping& group = rows_.groups()[k];
    for (std::size_t j = 0; j < group.dim(); ++j)
      out += fmt::format("; {} ~ {}, above 0", sd_name(group, j), covariances_[k].priors()[j].text());
    if (covariances_[k].correlated())
      out += fmt::format("; correlations of {} ~ lkj({})", group.name, covariances_[k].lkj());
  }
  return out;
}

// A column is an effect's twin if it multiplies its coefficient by what multiplies the effect, in all rows,
// to the digits of a float. The direction is that of one unit of the user's coefficient.
void GroupedModel::find_twins() {
  const std::size_t q = rows_.columns();
  std::vector<double> base(layout_.dim()), moved(layout_.dim());
  const auto working = [&](std::size_t column, std::vector<double>& out) {
    std::vector<double> user(layout_.dim(), 0);
    if (family_->estimates_second()) user[q] = 0.5;  // any value that every second parameter can have
    if (column < q) user[column] = 1;
    layout_.to_working(user, out);
  };
  working(q, base);
  for (const Grouping& group : rows_.groups()) {
    std::vector<Eigen::VectorXd> of(group.dim());
    for (std::size_t j = 0; j < group.dim(); ++j)
      for (std::size_t column = 0; column < q && of[j].size() == 0; ++column) {
        working(column, moved);
        Eigen::VectorXd direction(static_cast<Eigen::Index>(q));
        for (std::size_t i = 0; i < q; ++i) direction[static_cast<Eigen::Index>(i)] = moved[i] - base[i];
        if (same_multipliers(rows_, group, j, direction)) of[j] = std::move(direction);
      }
    twins_.push_back(std::move(of));
  }
}

}  // namespace mlo
