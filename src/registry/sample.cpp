// Copyright (c) the mlo authors. BSD-3-Clause.
#include <algorithm>
#include <charconv>

#include "registry/sample_impl.hpp"

namespace mlo::detail {

std::vector<double> numbers(const std::string& list, const std::string& option, std::size_t wanted) {
  std::vector<double> out;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    while (at < end && (*at == ' ' || *at == ',')) ++at;
    if (at == end) break;
    const char* const cell_end = std::find_if(at, end, [](char c) { return c == ',' || c == ' '; });
    double value = 0;
    const auto [stop, error] = std::from_chars(at, cell_end, value);
    if (error != std::errc() || stop != cell_end || !std::isfinite(value))
      throw UsageError(
          fmt::format("{} must be mle, map or numbers separated by commas (got \"{}\")", option, list));
    out.push_back(value);
    at = cell_end;
  }
  if (out.size() != wanted)
    throw UsageError(fmt::format("{} needs {} numbers, one a parameter (got {}: \"{}\")", option, wanted,
                                 out.size(), list));
  return out;
}

SubsampleSizes subsample_sizes(const FitOptions& options, const std::string& method, std::size_t rows) {
  const std::optional<Composition> parts = composition(options, method);
  const bool block = method == "block";
  if (!parts && !block) return {rows, rows};
  const auto n = static_cast<std::int64_t>(rows);
  const auto inside = [&](const char* option, std::int64_t value, std::int64_t least,
                          const std::string& least_name) {
    if (value < least || value > n)
      throw UsageError(fmt::format("{} must be between {} and the number of rows, {} (got {})", option,
                                   least_name, n, value));
  };
  // Defaults in the spirit of the sources: the paper's fixed size 1 % of the rows, and for its Algorithm 3 a
  // pilot of 0.1 % and at most 5 %; sequential tests begin with some hundred rows and may come to read all.
  std::int64_t size = std::max<std::int64_t>(n / 100, 1000), most = n / 20, least = 1;
  if (block) {
    size = static_cast<std::int64_t>(BlockOptions{}.subsample_size);
    least = 2;
  } else if (parts->rule == Rule::adaptive) {
    size = std::max<std::int64_t>(n / 1000, 100);
  } else if (parts->rule == Rule::penalty) {
    const bool variates = parts->estimator == "control-variates";
    if (variates) size = 20;
    most = variates ? std::max<std::int64_t>(most, 1000) : n;  // plain terms need about n for a noise of 1
    least = 2;
  } else if (parts->rule != Rule::fixed) {
    size = parts->rule == Rule::austerity ? 500 : 100;
    most = n;
    least = 2;
  }
  size = options.subsample_size.value_or(std::min(size, n));
  inside("--subsample-size", size, std::min(least, n), std::to_string(least));
  most = options.max_subsample_size.value_or(std::min(n, std::max(size, most)));
  inside("--max-subsample-size", most, size, fmt::format("--subsample-size, {},", size));
  return {static_cast<std::size_t>(size), static_cast<std::size_t>(most)};
}

namespace {

// A walk's factor F of theta' = theta + F z, in working coordinates.
Eigen::MatrixXd walk_factor(const Laplace& laplace, const Eigen::MatrixXd& user_jacobian,
                            const FitOptions& options, double scale) {
  if (options.proposal_shape == "identity") return user_jacobian.inverse() * scale;
  const Eigen::Index p = laplace.mode.size();
  return scale * laplace.cholesky.transpose().triangularView<Eigen::Upper>().solve(
                     Eigen::MatrixXd(Eigen::MatrixXd::Identity(p, p)));
}

}  // namespace

AnyProposal make_proposal(const Laplace& laplace, const Eigen::MatrixXd& user_jacobian,
                          const FitOptions& options, const std::string& method,
                          std::vector<std::string>& notes) {
  const std::string kind = proposal_of(options, method);
  const bool all_rows = method == "full" || method == "exact";
  if (kind == "laplace" && all_rows && !options.proposal_scale) {
    notes.emplace_back(
        "proposal: laplace (draws from the Laplace fit, or from what warm-up learns; some random walks)");
    return MixedProposal(laplace);
  }
  if (kind == "laplace") {
    notes.emplace_back("proposal: laplace (pCN around the Laplace fit)");
    return LaplaceProposal(laplace, {.step = options.proposal_scale.value_or(1.0)});
  }
  const bool identity = options.proposal_shape == "identity";
  const double usual = 2.38 / std::sqrt(static_cast<double>(laplace.mode.size()));
  const double scale = options.proposal_scale.value_or(usual);
  notes.push_back(fmt::format("proposal: {}, scale {:.3g}, {}", kind, scale,
                              identity ? "the same for every parameter" : "shaped like the Laplace fit"));
  Eigen::MatrixXd factor = walk_factor(laplace, user_jacobian, options, scale);
  if (kind == "random-walk") return RandomWalkProposal(std::move(factor));
  // With the shape `identity` the scale is that of the first steps alone: what is learnt has a scale of its
  // own.
  return AdaptiveProposal(std::move(factor), identity ? usual : scale);
}

AnyRule make_rule(const Composition& parts, const SubsampleSizes& sizes, const FitOptions& options,
                  std::size_t rows, std::vector<std::string>& notes) {
  const auto looks = [&](const std::string& until) {
    notes.push_back(fmt::format("{} to {} rows a step, {}", sizes.size, sizes.max, until));
  };
  switch (parts.rule) {
    case Rule::fixed:
      break;
    case Rule::adaptive: {
      const double delta = options.delta.value_or(0.05);
      looks(fmt::format("delta {}", delta));
      return AdaptiveSize({.pilot = sizes.size, .max = sizes.max, .delta = delta});
    }
    case Rule::penalty: {
      const double target = options.noise_sd.value_or(parts.estimator == "plain" ? 1 : 0.1);
      looks(fmt::format("until the noise sd is below {}", target));
      return PenaltySize(rows, {.pilot = sizes.size, .max = sizes.max, .noise_sd = target});
    }
    case Rule::austerity: {
      Austerity::Options austerity;
      austerity.eps = options.delta.value_or(austerity.eps);
      austerity.batch = sizes.size;
      austerity.max = sizes.max;
      looks(fmt::format("in batches of {}, until the t-test is sure but for {}", sizes.size, austerity.eps));
      return Austerity(rows, austerity);
    }
    case Rule::confidence: {
      Confidence::Options confidence;
      confidence.delta = options.delta.value_or(confidence.delta);
      confidence.batch = sizes.size;
      if (options.bound == "hoeffding") confidence.bound = Confidence::Bound::hoeffding;
      looks(fmt::format("until the {} bound is sure but for {}", options.bound.value_or("bernstein"),
                        confidence.delta));
      return Confidence(rows, confidence);
    }
    case Rule::barker: {
      Barker::Options barker;
      barker.pilot = sizes.size;
      barker.max = sizes.max;
      looks(fmt::format("until the noise sd is below {}", barker.noise_sd));
      return Barker(rows, barker);
    }
  }
  notes.push_back(fmt::format("{} rows a step", sizes.size));
  return FixedSize(sizes.size);
}

NoiseEffect noise_effect(Rule rule) noexcept {
  switch (rule) {
    case Rule::penalty:
    case Rule::barker:
      return NoiseEffect::corrected;
    case Rule::austerity:
    case Rule::confidence:
      return NoiseEffect::tested;
    case Rule::fixed:
    case Rule::adaptive:
      break;
  }
  return NoiseEffect::widens;
}

BlockOptions block_options(const FitOptions& options, std::size_t rows) {
  BlockOptions out;
  out.subsample_size = subsample_sizes(options, "block", rows).size;
  out.blocks = std::min(out.blocks, out.subsample_size);
  if (options.blocks) {
    if (*options.blocks > static_cast<std::int64_t>(out.subsample_size))
      throw UsageError(fmt::format("--blocks must be at most --subsample-size, {} (got {})",
                                   out.subsample_size, *options.blocks));
    out.blocks = static_cast<std::size_t>(*options.blocks);
  }
  return out;
}

ExactOptions exact_options(const FitOptions& options, const ChainOptions& chain) {
  ExactOptions out;
  out.proposal.kind =
      options.proposal == "random-walk" ? WhiteProposal::Kind::random_walk : WhiteProposal::Kind::laplace;
  out.proposal.step = options.proposal_scale;
  out.thinning = options.thinning == "factorised" ? Thinning::factorised : Thinning::balanced;
  if (options.audit) {
    const double steps = static_cast<double>(std::max<std::uint64_t>(1, chain.draws * chain.thin));
    out.audit_share =
        options.audit_every ? 1 / static_cast<double>(*options.audit_every) : std::min(1.0, 50 / steps);
  }
  return out;
}

double step_nanoseconds(const Costs& c) noexcept {
  const auto p = static_cast<double>(c.dim);
  // Measured on the benchmarks: a row in a pass, a row read at random, and a step's own work.
  constexpr double random_row = 45;
  const double pass_row = 3 + 0.6 * p;
  return c.all_rows ? pass_row * c.rows : 60 + 20 * p + random_row * c.rows;
}

}  // namespace mlo::detail
