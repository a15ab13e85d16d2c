// Copyright (c) the mlo authors. BSD-3-Clause.
// The parameters of a model, in blocks. A block owns its names, its priors and the map between working
// coordinates, in which chains move, and the user's coordinates, in which priors are stated and draws are
// recorded.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mlo/model/model.hpp"
#include "mlo/model/prior.hpp"

namespace mlo {

struct Block {
  enum class Kind {
    coefficients,  // of centred and scaled columns: user's slope = working slope / scale
    log_positive,  // the working coordinate is the log
    logit_share,   // of a parameter between 0 and 1 it is the logit
    positive,      // the working coordinate is the parameter itself; a point <= 0 has no density
  };
  Kind kind = Kind::coefficients;
  std::size_t first = 0;  // its place in theta
  std::vector<std::string> names{};
  std::vector<Prior> priors{};  // one per parameter, in the user's coordinates

  // For coefficients only.
  bool intercept = false;  // if so, it is the first
  // The intercept's prior is for the predictor at the columns' means, as in rstanarm, not at zero.
  bool intercept_at_means = false;
  std::vector<double> centre{}, scale{};  // of the columns; 0 and 1 for the intercept

  [[nodiscard]] std::size_t size() const noexcept { return names.size(); }
};

// What a user says about priors, as text. Empty: the default priors.
struct PriorOptions {
  std::optional<std::string> prior{};  // of all coefficients
  std::optional<std::string> prior_intercept{};
  std::vector<std::pair<std::string, std::string>> prior_for{};  // name, prior
};

class Layout {
 public:
  Layout() = default;
  // Blocks in the order of theta; their `first` is filled in.
  explicit Layout(std::vector<Block> blocks);

  [[nodiscard]] std::size_t dim() const noexcept { return names_.size(); }
  [[nodiscard]] const std::vector<Block>& blocks() const noexcept { return blocks_; }
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

  void to_user(Params theta, std::span<double> out) const noexcept;
  // Throws UsageError if a parameter that must be positive, or a share, is not.
  void to_working(Params user, std::span<double> out) const;
  // The derivative of to_user.
  [[nodiscard]] Eigen::MatrixXd user_jacobian(Params theta) const;

  // The log prior density in working coordinates, so with the Jacobian, up to a constant.
  [[nodiscard]] double log_prior(Params theta) const noexcept;
  // The part of it that changes where only these parameters do.
  [[nodiscard]] double log_prior_of(std::span<const std::size_t> parameters, Params theta) const noexcept;
  // The same of one parameter that is not a coefficient, at this value.
  [[nodiscard]] double log_prior_at(std::size_t parameter, double value) const noexcept;
  void add_prior_derivatives(Params theta, Derivatives& d) const;
  // Whether all priors are proper, except those of parameters that are no coefficients: then there is a mode
  // even where the likelihood has no maximum in the other parameters.
  [[nodiscard]] bool proper_prior() const noexcept;
  // Whether the log prior is a polynomial of degree 2 at most: normal and flat priors of coefficients.
  [[nodiscard]] bool quadratic_prior() const noexcept;
  // The same of the coefficients' part alone.
  [[nodiscard]] bool quadratic_coefficients() const noexcept;

  // Whether every parameter is positive and its own working coordinate.
  [[nodiscard]] bool all_positive() const noexcept;

  // Replaces the priors that the options name. Throws UsageError: an unknown parameter, a prior that does not
  // suit it, text that is not a prior.
  void set_priors(const PriorOptions& options);
  // "x1 ~ normal(0, 2.5); sigma ~ gamma(1, 1)"
  [[nodiscard]] std::string prior_words() const;

 private:
  void set_all_coefficients(const std::string& text);

  std::vector<Block> blocks_;
  std::vector<std::string> names_;
};

}  // namespace mlo
