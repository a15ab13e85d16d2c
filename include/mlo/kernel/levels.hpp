// Copyright (c) the mlo authors. BSD-3-Clause.
// The kernel of models with group effects. A step is a sweep: the effects of all levels of each grouping,
// level by level; its covariance, alone and together with the effects; the coefficients, together with what
// the effects owe them; shifts between coefficients and effects; the second parameter. Each move is proposed
// from the expansion about a reference (subsample/level_reference.hpp) and decided exactly: from a Poisson
// number of rows drawn by their bounds, or from all rows concerned. docs/methods/levels.md has the maths.
#pragma once

#include <Eigen/Dense>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/learnt_walk.hpp"
#include "mlo/subsample/level_reference.hpp"

namespace mlo {

struct LevelOptions {
  // Whether all rows concerned are read for every decision. Needed where there are no bounds.
  bool all_rows = false;
  std::size_t scale_moves = 2;  // of a covariance together with its effects, per sweep
  // More rows than the bounds ask for make a decision about many levels at once less noisy.
  double boost_coefficients = 8, boost_scales = 24;
  // For tests that must fail: rows are not read; bounds are multiplied by this.
  bool remainders = true;
  double bound_factor = 1;
};

// Law: the posterior of the model. state.theta is GroupedModel's packed point.
class LevelKernel {
 public:
  // The pool is for the levels of one grouping; it must outlive the kernel.
  LevelKernel(std::shared_ptr<const LevelReference> reference, const LevelOptions& options, ThreadPool& pool);

  [[nodiscard]] Promise promise() const noexcept { return Promise::exact; }
  StepInfo step(ChainState& state, const StepId& id);
  void freeze();
  // What has been learnt, then the sums of the effects' draws and of their squares after warm-up.
  void save(std::vector<double>& out) const;
  void load(std::span<const double> in);

  // Mean and standard deviation of the effects after warm-up, from what save() wrote.
  struct EffectMoments {
    double draws = 0;
    std::vector<double> mean, sd;  // in the order of the packed point
  };
  [[nodiscard]] static EffectMoments moments(const GroupedModel& model, std::span<const double> saved);

  // Shares of the sweep's decisions that were positive, for reports.
  struct Acceptance {
    double tried = 0, accepted = 0;
    void count(bool yes) noexcept {
      ++tried;
      accepted += yes ? 1 : 0;
    }
  };
  [[nodiscard]] const Acceptance& of_levels() const noexcept { return level_acceptance_; }
  [[nodiscard]] const Acceptance& of_scales() const noexcept { return scale_acceptance_; }

 private:
  // What a sweep keeps of one grouping, level after level.
  struct Group {
    std::vector<double> beta;    // d: decoupled effects
    std::vector<double> ma;      // d: M alpha
    std::vector<double> linear;  // d: the log-likelihood's expansion in beta, given all else: slope at 0
    std::vector<double> bend;    // d x d: and minus its second derivatives there
    std::vector<double> cubes;   // sum over rows of |gamma|^3, gamma the other groupings' part of t
    std::vector<double> others;  // the largest |gamma|
    std::vector<double> share;   // of the bound of the coefficients' move
    Eigen::MatrixXd omega;       // the effects' precision
    double log_det = 0;          // its log determinant
    LearntWalk walk;             // of the covariance
  };
  // A row's parts of t: the columns', this grouping's multipliers, the other groupings'.
  struct RowPlace {
    double u = 0, gamma = 0;
    std::array<double, LevelRows::most_effects> z;
  };

  [[nodiscard]] bool all_rows() const noexcept { return options_.all_rows; }

  void enter(const ChainState& state);
  void leave(ChainState& state) const;
  void apply_m();
  void read_predictors();

  void prepare(std::size_t k);
  void prepare_from_rows(std::size_t k);
  template <int d>
  void sweep_levels(std::size_t k, const StepId& id, StepInfo& info);
  struct Tally {
    std::uint64_t rows = 0, violations = 0;
    Acceptance levels;
  };
  template <int d>
  void sweep_chunk(std::size_t k, std::size_t first, std::size_t last, Stream& stream, Tally& tally);
  void slice_level(std::size_t k, std::size_t level, Stream& stream, Tally& tally);
  void set_precision(std::size_t k);

  void move_covariance(std::size_t k, Stream& stream, StepInfo& info);
  void draw_covariance(std::size_t k, Stream& stream);
  template <int d>
  void scale_together(std::size_t k, Stream& stream, StepInfo& info);
  template <int d>
  void scale_signed(std::size_t k, std::size_t effect, Stream& stream, StepInfo& info);
  // Whether a move of all effects of a grouping to `next_` is accepted, given the log ratio of all but the
  // rows' remainders (or, if all rows are read, of all but the likelihood).
  template <int d>
  bool decide_effects(std::size_t k, double log_ratio, double boost, Stream& stream, StepInfo& info);

  bool move_coefficients(Stream& stream, StepInfo& info);
  [[nodiscard]] double thin_coefficients(const Eigen::VectorXd& moved, const Eigen::VectorXd& next,
                                         Stream& stream, StepInfo& info);
  void shift(std::size_t k, std::size_t effect, Stream& stream);
  void move_second(Stream& stream, StepInfo& info);

  [[nodiscard]] double polynomial() const;
  [[nodiscard]] double likelihood_polynomial() const;
  // The change of the expansion between two values of a level's effects.
  template <int d>
  [[nodiscard]] double level_surrogate(std::size_t k, std::size_t level, const double* from,
                                       const double* to) const noexcept;
  // c_i / (sizes): the bound of a level's rows for a move of its effects, own part and the part per
  // |gamma|^3.
  struct LevelBound {
    double own = 0, cross = 0;
    bool finite = true;
  };
  template <int d>
  [[nodiscard]] LevelBound level_bound(std::size_t k, std::size_t level, const double* from,
                                       const double* to) const noexcept;
  [[nodiscard]] RowPlace place(std::size_t k, std::size_t row) const noexcept;
  [[nodiscard]] double remainders_of_level(std::size_t k, std::size_t level, const double* from,
                                           const double* to) const;
  [[nodiscard]] double likelihood_of_level(std::size_t k, std::size_t level, const double* delta) const;
  [[nodiscard]] std::size_t draw_row(std::size_t k, std::size_t level, double own, double cross,
                                     Stream& stream) const noexcept;

  std::shared_ptr<const LevelReference> reference_;
  const GroupedModel* model_;
  LevelOptions options_;
  ThreadPool* pool_;
  // Whether a row's term is a product of what the effect and what the columns make of it, up to a linear part
  // (poisson and gamma, one effect per level and one grouping): then the effect's part is not expanded.
  bool product_ = false;
  double direction_ = 1;  // of such rows: the term is -scale e^(direction t)
  double precision_ = 1;
  GroupedPoint point_;
  Eigen::VectorXd alpha_;
  double length_ = 0;  // |L'alpha|
  std::vector<Group> groups_;
  std::vector<std::vector<double>> next_;  // proposed effects, decoupled, by grouping
  HugeVector<double> eta_;                 // all rows' predictors, if all rows are read
  Eigen::VectorXd prior_gradient_;
  Eigen::MatrixXd prior_information_;
  bool frozen_ = false;
  LearntWalk second_;
  double second_sd_ = 0.1;
  std::uint64_t sweeps_ = 0;
  Acceptance level_acceptance_, scale_acceptance_;
  double counted_ = 0;
  std::vector<double> effect_sums_, effect_squares_;
};

static_assert(Kernel<LevelKernel>);

}  // namespace mlo
