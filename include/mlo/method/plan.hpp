// Copyright (c) the mlo authors. BSD-3-Clause.
// A fit with every option resolved against the data. Beyond this point there are no strings or optionals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mlo/chain/control.hpp"
#include "mlo/method/methods.hpp"
#include "mlo/method/options.hpp"

namespace mlo {

// The default number of parts that the rows are divided into.
inline constexpr std::int64_t usual_shards = 8;

// What the plan has to know about the data and the model.
struct DataFacts {
  std::size_t rows = 0;
  std::size_t dim = 0;                      // parameters
  bool all_positive = false;                // every parameter is, and its own working coordinate
  std::optional<std::size_t> covariance{};  // with group effects: parameters of their largest covariance
};

// Steps of warm-up, unless the options say. A sweep over group effects is worth many steps of other kernels:
// its warm-up only learns the law that covariances are proposed from, with more sweeps the more parameters.
[[nodiscard]] std::size_t usual_warmup(const DataFacts& facts) noexcept;

struct ProposalPlan {
  enum class Kind : std::uint8_t {
    mixed,    // draws from the Laplace fit, or from what warm-up learns, and walks
    laplace,  // pCN around the Laplace fit
    random_walk,
    adaptive,
    gamma,  // a step proportional to the parameter
  };
  enum class Shape : std::uint8_t { laplace, identity };
  Kind kind = Kind::mixed;
  double scale = 1;         // for laplace the step b; for walks the factor of the shape; for gamma the
                            // coefficient of variation
  double learnt_scale = 1;  // for adaptive, once it has learnt a shape
  Shape shape = Shape::laplace;
};

// The parts of a method that reads some of the rows, and their numbers.
struct SubsamplePlan {
  Composition parts{};
  std::size_t size = 0, max = 0;  // rows of the first look, and the most rows per step
  double delta = 0;
  double noise_sd = 0;
  bool hoeffding = false;  // the bound of `confidence`: Hoeffding's, or else Bernstein's
  double uniform_share = 0;
  enum class At : std::uint8_t { mle, map, point } weights_at = At::mle;
  std::vector<double> weights_point;  // of At::point, in the user's parameters
  std::vector<double> own_weights;    // of RowWeights::own, one per row
  ProposalPlan proposal;
};

struct ExactPlan {
  bool random_walk = false;  // otherwise pCN
  double step = 0;           // of the proposal; 0: learnt in warm-up
  bool factorised = false;   // the thinning rule; otherwise balanced
  int order = 0;             // 2 or 3; 0: whichever is cheaper
  double audit_share = 0;    // of the steps, compared with all rows
};

struct Plan {
  const MethodSpec* method = nullptr;
  ChainOptions chain;
  std::size_t threads = 1;
  bool start_at_mode = false;
  bool audit = false;
  bool choose_steps =
      false;                // of full and exact: steps per draw by what warm-up finds (`thin` was not given)
  ProposalPlan proposal;    // of full, block, and exact from sums
  ExactPlan exact;          // of exact
  SubsamplePlan subsample;  // of methods with parts; for auto: of difference, which it may fall back on
  std::size_t block_size = 0, blocks = 0;
  std::size_t shards = 0;
  double bandwidth = 0;
};

// Throws UsageError for everything that is wrong whatever the data are, and for an option that has no meaning
// with the chosen method or proposal.
void check(const MethodOptions& options);
// The same, and the options of the model.
void check(const FitOptions& options);

// Whether `format` asks for a netCDF file. Throws UsageError if it is not a list of formats.
[[nodiscard]] bool wants_netcdf(const FitOptions& options);

// Throws UsageError as check() does, and for what does not fit the data. The seed must have been drawn.
[[nodiscard]] Plan resolve(const MethodOptions& options, const DataFacts& facts);

// Draws a seed unless there is one, counts the machine's threads; returns whether it drew a seed.
bool settle(MethodOptions& options);

}  // namespace mlo
