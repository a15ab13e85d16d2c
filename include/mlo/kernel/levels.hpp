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
#include <optional>
#include <span>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/learnt_walk.hpp"
#include "mlo/subsample/level_reference.hpp"

namespace mlo {

class FactorGlm;

namespace level_passes {
struct Levels;
struct Cells;
struct ColumnMove;
struct OddsLevels;
}  // namespace level_passes

// More rows than the bounds ask for make a decision about many levels at once less noisy. Warm-up learns how
// many times as many it takes.
struct RowBoost {
  double factor = 4;
  // `noise`: the variance of a decision that was made with the factor.
  void learn(double noise, double most) noexcept;
};

// The slope that the rows' remainders have along one parameter, mostly: warm-up learns it from their change
// in moves of the parameter, of which later sweeps count for more.
struct LearntSlope {
  double slope = 0, products = 0, squares = 0, variance = 0;
  // `noise`: the variance of the change, which is an estimate. A slope that may be noise is none.
  void learn(double step, double change, double noise) noexcept;
};

struct LevelOptions {
  // Whether all rows concerned are read for every decision. Needed where there are no bounds.
  bool all_rows = false;
  // With all_rows: rows are read as odds, in passes that are far faster. The reference must have them.
  bool odds = false;
  // Of a covariance together with its effects, per sweep, if groupings are crossed.
  std::size_t scale_moves = 2;
  double most_boost = 24;  // RowBoost's
  // Not null: the groupings are this model's factors, whose standard deviations are known and whose priors
  // decide (factors.hpp). It must outlive the kernel.
  const FactorGlm* factors = nullptr;
  double audit_share = 0;  // of the sweeps after warm-up: expansion and bounds are compared with all rows
  // For tests that must fail: rows are not read, for any move or for those of the second parameter; bounds
  // are multiplied by this.
  bool remainders = true, remainders_of_second = true;
  double bound_factor = 1;
};

// Law: the posterior of the model. state.theta is GroupedModel's packed point.
class LevelKernel {
 public:
  // The pool is for the levels of one grouping; it must outlive the kernel.
  LevelKernel(std::shared_ptr<const LevelReference> reference, const LevelOptions& options, ThreadPool& pool);
  LevelKernel(LevelKernel&&) noexcept;
  LevelKernel& operator=(LevelKernel&&) noexcept;
  LevelKernel(const LevelKernel&) = delete;
  LevelKernel& operator=(const LevelKernel&) = delete;
  ~LevelKernel();

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

  // After warm-up, the sweeps that ended near the edge of what the second parameter may be for rows to be
  // drawn by their bounds, though warm-up never came near it: where there may be more beyond.
  [[nodiscard]] static double sweeps_at_edge(const GroupedModel& model, std::span<const double> saved);

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
  struct Group;  // what a chain keeps of one grouping
  struct Event;  // a row that was drawn for a move of a level
  struct CurvedBatch;
  // A row's parts of t: the columns', this grouping's multipliers, the other groupings'.
  struct RowPlace {
    double u = 0, gamma = 0;
    std::array<double, LevelRows::most_effects> z;
  };
  // A plain grouping within another: the outer level of each inner one.
  struct Nested {
    std::size_t outer, inner;
    std::vector<std::uint32_t> level;
  };
  struct Tally {
    std::uint64_t rows = 0, violations = 0;
    Acceptance levels;
  };

  [[nodiscard]] bool all_rows() const noexcept { return options_.all_rows; }
  [[nodiscard]] bool by_odds() const noexcept { return odds_ != nullptr; }
  // Whether rows are drawn: a gaussian likelihood has no remainders.
  [[nodiscard]] bool draws_rows() const noexcept {
    return !all_rows() && options_.remainders && reference_->bounded();
  }

  // Whether rows are drawn for moves of a second parameter.
  [[nodiscard]] bool thins_second() const noexcept {
    return !all_rows() && reference_->bounded() && model_->family().estimates_second();
  }
  [[nodiscard]] double slack() const noexcept { return options_.bound_factor * (1 + 1e-9); }  // of all bounds

  [[nodiscard]] const level_passes::Levels& lanes(Group& group) const noexcept;
  [[nodiscard]] const level_passes::Levels& lanes(std::size_t k) noexcept;

  [[nodiscard]] level_passes::Cells cells_of(std::size_t k) const noexcept;
  void enter(const ChainState& state);
  void leave(ChainState& state);
  void read_point();  // into point_
  void apply_m();
  void read_predictors();
  void read_likelihood(ChainState& state, StepInfo& info);

  void prepare(std::size_t k);
  void prepare_from_rows(std::size_t k);
  double sweep(const StepId& id, StepInfo& info);
  void sweep_levels(std::size_t k, const StepId& id, StepInfo& info);
  void sweep_chunk(std::size_t k, std::size_t first, std::size_t last, Stream& stream, Tally& tally);
  // `beyond`: of the prior, besides the normal one, as the effect moves by its argument.
  template <class Beyond>
  void slice_level(std::size_t k, std::size_t level, Stream& stream, Tally& tally, const Beyond& beyond);
  void decide_factor(std::size_t k, const StepId& id, StepInfo& info);
  struct Proposed;
  [[nodiscard]] Proposed law_of_level(std::size_t k, std::size_t level, double pull,
                                      double curvature) const noexcept;
  // Whether a move of one level to its `next` is accepted, given the log ratio of all but the likelihood.
  bool decide_level(std::size_t k, std::size_t level, double log_ratio, Stream& stream, StepInfo& info);
  void set_precision(std::size_t k);

  struct EffectTotals {
    Eigen::VectorXd sum;      // of b
    Eigen::MatrixXd squares;  // of b b'
  };
  [[nodiscard]] EffectTotals effect_totals(std::size_t k);
  void move_covariance(std::size_t k, Stream& stream, StepInfo& info);
  void draw_covariance(std::size_t k, Stream& stream);
  void scale_together(std::size_t k, Stream& stream, StepInfo& info);
  void scale_signed(std::size_t k, std::size_t effect, Stream& stream, StepInfo& info);
  // Whether a move of all effects of a grouping to its `next` is accepted, given the log ratio of all but the
  // likelihood.
  bool decide_effects(std::size_t k, double log_ratio, Stream& stream, StepInfo& info);
  bool decide_by_all_rows(std::size_t k, double log_ratio, Stream& stream, StepInfo& info);

  // What proposals of alpha add to the slope and the information that the expansion gives them; and how often
  // they were accepted in warm-up.
  struct Recentred {
    Recentred() = default;
    explicit Recentred(Eigen::Index columns);
    Eigen::VectorXd slope;
    Eigen::MatrixXd information;
    double accepted = 0;
    std::uint64_t passes = 0;
    [[nodiscard]] double excess(const Eigen::VectorXd& alpha) const;
    [[nodiscard]] bool due(bool accepted) noexcept;  // whether all rows should be read for a better one
  };
  void recentre(const Eigen::VectorXd& slope, const Eigen::MatrixXd& information, StepInfo& info);
  bool move_coefficients(Stream& stream, StepInfo& info);
  bool move_with_factors(const Eigen::VectorXd& next, double log_ratio, Stream& stream);
  bool move_by_all_rows(const Eigen::VectorXd& next, double log_ratio, Stream& stream, StepInfo& info);
  bool move_far(const Eigen::VectorXd& next, double log_ratio, Stream& stream, StepInfo& info);
  [[nodiscard]] double effects_prior();

  // Where rows are read as odds: kernel/level_odds.cpp.
  struct Odds;
  struct OddsDeleter {
    void operator()(Odds* odds) const noexcept;
  };
  void make_odds();
  [[nodiscard]] bool has_turn(std::size_t part, std::uint64_t sweep) const noexcept;
  void enter_odds(double log_likelihood);
  void take_slots(std::size_t k);
  [[nodiscard]] level_passes::OddsLevels odds_levels(std::size_t k);
  [[nodiscard]] bool rides(std::size_t k) const noexcept;
  [[nodiscard]] double reference_tau(std::size_t k) const;
  void take_factors(bool at_reference, std::vector<std::vector<float>>& out) const;
  void sweep_by_odds(std::size_t k, const StepId& id, StepInfo& info);
  void read_slots(std::size_t k);
  void read_quadratic(std::size_t k);
  void scale_by_odds(std::size_t k, Stream& stream, StepInfo& info);
  void leave_grouping(std::size_t k);
  [[nodiscard]] double change_by_odds(std::size_t k);
  bool decide_by_odds(std::size_t k, double log_ratio, Stream& stream, StepInfo& info);
  [[nodiscard]] Eigen::VectorXd slope_by_odds(StepInfo& info);
  bool coefficients_by_odds(Stream& stream, StepInfo& info);
  bool move_by_odds(const Eigen::VectorXd& next, double log_ratio, Stream& stream, StepInfo& info);
  [[nodiscard]] double linear_by_odds() const;
  [[nodiscard]] double likelihood_by_odds() const;
  void audit_odds(std::size_t k, Stream& stream, StepInfo& info);

  // Levels far from the reference: kernel/level_apart.cpp. Hidden: their beta is 0, and is kept here.
  struct Apart {
    std::vector<std::size_t> levels;
    std::vector<double> beta;
    std::vector<char> flag;  // by level
    std::size_t rows = 0;
  };
  [[nodiscard]] bool sets_apart() const noexcept;
  void hide_apart();
  void show_apart();
  void add_pull_of_apart(Eigen::VectorXd& slope) const;
  // Whether alpha of this length, or the second parameter, is outside the box.
  [[nodiscard]] bool beyond_box(double length) const noexcept;
  [[nodiscard]] double reference_predictor(std::size_t row) const noexcept;
  [[nodiscard]] double rows_of_level(std::size_t level, const double* from, const double* to) const;
  [[nodiscard]] double change_of_apart(const Eigen::VectorXd& next, double second,
                                       bool from_reference = false) const;
  [[nodiscard]] double change_of_all(const Eigen::VectorXd& next);
  // A level's rows where all of them are read: what the expansion leaves of them, or all of it.
  [[nodiscard]] double whole_level(std::size_t k, std::size_t level, const double* from,
                                   const double* to) const;

  [[nodiscard]] double thin_coefficients(const Eigen::VectorXd& moved, const Eigen::VectorXd& next,
                                         Stream& stream, StepInfo& info);
  // What the groupings' shares of a bound of a joint move depend on.
  [[nodiscard]] std::vector<level_passes::ColumnMove> shares_of(double step, double length);
  void shift(std::size_t k, std::size_t effect, Stream& stream);
  void find_nested();
  void shift_nested(const Nested& pair, Stream& stream);
  void shift_between(std::size_t j, std::size_t k, Stream& stream);

  // Gaussian responses: kernel/level_marginal.cpp.
  struct LevelLaw;
  struct LevelsLeft;
  void add_plain_levels(double precision, double omega, std::size_t first, std::size_t last,
                        LevelsLeft& out) const;
  [[nodiscard]] bool moves_variances() const noexcept;
  [[nodiscard]] bool variances_suffice() const noexcept;
  void to_variances(double log_sigma, std::span<const double> xi, std::span<double> out) const;
  [[nodiscard]] double from_variances(std::span<const double> in, std::span<double> xi) const;
  [[nodiscard]] double marginal_density(double log_sigma, std::span<const double> xi, Eigen::VectorXd& mean,
                                        Eigen::LLT<Eigen::MatrixXd>& llt);
  // Whether they have moved; the rest always does. Empty where sums of squares are mere rounding errors.
  std::optional<bool> move_variances(const StepId& id, Stream& stream);

  // `polynomial` is likelihood_polynomial(), and changes with the parameter.
  void move_second(double& polynomial, Stream& stream, StepInfo& info);
  void draw_precision(double polynomial, Stream& stream);
  void set_second(double u);
  void watch_edge() noexcept;
  [[nodiscard]] double surface_alone(double u) const noexcept;
  // The expansion as a function of the second parameter, all else fixed, up to a constant.
  struct AlongSecond {
    double polynomial = 0, slope = 0, bend = 0;  // of a surface: by u and u^2 / 2
  };
  [[nodiscard]] AlongSecond along_second(double polynomial);
  [[nodiscard]] double expansion_at(const AlongSecond& along, double log_second) const;
  [[nodiscard]] double read_second(double next);
  void thin_second(double& polynomial, Stream& stream, StepInfo& info);
  void move_second_by_all_rows(Stream& stream, StepInfo& info);
  void share_second(double next);
  [[nodiscard]] bool read_whole(std::size_t row, std::size_t groupings) const noexcept;
  [[nodiscard]] double bound_of_row(std::size_t row) const noexcept;
  void changes_in_second(double next, std::span<const std::size_t> rows, std::span<double> out) const;
  [[nodiscard]] double decide_second(double next, Stream& stream, StepInfo& info);

  // What a move of all effects of a grouping is decided by, against all rows, and all rows' bounds.
  void audit(std::size_t k, Stream& stream, StepInfo& info);
  [[nodiscard]] double likelihood_of_moved_effects(std::size_t k) const;
  void audit_second(Stream& stream, StepInfo& info);
  [[nodiscard]] double predictor_of(std::size_t row) const noexcept;

  [[nodiscard]] double likelihood_polynomial();
  [[nodiscard]] double log_posterior(double polynomial);
  [[nodiscard]] double log_prior();
  [[nodiscard]] double prior_of_main(const Eigen::VectorXd& alpha) const;  // of coefficients, and the second
  [[nodiscard]] double prior_of_factors() const;
  // The change of the expansion of one level, for a move of its effect.
  [[nodiscard]] double level_surrogate(std::size_t k, std::size_t level, double from,
                                       double to) const noexcept;
  [[nodiscard]] RowPlace place(std::size_t k, std::size_t row) const noexcept;
  // What each drawn row adds to the log ratio of its level's move: add(event, log ratio). Returns the
  // variance of the sum.
  template <class Add>
  double read_events(std::size_t k, std::span<const Event> events, Stream& stream, double boost,
                     std::uint64_t& violations, const Add& add) const;
  [[nodiscard]] double remainders_of_level(std::size_t k, std::size_t level, const double* from,
                                           const double* to) const;
  [[nodiscard]] double beyond_curve(std::size_t k, std::size_t level, double from, double to) const;
  [[nodiscard]] double curved_rows(std::size_t k, std::size_t level, double from, double to) const;
  [[nodiscard]] double likelihood_of_level(std::size_t k, std::size_t level, const double* delta) const;
  // The predictors of a level's rows after its effects have moved by `delta`.
  void add_to_predictors(std::size_t k, std::size_t level, const double* delta);
  [[nodiscard]] std::size_t draw_by_length(std::size_t k, std::size_t level, Stream& stream) const noexcept;
  void draw_rows(std::size_t k, std::span<Event> events, Stream& stream) const noexcept;

  std::shared_ptr<const LevelReference> reference_;
  const GroupedModel* model_;
  LevelOptions options_;
  ThreadPool* pool_;
  // Whether a row's term is a product of what the effect and what the columns make of it, up to a linear part
  // (poisson and gamma, one effect per level and one grouping): then the effect's part is not expanded.
  bool product_ = false;
  double direction_ = 1;  // of such rows: the term is -scale e^(direction t)
  double precision_ = 1;
  double second_at_ = 0;  // of surfaces: u, the log of the second parameter minus the reference's
  // The reference's, for the present second parameter.
  Eigen::VectorXd gradient_;
  Eigen::MatrixXd information_;
  GroupedPoint point_;
  Eigen::VectorXd alpha_;
  double length_ = 0;  // |L'alpha|
  std::vector<Group> groups_;
  std::unique_ptr<Odds, OddsDeleter> odds_;
  std::vector<Nested> nested_;
  Apart apart_;
  RowBoost boost_;          // of the coefficients' move
  Recentred recentred_;     // its proposal
  double cells_ = 0;        // the expansion in the effects of all groupings but the last
  HugeVector<double> eta_;  // all rows' predictors, if all rows are read
  Eigen::VectorXd prior_gradient_;
  Eigen::MatrixXd prior_information_;
  bool frozen_ = false;
  LearntWalk second_;
  double second_sd_ = 0.1;
  LearntWalk variances_;
  double log_weight_ = 0;  // of the effects' variance in the rows', its log
  RowBoost second_boost_;
  // Of the moves of a surface's second parameter: how many may cross the edge of the box that has bounds.
  static constexpr double seldom = 1.0 / 2000, often = 0.1;
  double share_of_passes_ = seldom;
  double edges_ = 0;  // draws near that edge, where such moves are seldom
  LearntSlope second_slope_;
  std::uint64_t sweeps_ = 0;
  Acceptance level_acceptance_, scale_acceptance_;
  double counted_ = 0;
  std::vector<double> effect_sums_, effect_squares_;
};

static_assert(Kernel<LevelKernel>);

}  // namespace mlo
