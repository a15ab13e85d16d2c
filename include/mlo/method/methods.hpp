// Copyright (c) the mlo authors. BSD-3-Clause.
// The list of methods: what each promises, costs and is made of. One row per method, in
// src/method/methods.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mlo/kernel/step.hpp"

namespace mlo {

// Methods that others refer to. All else about a method is in its row.
enum class Role : std::uint8_t { other, automatic, exact, full, difference, uniform };

enum class EstimatorKind : std::uint8_t { plain, control_variates };
enum class RowWeights : std::uint8_t {
  uniform,
  mlo,
  score,
  remainder,
  own,  // the caller's, in numbers: of a model that is not a formula's
};

struct RuleSpec;  // of a decision rule: src/method/rules.hpp
class Sampler;    // of one run: src/method/sampler.hpp

// What a method that reads some of the rows is made of. The paper's methods, those it cites and `difference`
// are all one kernel with different parts, so that each can be run with any other's weights or estimator.
struct Composition {
  const RuleSpec* rule;
  EstimatorKind estimator;
  RowWeights weights;
  bool replacement;  // whether rows are drawn with replacement
};

struct MethodSpec {
  std::string_view name;
  Promise promise;
  std::string_view summary;  // one line
  std::string_view reads;    // rows per step
  std::string_view needs;    // empty: bounds on what one row can say, which only some families have
  std::string_view trust;    // what its intervals are worth
  std::string_view source;
  Role role = Role::other;
  std::optional<Composition> parts = {};  // of methods made of parts
  void (*run)(Sampler&) = nullptr;        // makes the kernel and runs the chains; null: from its parts
  // Which options it has, besides those of its parts.
  bool blocks = false, shards = false, bandwidth = false;
  bool proposals = true;
};

[[nodiscard]] std::span<const MethodSpec> methods();
[[nodiscard]] const MethodSpec& spec_of(Role role);  // not for Role::other
// What the method needs, in words, with the families that have it.
[[nodiscard]] std::string needs_of(const MethodSpec& method);
// Null if there is no method of that name.
[[nodiscard]] const MethodSpec* find_method(std::string_view name);
// "auto, exact, ..."
[[nodiscard]] std::string method_names();

}  // namespace mlo
