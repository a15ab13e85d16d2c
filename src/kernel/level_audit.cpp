// Copyright (c) the mlo authors. BSD-3-Clause.
// The audit of a sweep: a move of all effects of a grouping, decided by nobody, by expansion and remainders
// and by the likelihood of all rows.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"

namespace mlo {

void LevelKernel::audit(std::size_t k, Stream& stream, StepInfo& info) {
  const Grouping& grouping = model_->rows().groups()[k];
  const LevelTable& table = reference_->table(k);
  Group& group = groups_[k];
  prepare(k);
  for (std::size_t l = 0; l < group.levels; ++l)
    for (std::size_t a = 0; a < group.d; ++a) {
      const double bend = precision_ * table.at(l, table.fields().h + pair_at(a, a));
      group.next[group.at(l, a)] =
          group.beta[group.at(l, a)] +
          normal(stream) / std::sqrt(std::max(bend, 0.0) + group.omega(index(a), index(a)));
    }
  const level_passes::Levels& of = lanes(k);
  double pieces = sum_over_parts(*pool_, group.blocks(), [&](level_passes::Range range) {
    return level_passes::move_of_all(of, range);
  });
  if (draws_rows()) {
    std::vector<double> remainders(group.levels);
    pool_->run(group.levels, [&](std::size_t l) {
      std::array<double, LevelRows::most_effects> from, to;
      for (std::size_t a = 0; a < group.d; ++a) {
        from[a] = group.beta[group.at(l, a)];
        to[a] = group.next[group.at(l, a)];
      }
      remainders[l] = whole_level(k, l, from.data(), to.data());
    });
    for (const double remainder : remainders) pieces += remainder;
    // Every row against its bound, as if it had been drawn.
    std::vector<Event> events;
    for (std::size_t l = 0; l < group.levels; ++l) {
      events.clear();
      for (std::size_t p = grouping.starts[l]; p < grouping.starts[l + 1] && std::isfinite(group.rate[l]);
           ++p)
        events.push_back({l, grouping.row(p)});
      static_cast<void>(read_events(k, events, stream, 1, info.bound_violations,
                                    [](const Event& /*event*/, double /*change*/) {}));
    }
  }
  info.audited = true;
  info.audit_error = std::max(info.audit_error, std::abs(likelihood_of_moved_effects(k) - pieces));
}

// The change of the log-likelihood from point_ as a grouping's effects move from beta to next, by all rows.
double LevelKernel::likelihood_of_moved_effects(std::size_t k) const {
  const LevelRows& rows = model_->rows();
  const Group& moving = groups_[k];
  constexpr std::size_t batch = Family::batch_rows;
  return block_sum(*pool_, rows.size(), 4096, 0.0, [&](std::size_t begin, std::size_t length) {
    double part = 0;
    std::array<double, batch> from, to, change, responses;
    std::array<double, LevelRows::most_effects> z;
    for (std::size_t at = begin; at < begin + length; at += batch) {
      const std::size_t count = std::min(batch, begin + length - at);
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t i = at + r;
        const std::size_t level = rows.groups()[k].codes[i];
        rows.groups()[k].multipliers(i, z.data());
        double moved = 0;
        for (std::size_t a = 0; a < moving.d; ++a)
          moved += z[a] * (moving.next[moving.at(level, a)] - moving.beta[moving.at(level, a)]);
        from[r] = predictor_of(i);
        to[r] = from[r] + moved;
      }
      const auto cut = [&](auto& a) { return std::span(a).first(count); };
      const std::span<const double> y = rows.responses(at, cut(responses));
      model_->family().differences({cut(from), y, point_.log_second}, {cut(to), y, point_.log_second},
                                   cut(change));
      for (std::size_t r = 0; r < count; ++r) part += rows.weight(at + r) * change[r];
    }
    return part;
  });
}

// The same of a move of the second parameter, by about one sd. The passes over the groupings have been
// prepared for the present point.
void LevelKernel::audit_second(Stream& stream, StepInfo& info) {
  const LevelRows& rows = model_->rows();
  const double next = point_.log_second + second_sd_ * normal(stream);
  hide_apart();
  const AlongSecond along = along_second(likelihood_polynomial());
  double pieces = expansion_at(along, next) - expansion_at(along, point_.log_second);
  if (draws_rows()) {
    share_second(next);
    struct Part {
      double changes = 0, violations = 0;
      Part& operator+=(const Part& other) noexcept {
        changes += other.changes;
        violations += other.violations;
        return *this;
      }
    };
    constexpr std::size_t batch = Family::batch_rows;
    const Part total =
        block_sum(*pool_, rows.size(), 4096, Part{}, [&](std::size_t begin, std::size_t length) {
          Part part;
          std::array<std::size_t, batch> row;
          std::array<double, batch> change;
          for (std::size_t at = begin; at < begin + length; at += batch) {
            const std::size_t count = std::min(batch, begin + length - at);
            for (std::size_t r = 0; r < count; ++r) row[r] = at + r;
            changes_in_second(next, std::span(row).first(count), std::span(change).first(count));
            for (std::size_t r = 0; r < count; ++r) {
              if (!apart_.levels.empty() && apart_.flag[rows.groups()[0].codes[at + r]] != 0) continue;
              part.changes += change[r];
              // Every row against its bound, as if it had been drawn.
              if (!read_whole(at + r, groups_.size()) && !(std::abs(change[r]) <= bound_of_row(at + r)))
                ++part.violations;
            }
          }
          return part;
        });
    pieces += total.changes;
    if (!apart_.levels.empty()) pieces += change_of_apart(alpha_, next);
    info.bound_violations += static_cast<std::uint64_t>(total.violations);
  }
  show_apart();
  info.audit_error = std::max(info.audit_error, std::abs(read_second(next) - pieces));
}

// From point_.
double LevelKernel::predictor_of(std::size_t row) const noexcept {
  const LevelRows& rows = model_->rows();
  std::array<double, LevelRows::most_effects> z;
  double eta = rows.offset(row);
  for (std::size_t j = 0; j < rows.columns(); ++j)
    eta += static_cast<double>(rows.x(row)[j]) * point_.coefficients[j];
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const std::size_t d = groups_[k].d, level = rows.groups()[k].codes[row];
    rows.groups()[k].multipliers(row, z.data());
    for (std::size_t a = 0; a < d; ++a) eta += z[a] * point_.effects[k][level * d + a];
  }
  return eta;
}

}  // namespace mlo
