// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <span>

#include "mlo/base/errors.hpp"
#include "mlo/base/random.hpp"
#include "mlo/base/text.hpp"
#include "mlo/data/outcome.hpp"
#include "mlo/model/family.hpp"

namespace mlo {
namespace {

const FamilySpec& family_of(const std::string& family) {
  const FamilySpec* const spec = find_family(family);
  if (spec == nullptr) refuse_family("the family", family);
  return *spec;
}

// The numbers that are stated, and the usual values of the others.
FamilyNumbers numbers_of(const SimulateOptions& o, const Simulation& simulation) {
  FamilyNumbers out;
  for (const FamilyNumber& n : simulation.numbers) out[std::string(n.name)] = n.usual.value();
  for (const auto& [name, value] : o.numbers) {
    const auto at = out.find(name);
    if (at == out.end())
      throw UsageError(fmt::format("`{}` has no meaning with the family {}", name, o.family));
    const bool share =
        std::any_of(simulation.numbers.begin(), simulation.numbers.end(),
                    [&, &its = name](const FamilyNumber& n) { return n.name == its && n.share; });
    if (share && !(value > 0 && value < 1))
      throw UsageError(fmt::format("`{}` must be between 0 and 1, exclusive (got {})", name, value));
    if (!(value > 0 && std::isfinite(value)))
      throw UsageError(fmt::format("`{}` must be positive{} (got {})", name,
                                   std::isinf(value) ? " and finite" : "", value));
    at->second = value;
  }
  return out;
}

void check(const SimulateOptions& o, const Simulation& simulation) {
  for (const double b : o.coefficients)
    if (!std::isfinite(b)) throw UsageError(fmt::format("`coefficients` must be finite numbers (got {})", b));
  if (!std::isfinite(o.intercept))
    throw UsageError(fmt::format("`intercept` must be a finite number (got {})", o.intercept));
  if (o.rows < 1) throw UsageError(fmt::format("`rows` must be at least 1 (got {})", o.rows));
  if (o.coefficients.empty()) throw UsageError("`coefficients` needs at least one number");
  if (!(std::abs(o.correlation) < 1))
    throw UsageError(
        fmt::format("`correlation` must be between -1 and 1, exclusive (got {})", o.correlation));
  if (!simulation.columns && o.coefficients.size() != 1)
    throw UsageError(
        fmt::format("`coefficients`: {} has one parameter (got {})", o.family, o.coefficients.size()));
  if (simulation.positive && !(o.coefficients[0] > 0))
    throw UsageError(
        fmt::format("`coefficients`: {} must be positive (got {})", simulation.parameter, o.coefficients[0]));
  if (!simulation.columns && !o.groups.empty())
    throw UsageError(fmt::format("`group` has no meaning with the family {}", o.family));
}

[[noreturn]] void refuse_group(std::string_view text, const std::string& why) {
  throw UsageError(
      fmt::format("`group {}`: {}; write NAME:LEVELS:SD, as in g:1000:0.5, and after it the sds of "
                  "slopes, as in g:1000:0.5:x1=0.3,cor=0.4",
                  text, why));
}

template <class T>
T number_of(std::string_view word, std::string_view text, const char* what) {
  T value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size())
    refuse_group(text, fmt::format("{} must be a number (got \"{}\")", what, word));
  return value;
}

std::vector<std::string_view> split(std::string_view text, char sign) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t end = text.find(sign, at);
    out.push_back(text.substr(at, end - at));
    at = end == std::string_view::npos ? end : end + 1;
  }
  return out;
}

// The effects of all levels of one group.
class GroupEffects {
 public:
  GroupEffects(const SimulateOptions& o, std::size_t place, std::span<const std::string> names)
      : group_(o.groups[place]) {
    const std::string title = fmt::format("`group {}`", group_.name);
    const auto refuse = [&](const std::string& why) { throw UsageError(title + ": " + why); };
    if (group_.name.empty() || group_.name.find_first_of(",\"\n\r:") != std::string::npos)
      refuse("the name must be that of a column");
    if (std::find(names.begin(), names.end(), group_.name) != names.end())
      refuse("there is a column of this name already");
    if (group_.levels < 1 || group_.levels > 1'000'000'000)
      refuse(fmt::format("there must be 1 to 1,000,000,000 levels (got {})", group_.levels));
    sds_.push_back(group_.sd);
    for (const auto& [name, sd] : group_.slopes) {
      const std::size_t column =
          static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
      if (column == 0 || column > o.coefficients.size())
        refuse(fmt::format("\"{}\" is not one of the columns x1 to x{}", name, o.coefficients.size()));
      if (std::find(columns_.begin(), columns_.end(), column) != columns_.end())
        refuse(fmt::format("\"{}\" is there twice", name));
      columns_.push_back(column);
      sds_.push_back(sd);
    }
    for (const double sd : sds_)
      if (!(sd >= 0 && std::isfinite(sd)))
        refuse(fmt::format("an sd must be at least 0 and finite (got {})", sd));
    const auto d = static_cast<double>(sds_.size());
    const double least = d > 1 ? -1 / (d - 1) : -1;
    if (!(group_.correlation > least && group_.correlation < 1))
      refuse(fmt::format("the correlation of {} effects must be between {:.4g} and 1, exclusive (got {})", d,
                         least, group_.correlation));
    draw(o.seed, place);
  }

  // Draws the group of a row, and adds its effects to eta. row: y, x1, ..., xp, ...
  double add(Stream& stream, std::span<const double> row, double& eta) const {
    const auto levels = static_cast<double>(group_.levels);
    const auto level = static_cast<std::size_t>(std::min(std::floor(uniform(stream) * levels), levels - 1));
    const double* const effects = effects_.data() + level * sds_.size();
    eta += effects[0];
    for (std::size_t k = 0; k < columns_.size(); ++k) eta += effects[k + 1] * row[columns_[k]];
    return static_cast<double>(level + 1);
  }

  [[nodiscard]] std::string words() const {
    const auto drawn = [&](std::size_t effect) {
      double squares = 0;
      for (std::size_t at = effect; at < effects_.size(); at += sds_.size())
        squares += effects_[at] * effects_[at];
      return std::sqrt(squares / static_cast<double>(group_.levels));
    };
    std::string out = fmt::format("{}: {} levels; sd of the intercept {} (drawn {:.4g})", group_.name,
                                  grouped(static_cast<std::uint64_t>(group_.levels)), group_.sd, drawn(0));
    for (std::size_t k = 0; k < group_.slopes.size(); ++k)
      out += fmt::format(", of {} {} (drawn {:.4g})", group_.slopes[k].first, group_.slopes[k].second,
                         drawn(k + 1));
    if (!group_.slopes.empty()) out += fmt::format(", correlation {}", group_.correlation);
    return out;
  }

 private:
  // Cholesky's triangle of the matrix with 1 on the diagonal and the correlation elsewhere.
  [[nodiscard]] std::vector<double> triangle() const {
    const std::size_t d = sds_.size();
    std::vector<double> l(d * d, 0);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = i == j ? 1 : group_.correlation;
        for (std::size_t k = 0; k < j; ++k) sum -= l[i * d + k] * l[j * d + k];
        l[i * d + j] = i == j ? std::sqrt(sum) : sum / l[j * d + j];
      }
    return l;
  }

  void draw(std::uint64_t seed, std::size_t place) {
    const std::size_t d = sds_.size(), levels = static_cast<std::size_t>(group_.levels);
    const std::vector<double> l = triangle();
    effects_.resize(levels * d);
    std::vector<double> z(d);
    for (std::size_t level = 0; level < levels; ++level) {
      // Rows have chain 0.
      Stream stream({.seed = seed, .chain = place + 1, .purpose = Purpose::simulate, .iteration = level});
      for (double& value : z) value = normal(stream);
      for (std::size_t i = 0; i < d; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k <= i; ++k) sum += l[i * d + k] * z[k];
        effects_[level * d + i] = sds_[i] * sum;
      }
    }
  }

  const SimulatedGroup& group_;
  std::vector<std::size_t> columns_;  // of the slopes, in a row
  std::vector<double> sds_;
  std::vector<double> effects_;  // level after level
};

class Simulator {
 public:
  explicit Simulator(const SimulateOptions& options)
      : o_(options), family_(family_of(options.family)), simulation_(family_.simulation) {
    check(o_, simulation_);
    response_ = simulation_.response(numbers_of(o_, simulation_));
    names_.emplace_back("y");
    for (std::size_t j = 0; simulation_.columns && j < o_.coefficients.size(); ++j)
      names_.push_back(fmt::format("x{}", j + 1));
    columns_ = names_.size();
    for (std::size_t g = 0; g < o_.groups.size(); ++g) {
      groups_.emplace_back(o_, g, names_);
      names_.push_back(o_.groups[g].name);
    }
    if (!family_.counted) return;
    if (std::find(names_.begin(), names_.end(), "failures") != names_.end())
      throw UsageError("`group failures`: there is a column of this name already");
    names_.emplace_back("failures");
  }
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::vector<GroupEffects>& groups() const { return groups_; }

  // out: y, x1, ..., xp, groups, and the failures beside y successes
  void row(std::size_t i, std::vector<double>& out) const {
    Stream stream({.seed = o_.seed, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    out.resize(names_.size());
    double eta = simulation_.columns ? o_.intercept : o_.coefficients[0];
    const double fresh = std::sqrt(1 - o_.correlation * o_.correlation);
    for (std::size_t j = 1; j < columns_; ++j) {
      const double z = normal(stream);
      out[j] = j == 1 ? z : o_.correlation * out[j - 1] + fresh * z;
      eta += o_.coefficients[j - 1] * out[j];
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) out[columns_ + g] = groups_[g].add(stream, out, eta);
    out[0] = response_(stream, eta);
    if (!family_.counted) return;
    const Outcome at = Outcome::of(out[0]);
    out[0] = at.successes;
    out.back() = at.trials - at.successes;
  }

 private:
  const SimulateOptions o_;
  const FamilySpec& family_;
  const Simulation& simulation_;
  std::function<double(Stream&, double eta)> response_;
  std::vector<std::string> names_;
  std::size_t columns_ = 1;  // y, x1, ..., xp
  std::vector<GroupEffects> groups_;
};

}  // namespace

SimulatedGroup simulated_group(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() < 3 || parts.size() > 4 || parts[0].empty())
    refuse_group(text, fmt::format("{} parts instead of 3 or 4", parts.size()));
  SimulatedGroup out{.name = std::string(parts[0]),
                     .levels = number_of<std::int64_t>(parts[1], text, "the number of levels"),
                     .sd = number_of<double>(parts[2], text, "the sd")};
  if (parts.size() == 3) return out;
  for (const std::string_view part : split(parts[3], ',')) {
    const std::size_t sign = part.find('=');
    if (sign == std::string_view::npos)
      refuse_group(text, fmt::format("\"{}\" is not COLUMN=SD or cor=NUMBER", part));
    const std::string name(part.substr(0, sign));
    const auto value = number_of<double>(part.substr(sign + 1), text, name.c_str());
    if (name == "cor")
      out.correlation = value;
    else
      out.slopes.emplace_back(name, value);
  }
  return out;
}

std::vector<std::string> group_lines(const SimulateOptions& options) {
  std::vector<std::string> out;
  const Simulator simulator(options);
  for (const GroupEffects& group : simulator.groups()) out.push_back(group.words());
  return out;
}

Table simulate(const SimulateOptions& options) {
  const Simulator simulator(options);
  Table table;
  table.source.name = "simulated data";
  table.rows = static_cast<std::size_t>(options.rows);
  for (const std::string& name : simulator.names()) {
    table.columns.push_back({name, std::vector<double>(table.rows)});
  }
  std::vector<double> row;
  for (std::size_t i = 0; i < table.rows; ++i) {
    simulator.row(i, row);
    for (std::size_t j = 0; j < row.size(); ++j) table.columns[j].numbers()[i] = row[j];
  }
  return table;
}

void simulate_csv(const SimulateOptions& options, const std::function<void(std::string_view)>& write) {
  const Simulator simulator(options);
  std::string text = fmt::format("{}\n", fmt::join(simulator.names(), ","));
  std::vector<double> row;
  constexpr std::size_t piece = 1 << 20;
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.rows); ++i) {
    simulator.row(i, row);
    for (std::size_t j = 0; j < row.size(); ++j)
      fmt::format_to(std::back_inserter(text), "{}{}", j == 0 ? "" : ",", row[j]);
    text += '\n';
    if (text.size() > piece) {
      write(text);
      text.clear();
    }
  }
  write(text);
}

}  // namespace mlo
