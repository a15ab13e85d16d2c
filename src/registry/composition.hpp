// Copyright (c) the mlo authors. BSD-3-Clause.
// What a method that reads some of the rows is made of. The paper's methods, those it cites and `difference`
// are all one kernel with different parts, so that each can be had with any other's weights or estimator.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mlo/registry/options.hpp"

namespace mlo {

enum class Rule { fixed, adaptive, penalty, austerity, confidence, barker };

struct Composition {
  Rule rule;
  std::string estimator;  // plain, control-variates
  std::string weights;    // uniform, mlo, score, remainder
  bool replacement;       // whether rows are drawn with replacement
};

// The method's own parts, except where an option says otherwise; nothing for methods that are made otherwise.
// The options need not have been checked.
[[nodiscard]] std::optional<Composition> composition(const FitOptions& options, std::string_view method);

// The kind of proposal: what the options say, or what suits the method. Where the noise of an estimate grows
// with the step, as it does without control variates, steps are to be small: a random walk.
[[nodiscard]] std::string proposal_of(const FitOptions& options, std::string_view method);

// Methods of which each chain is a set of chains on shards of the rows.
[[nodiscard]] bool is_sharded(std::string_view method);

}  // namespace mlo
