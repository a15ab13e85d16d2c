// Copyright (c) the mlo authors. BSD-3-Clause.
#include <fmt/format.h>

#include <charconv>
#include <concepts>
#include <nlohmann/json.hpp>

#include "mlo/base/errors.hpp"
#include "mlo/registry/options.hpp"

namespace mlo {
namespace {

using Json = nlohmann::ordered_json;

// The one list of the options, walked in both directions.
template <class Options, class Visit>
void each_option(Options& o, const Visit& visit) {
  visit("data", o.data);
  visit("formula", o.formula);
  visit("family", o.family);
  visit("method", o.method);
  visit("prior", o.prior);
  visit("prior-intercept", o.prior_intercept);
  visit("prior-for", o.prior_for);
  visit("known-sigma", o.known_sigma);
  visit("known-mean", o.known_mean);
  visit("freedom", o.freedom);
  visit("size", o.size);
  visit("scale", o.scale);
  visit("missing", o.missing);
  visit("subsample-size", o.subsample_size);
  visit("max-subsample-size", o.max_subsample_size);
  visit("delta", o.delta);
  visit("weights", o.weights);
  visit("weights-at", o.weights_at);
  visit("uniform-share", o.uniform_share);
  visit("replacement", o.replacement);
  visit("estimator", o.estimator);
  visit("noise-sd", o.noise_sd);
  visit("bound", o.bound);
  visit("blocks", o.blocks);
  visit("shards", o.shards);
  visit("bandwidth", o.bandwidth);
  visit("thinning", o.thinning);
  visit("order", o.order);
  visit("audit", o.audit);
  visit("audit-every", o.audit_every);
  visit("proposal", o.proposal);
  visit("proposal-scale", o.proposal_scale);
  visit("proposal-shape", o.proposal_shape);
  visit("start", o.start);
  visit("chains", o.chains);
  visit("warmup", o.warmup);
  visit("draws", o.draws);
  visit("thin", o.thin);
  visit("seed", o.seed);
}

struct ToJson {
  Json& json;
  template <class T>
  void operator()(const char* name, const T& value) const {
    json[name] = value;
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& value) const {
    json[name] = value ? Json(*value) : Json(nullptr);
  }
};

struct FromJson {
  const Json& json;
  template <class T>
  void operator()(const char* name, T& value) const {
    value = json.at(name).get<T>();
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& value) const {
    // Absent: an option that did not exist when the run was made.
    if (const auto at = json.find(name); at != json.end() && !at->is_null()) value = at->get<T>();
  }
};

// Sets one option from text.
struct FromText {
  const std::string& wanted;
  const std::string& text;
  bool& found;

  template <class T>
  void operator()(const char* name, T& value) const {
    if (name != wanted) return;
    found = true;
    parse(value);
  }

 private:
  template <class T>
  void parse(std::optional<T>& value) const {
    parse(value.emplace());
  }
  void parse(std::string& value) const { value = text; }
  template <class T>
  requires std::integral<T> || std::floating_point<T>
  void parse(T& value) const {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size())
      throw UsageError(fmt::format("--{} must be {} number (got \"{}\")", wanted,
                                   std::integral<T> ? "a whole" : "a", text));
  }
  void parse(bool& value) const {
    if (text != "true" && text != "false")
      throw UsageError(fmt::format("--{} must be true or false (got \"{}\")", wanted, text));
    value = text == "true";
  }
  void parse(std::vector<std::pair<std::string, std::string>>& /*value*/) const {
    throw UsageError(fmt::format("--{} cannot be set for one method", wanted));
  }
};

}  // namespace

void set_option(FitOptions& options, const std::string& name, const std::string& value) {
  bool found = false;
  each_option(options, FromText{name, value, found});
  if (!found) throw UsageError(fmt::format("no option --{} of mlo fit", name));
}

std::string options_to_json(const FitOptions& options) {
  Json json;
  each_option(options, ToJson{json});
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

FitOptions options_from_json(const std::string& text, const std::string& file) {
  FitOptions options;
  try {
    const Json json = Json::parse(text);
    each_option(options, FromJson{json});
  } catch (const Json::exception& e) {
    throw DataError(file, std::string("not the options of a run of mlo: ") + e.what());
  }
  return options;
}

}  // namespace mlo
