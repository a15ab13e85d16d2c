// Copyright (c) the mlo authors. BSD-3-Clause.
// softmax: f = eta_y - log(sum_k e^eta_k); a model of its own, because a row has a predictor per class.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/model/softmax.hpp"
#include "model/family_parts.hpp"

namespace mlo {
extern const FamilySpec softmax_family;
namespace {

// Once, if they are the same for every class.
std::string prior_words(const Layout& layout, const Design& design) {
  const std::vector<Block>& blocks = layout.blocks();
  const auto same = [&](const Block& block) {
    for (std::size_t j = 0; j < block.size(); ++j)
      if (block.priors[j].text() != blocks[0].priors[j].text()) return false;
    return block.intercept_at_means == blocks[0].intercept_at_means;
  };
  if (blocks.size() < 2 || !std::all_of(blocks.begin(), blocks.end(), same))
    return "priors: " + layout.prior_words();
  Block one = blocks[0];
  one.names = design.names;
  return "priors, for every class: " + Layout({std::move(one)}).prior_words();
}

std::unique_ptr<AnyModel> make(Design design, const FamilyNumbers& /*numbers*/, const PriorOptions& priors,
                               std::vector<std::string>& notes) {
  ResponseClasses classes = classes_of(design);
  Layout layout = Softmax::layout_of(design, classes.names);
  layout.set_priors(priors);
  notes.push_back(
      fmt::format("{} classes of {}, base \"{}\"", classes.names.size(), design.response, classes.names[0]));
  notes.push_back(prior_words(layout, design));
  return std::make_unique<ModelOf<Softmax>>(
      Softmax(std::move(design), std::move(classes), std::move(layout)));
}

// Three classes, 1, 2 and 3, with the predictors 0, eta and 2 eta.
std::function<double(Stream&, double)> simulated(const FamilyNumbers& /*numbers*/) {
  return [](Stream& stream, double eta) {
    const double shift = std::max(0.0, 2 * eta);
    const double a = std::exp(-shift), b = std::exp(eta - shift), c = std::exp(2 * eta - shift);
    const double u = uniform(stream) * (a + b + c);
    return u < a ? 1.0 : u < a + b ? 2.0 : 3.0;
  };
}

constexpr std::array<std::string_view, 2> aliases{"multinomial", "categorical"};

}  // namespace

const FamilySpec softmax_family{.name = "softmax",
                                .aliases = aliases,
                                .response = "classes: text, or whole numbers; base: the first, or `base`",
                                .parameters = "coefficients (log odds against the base) for each other class",
                                .classes = true,
                                .make_model = make,
                                .simulation = {.numbers = {}, .response = simulated}};

}  // namespace mlo
