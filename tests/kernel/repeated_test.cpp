// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/repeated.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace mlo {
namespace {

// Nine draws in ten have moved once 1 - (1 - a)^k >= 0.9.
// Three times as many where less than nine steps in ten are accepted: half of them are walks then.
TEST(StepsPerDraw, AreTheFewestThatMoveNineDrawsInTen) {
  RepeatOptions free{.step_nanoseconds = 1, .row_nanoseconds = 0};
  for (const double acceptance : {0.05, 0.1, 0.3, 0.5, 0.68, 0.69, 0.8, 0.89, 0.91, 0.99, 1.0}) {
    std::uint64_t fewest = 1;
    while (1 - std::pow(1 - acceptance, static_cast<double>(fewest)) < 0.9) ++fewest;
    if (acceptance < 0.9) fewest = std::min<std::uint64_t>(3 * fewest, 50);
    EXPECT_EQ(steps_per_draw(free, acceptance, 0), fewest) << acceptance;
  }
  // Exactly nine in ten, where rounding might ask for one more: 1 - 0.1, and 1 - sqrt(0.1)^2.
  EXPECT_EQ(steps_per_draw(free, 0.9, 0), 1U);
  EXPECT_EQ(steps_per_draw(free, 1 - std::sqrt(0.1), 0), 3 * 2U);
  // At most 50, also where nothing was accepted.
  EXPECT_EQ(steps_per_draw(free, 0.01, 0), 50U);
  EXPECT_EQ(steps_per_draw(free, 0, 0), 50U);
  // A walk's acceptance says nothing of how far it gets.
  free.independent = false;
  for (const double acceptance : {0.0, 0.2, 0.9, 1.0}) EXPECT_EQ(steps_per_draw(free, acceptance, 0), 10U);
}

// 0.15 s per chain: 1.5e8 ns = draws * steps * (step + rows * row).
TEST(StepsPerDraw, AreNoMoreThanTheirBudgetBuys) {
  const RepeatOptions options{.draws = 1000, .step_nanoseconds = 1000, .row_nanoseconds = 50};
  for (const double rows : {0.0, 80.0, 400.0, 1000.0, 3980.0, 1e6}) {
    const double affordable = 1.5e8 / (1000 * (1000 + 50 * rows));
    const auto expected = static_cast<std::uint64_t>(std::min(50.0, std::max(1.0, std::floor(affordable))));
    EXPECT_EQ(steps_per_draw(options, 0, rows), expected) << rows;
  }
  // Twice the draws, half the steps.
  const RepeatOptions twice{.draws = 2000, .step_nanoseconds = 1000, .row_nanoseconds = 50};
  EXPECT_EQ(steps_per_draw(options, 0, 400), 7U);
  EXPECT_EQ(steps_per_draw(twice, 0, 400), 3U);
}

// Records the steps that it is asked for, counts them in theta, and accepts as `accepts` says.
struct Recording {
  std::vector<std::uint64_t>* ids;
  bool (*accepts)(std::uint64_t) = [](std::uint64_t) { return true; };
  std::uint64_t rows = 0;
  double steps = 0;
  [[nodiscard]] static Promise promise() { return Promise::bounded_error; }
  StepInfo step(ChainState& state, const StepId& id) {
    EXPECT_EQ(id.seed, 5U);
    EXPECT_EQ(id.chain, 2U);
    ids->push_back(id.iteration);
    state.theta[0] += 1;
    steps += 1;
    return {.accepted = accepts(id.iteration), .rows_read = rows};
  }
  void freeze() {}
  void save(std::vector<double>& out) const { out.push_back(steps); }
  void load(std::span<const double> in) { steps = in[0]; }
};
static_assert(Kernel<Recording> && Kernel<Repeated<Recording>>);

ChainState start() {
  ChainState state;
  state.theta = Eigen::VectorXd::Zero(1);
  return state;
}
StepId id_of(std::uint64_t iteration) { return {.seed = 5, .chain = 2, .iteration = iteration}; }

// The same random numbers twice would make draws that depend on each other.
TEST(Repeated, GivesEveryStepANumberOfItsOwn) {
  for (const std::uint64_t warmup : {0U, 1U, 7U, 100U})
    for (const std::uint64_t fixed : {0U, 1U, 3U}) {
      std::vector<std::uint64_t> ids;
      Repeated kernel(Recording{&ids, [](std::uint64_t k) { return k % 4 == 0; }}, {.fixed = fixed});
      ChainState state = start();
      std::uint64_t made = 0;
      for (std::uint64_t k = 0; k < warmup + 50; ++k) {
        if (k == warmup) kernel.freeze();
        made += kernel.step(state, id_of(k)).steps;
      }
      EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size()) << warmup << " " << fixed;
      EXPECT_EQ(made, ids.size());
      EXPECT_EQ(state.theta[0], static_cast<double>(made));
      if (fixed > 0) {
        EXPECT_EQ(kernel.repeats(), fixed);
      }
      if (fixed == 0 && warmup == 0) {
        EXPECT_EQ(kernel.repeats(), 1U);  // nothing is known
      }
      EXPECT_EQ(ids.size(), fixed == 0 ? warmup + 50 * kernel.repeats() : (warmup + 50) * fixed);
    }
}

// The acceptance of late warm-up counts: weights fall by 0.997 per step.
TEST(Repeated, ChoosesItsStepsByWhatWarmUpFound) {
  std::vector<std::uint64_t> ids;
  // One in two at first, then one in five.
  const auto accepts = [](std::uint64_t k) { return k < 500 ? k % 2 == 0 : k % 5 == 0; };
  const RepeatOptions options{.draws = 100, .step_nanoseconds = 100, .row_nanoseconds = 45};
  Repeated kernel(Recording{&ids, accepts, 30}, options);
  ChainState state = start();
  double weight = 0, accepted = 0;
  for (std::uint64_t k = 0; k < 1500; ++k) {
    const StepInfo info = kernel.step(state, id_of(k));
    EXPECT_EQ(info.steps, 1U);
    weight += std::pow(0.997, 1499.0 - static_cast<double>(k));
    if (accepts(k)) accepted += std::pow(0.997, 1499.0 - static_cast<double>(k));
  }
  kernel.freeze();
  EXPECT_EQ(kernel.promise(), Promise::bounded_error);
  EXPECT_EQ(kernel.repeats(), steps_per_draw(options, accepted / weight, 30));
  EXPECT_GT(kernel.repeats(), 4U);  // what one in two would ask for
  const std::uint64_t chosen = kernel.repeats();
  static_cast<void>(kernel.step(state, id_of(1500)));
  kernel.freeze();  // again: a chain that was resumed
  EXPECT_EQ(kernel.repeats(), chosen);
}

TEST(Repeated, AddsUpWhatItsStepsSay) {
  std::vector<std::uint64_t> ids;
  Repeated kernel(Recording{&ids, [](std::uint64_t k) { return k == 7 || k == 8; }, 11}, {.fixed = 3});
  ChainState state = start();
  const StepInfo none = kernel.step(state, id_of(1));  // 3, 4, 5
  EXPECT_FALSE(none.accepted);
  EXPECT_EQ(none.accepted_steps, 0U);
  const StepInfo two = kernel.step(state, id_of(2));  // 6, 7, 8
  EXPECT_EQ(two.steps, 3U);
  EXPECT_TRUE(two.accepted);
  EXPECT_EQ(two.accepted_steps, 2U);
  EXPECT_EQ(two.rows_read, 33U);
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{3, 4, 5, 6, 7, 8}));
}

TEST(Repeated, ContinuesFromWhatItSaved) {
  const auto accepts = [](std::uint64_t k) { return k % 3 == 0; };
  constexpr std::uint64_t warmup = 100, all = 160;
  for (const std::uint64_t stop : {40U, 100U, 130U}) {
    std::vector<std::uint64_t> whole, parts;
    Repeated one(Recording{&whole, accepts, 4}, {});
    Repeated first(Recording{&parts, accepts, 4}, {}), second(Recording{&parts, accepts, 4}, {});
    ChainState a = start(), b = start();
    std::vector<double> saved;
    for (std::uint64_t k = 0; k < all; ++k) {
      if (k == stop) {
        first.save(saved);
        second.load(saved);
      }
      Repeated<Recording>& part = k < stop ? first : second;
      if (k == warmup) {
        one.freeze();
        part.freeze();
      }
      static_cast<void>(one.step(a, id_of(k)));
      static_cast<void>(part.step(b, id_of(k)));
    }
    EXPECT_GT(one.repeats(), 1U);
    EXPECT_EQ(second.repeats(), one.repeats());
    EXPECT_EQ(parts, whole);
    std::vector<double> end_one, end_second;
    one.save(end_one);
    second.save(end_second);
    EXPECT_EQ(end_one, end_second);
  }
}

}  // namespace
}  // namespace mlo
