// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/netcdf.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <set>
#include <string_view>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "report/netcdf_library.hpp"

namespace mlo {
namespace {

// A netCDF file in the making. In memory: where a disk is full, HDF5 fails to close a file of its own, and
// crashes when the program ends.
class NetcdfFile {
 public:
  explicit NetcdfFile(std::string name) : library_(netcdf::library()), name_(std::move(name)) {
    check(library_.create_mem(name_.c_str(), netcdf::format_4, 0, &id_));
    open_ = true;
  }
  ~NetcdfFile() {
    if (open_) library_.abort(id_);
    std::free(contents_.bytes);
  }
  NetcdfFile(const NetcdfFile&) = delete;
  NetcdfFile& operator=(const NetcdfFile&) = delete;

  // The file's bytes, which live as long as this object. To be called once, at the end.
  [[nodiscard]] std::string_view close() {
    open_ = false;
    check(library_.close_memio(id_, &contents_));
    return {static_cast<const char*>(contents_.bytes), contents_.size};
  }
  [[nodiscard]] int group(const char* name) {
    int group = 0;
    check(library_.def_grp(id_, name, &group));
    return group;
  }
  [[nodiscard]] int dimension(int group, const char* name, std::size_t length) {
    int dimension = 0;
    check(library_.def_dim(group, name, length, &dimension));
    return dimension;
  }
  [[nodiscard]] int variable(int group, const std::string& name, int type, std::span<const int> dimensions) {
    int variable = 0;
    check(library_.def_var(group, name.c_str(), type, static_cast<int>(dimensions.size()), dimensions.data(),
                           &variable));
    return variable;
  }
  void compress(int group, int variable) { check(library_.def_var_deflate(group, variable, 1, 1, 1)); }
  void attribute(int group, int variable, const std::string& name, const std::string& text) {
    check(library_.put_att_text(group, variable, name.c_str(), text.size(), text.data()));
  }
  void attribute(int group, int variable, const std::string& name, std::uint64_t number) {
    const unsigned long long value = number;
    check(library_.put_att_ulonglong(group, variable, name.c_str(), netcdf::uint64, 1, &value));
  }
  void put(int group, int variable, const std::vector<double>& values) {
    check(library_.put_var_double(group, variable, values.data()));
  }
  void put(int group, int variable, const std::vector<float>& values) {
    check(library_.put_var_float(group, variable, values.data()));
  }
  void put(int group, int variable, const std::vector<long long>& values) {
    check(library_.put_var_longlong(group, variable, values.data()));
  }
  void put(int group, int variable, std::vector<const char*> texts) {
    check(library_.put_var_string(group, variable, texts.data()));
  }
  // One part of a variable: from `first` on, as many as `counts` says along each dimension.
  void put_part(int group, int variable, std::span<const std::size_t> first,
                std::span<const std::size_t> counts, const std::vector<float>& values) {
    check(library_.put_vara_float(group, variable, first.data(), counts.data(), values.data()));
  }

 private:
  void check(int status) const {
    if (status == 0) return;
    throw DataError(name_,
                    fmt::format("cannot be made by the netCDF library: {}", library_.strerror(status)));
  }

  const netcdf::Library& library_;
  std::string name_;
  int id_ = 0;
  bool open_ = false;
  netcdf::Memory contents_{};
};

// SOURCE_DATE_EPOCH as ISO 8601; empty if it is not set, or not a time.
std::string created_at() {
  const char* const text = std::getenv("SOURCE_DATE_EPOCH");
  if (text == nullptr) return {};
  std::time_t seconds = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), seconds);
  if (error != std::errc() || *end != '\0' || seconds < 0 || seconds > 253'402'300'799) return {};
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}+00:00", fmt::gmtime(seconds));
}

struct NetcdfGroup {
  int id;
  std::array<int, 2> dimensions;  // chain, draw
};

NetcdfGroup make_group(NetcdfFile& out, const char* name, const NetcdfInput& input, std::size_t draws) {
  NetcdfGroup group{out.group(name), {}};
  const auto axis = [&](const char* what, std::size_t length) {
    const int dimension = out.dimension(group.id, what, length);
    const int variable = out.variable(group.id, what, netcdf::int64, std::span(&dimension, 1));
    std::vector<long long> numbers(length);
    for (std::size_t k = 0; k < length; ++k) numbers[k] = static_cast<long long>(k);
    out.put(group.id, variable, numbers);
    return dimension;
  };
  group.dimensions = {axis("chain", input.chains.size()), axis("draw", draws)};
  out.attribute(group.id, netcdf::global, "inference_library", "mlo");
  out.attribute(group.id, netcdf::global, "inference_library_version", input.version);
  if (const std::string time = created_at(); !time.empty())
    out.attribute(group.id, netcdf::global, "created_at", time);
  for (const auto& [key, text] : input.texts) out.attribute(group.id, netcdf::global, key, text);
  for (const auto& [key, number] : input.numbers) out.attribute(group.id, netcdf::global, key, number);
  return group;
}

// get(chain, draw) is a value.
template <class Number, class Get>
void put_variable(NetcdfFile& out, const NetcdfGroup& group, const std::string& name,
                  const std::string& long_name, const NetcdfInput& input, std::size_t draws, const Get& get) {
  constexpr int type = std::is_same_v<Number, double> ? netcdf::float64 : netcdf::float32;
  const int variable = out.variable(group.id, name, type, group.dimensions);
  out.compress(group.id, variable);
  if (!long_name.empty()) out.attribute(group.id, variable, "long_name", long_name);
  std::vector<Number> values;
  values.reserve(input.chains.size() * draws);
  for (const ChainDraws& chain : input.chains)
    for (std::size_t k = 0; k < draws; ++k) values.push_back(get(chain, k));
  out.put(group.id, variable, values);
}

// As far as netCDF looks: every first byte is followed by as many others as it says.
bool looks_like_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xC2 ? 0
                               : first < 0xE0 ? 2
                               : first < 0xF0 ? 3
                               : first < 0xF5 ? 4
                                              : 0;
    if (length == 0 || at + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[at + k]) & 0xC0U) != 0x80U) return false;
    at += length;
  }
  return true;
}

// What readers of netCDF take for text: UTF-8.
std::string readable(std::string text) {
  if (!looks_like_utf8(text))
    for (char& c : text)
      if (static_cast<unsigned char>(c) > 127) c = '_';
  return text;
}

// A dimension whose coordinates are texts.
int text_axis(NetcdfFile& out, int group, const std::string& name, const std::vector<std::string>& given) {
  const int dimension = out.dimension(group, name.c_str(), given.size());
  const int variable = out.variable(group, name, netcdf::string, std::span(&dimension, 1));
  std::vector<std::string> texts;
  std::transform(given.begin(), given.end(), std::back_inserter(texts), readable);
  std::vector<const char*> starts;
  for (const std::string& text : texts) starts.push_back(text.c_str());
  out.put(group, variable, std::move(starts));
  return dimension;
}

// Not compressed: random floats lose a tenth of their size, and there may be 10^8 of them.
void put_effects(NetcdfFile& out, const NetcdfGroup& group, const NetcdfEffects& effects,
                 std::span<const std::string> names, const NetcdfInput& input, std::size_t draws) {
  const std::array<int, 4> dimensions{group.dimensions[0], group.dimensions[1],
                                      text_axis(out, group.id, names[1], effects.levels),
                                      text_axis(out, group.id, names[2], effects.effects)};
  const int variable = out.variable(group.id, names[0], netcdf::float32, dimensions);
  out.attribute(group.id, variable, "long_name", readable("effects of " + effects.group));
  std::vector<float> values(draws * effects.places.size());
  const std::array<std::size_t, 4> counts{1, draws, effects.levels.size(), effects.effects.size()};
  for (std::size_t chain = 0; chain < input.chains.size(); ++chain) {
    const HugeVector<float>& from = input.chains[chain].effects;
    const std::size_t per_draw = from.size() / input.chains[chain].size();
    for (std::size_t k = 0, at = 0; k < draws; ++k)
      for (const std::size_t place : effects.places) values[at++] = from[k * per_draw + place];
    out.put_part(group.id, variable, std::array<std::size_t, 4>{chain, 0, 0, 0}, counts, values);
  }
}

// The names of the parameters' variables; then of each grouping those of its effects, of the dimension of its
// levels and of that of its effects.
std::vector<std::string> names_of(const NetcdfInput& input) {
  std::vector<std::string> names = input.names;
  for (const NetcdfEffects& g : input.groupings)
    names.insert(names.end(), {"r_" + g.group, g.group, g.group + "_effect"});
  return netcdf_names(names);
}

void put_all(NetcdfFile& out, const NetcdfInput& input) {
  assert(!input.chains.empty());
  std::size_t draws = input.chains.front().size();
  bool statistics = true;
  for (const ChainDraws& chain : input.chains) {
    draws = std::min(draws, chain.size());
    statistics = statistics && chain.statistics.size() == chain.size();
  }
  const NetcdfGroup posterior = make_group(out, "posterior", input, draws);
  const std::vector<std::string> variables = names_of(input);
  for (std::size_t j = 0; j < input.names.size(); ++j)
    put_variable<double>(
        out, posterior, variables[j], input.names[j], input, draws,
        [&](const ChainDraws& chain, std::size_t k) { return chain.draws[k * chain.dim + j]; });
  for (std::size_t g = 0; g < input.groupings.size(); ++g)
    put_effects(out, posterior, input.groupings[g],
                std::span(variables).subspan(input.names.size() + 3 * g, 3), input, draws);
  const NetcdfGroup stats = make_group(out, "sample_stats", input, draws);
  put_variable<double>(out, stats, "lp", "log posterior up to a constant", input, draws,
                       [](const ChainDraws& chain, std::size_t k) { return chain.log_posteriors[k]; });
  if (!statistics) return;
  struct Statistic {
    const char *name, *long_name;
    float DrawStatistics::*value;
  };
  for (const Statistic& s :
       {Statistic{"acceptance_rate", "share of the steps since the last draw that were accepted",
                  &DrawStatistics::acceptance},
        Statistic{"rows_read", "rows read per step since the last draw", &DrawStatistics::rows_read},
        Statistic{"noise_sd", "noise of the log acceptance ratio, standard deviation",
                  &DrawStatistics::noise_sd}})
    put_variable<float>(out, stats, s.name, s.long_name, input, draws,
                        [&](const ChainDraws& chain, std::size_t k) { return chain.statistics[k].*s.value; });
}

}  // namespace

std::vector<std::string> netcdf_names(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  std::set<std::string> taken{"chain", "draw"};
  for (const std::string& given : names) {
    std::string name = given == "(Intercept)" ? "Intercept" : given;
    const bool plain = !looks_like_utf8(name);
    for (char& c : name) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '/' || byte < ' ' || byte == 127 || (plain && byte > 127)) c = '_';
    }
    while (name.ends_with(' ')) name.pop_back();
    const auto first = static_cast<unsigned char>(name.empty() ? ' ' : name[0]);
    const bool letter = std::isalnum(first) != 0 || first == '_' || first >= 128;
    if (!letter) name.insert(0, 1, '_');
    // Not in the middle of a character of several bytes.
    constexpr std::size_t most = netcdf::longest_name - 10;
    if (name.size() > most) {
      std::size_t end = most;
      while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
      name.resize(end);
    }
    std::string unique = name;
    if (unique == "chain" || unique == "draw") unique += '_';
    for (int k = 2; !taken.insert(unique).second; ++k) unique = fmt::format("{}_{}", name, k);
    out.push_back(std::move(unique));
  }
  return out;
}

void write_netcdf(const std::string& file, const NetcdfInput& input) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  NetcdfFile out(file);
  put_all(out, input);
  write_file(file, out.close());
}

std::string netcdf_library() {
  const netcdf::Library& library = netcdf::library();
  const std::string version = library.inq_libvers();
  return fmt::format("{} ({})", version.substr(0, version.find(' ')), library.file);
}

}  // namespace mlo
