// Copyright (c) the mlo authors. BSD-3-Clause.
// The one file that sees the JSON library, which is slow to compile.
#include "mlo/base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <nlohmann/json.hpp>

namespace mlo {
namespace {

using Library = nlohmann::ordered_json;

// Receives the library's parse events and builds values from them.
class Builder {
 public:
  Json root;

  bool null() { return add({}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& text) {
    if (!std::isfinite(value)) throw JsonError(fmt::format("a number is too large: {}", text));
    return add(value);
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Library::binary_t& /*value*/) { return false; }  // only for the library's binary formats

  bool start_object(std::size_t /*size*/) { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) { return open(Json::array()); }
  bool key(std::string& name) {
    name_ = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Library::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": the first word is the
    // library's.
    const std::string_view message = error.what();
    throw JsonError(std::string(message.substr(std::min(message.find(' ') + 1, message.size()))));
  }

 private:
  // Containers that are not complete yet, outermost first, each with its member name in the one around it.
  std::vector<JsonMember> open_;
  std::string name_;  // the name of the next member

  bool open(Json container) {
    if (open_.size() == Json::deepest)
      throw JsonError(fmt::format("more than {} arrays and objects within each other", Json::deepest));
    open_.push_back({std::move(name_), std::move(container)});
    name_.clear();
    return true;
  }
  bool close() {
    JsonMember done = std::move(open_.back());
    open_.pop_back();
    name_ = std::move(done.name);
    return add(std::move(done.value));
  }
  bool add(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (Json& container = open_.back().value; container.is_array()) {
      container.push_back(std::move(value));
    } else {
      container[name_] = std::move(value);
    }
    return true;
  }
};

}  // namespace

// A value as one of the library's, for dump().
struct Json::Converter {
  Library operator()(std::monostate) const { return nullptr; }
  template <class T>
  Library operator()(const T& value) const {
    return value;
  }
  Library operator()(const Array& elements) const {
    Library out = Library::array();
    for (const Json& element : elements) out.push_back(std::visit(*this, element.value_));
    return out;
  }
  Library operator()(const Object& members) const {
    Library out = Library::object();
    for (const JsonMember& member : members) out[member.name] = std::visit(*this, member.value.value_);
    return out;
  }
};

Json::Json() noexcept = default;
Json::Json(double value) {
  if (std::isfinite(value)) value_ = value;
}
Json::Json(std::string value) : value_(std::move(value)) {}
Json::Json(std::initializer_list<JsonMember> members) : Json(object()) {
  for (const JsonMember& member : members) (*this)[member.name] = member.value;
}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::negative(std::int64_t value) {
  Json out;
  out.value_ = value;
  return out;
}

Json Json::natural(std::uint64_t value) {
  Json out;
  out.value_ = value;
  return out;
}

Json Json::object() {
  Json out;
  out.value_.emplace<Object>();
  return out;
}

Json Json::array(std::initializer_list<Json> elements) {
  Json out;
  out.value_.emplace<Array>(elements);
  return out;
}

Json Json::parse(std::string_view text) {
  Builder builder;
  Library::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder.root);
}

std::string Json::dump(int indent) const {
  return std::visit(Converter(), value_).dump(indent, ' ', false, Library::error_handler_t::replace);
}

bool Json::is_null() const noexcept { return std::holds_alternative<std::monostate>(value_); }
bool Json::is_bool() const noexcept { return std::holds_alternative<bool>(value_); }
bool Json::is_number() const noexcept {
  return std::holds_alternative<std::int64_t>(value_) || std::holds_alternative<std::uint64_t>(value_) ||
         std::holds_alternative<double>(value_);
}
bool Json::is_string() const noexcept { return std::holds_alternative<std::string>(value_); }
bool Json::is_array() const noexcept { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const noexcept { return std::holds_alternative<Object>(value_); }

// A linear search: our objects are small, or are read member by member.
const Json* Json::find(std::string_view name) const noexcept {
  if (const auto* members = std::get_if<Object>(&value_))
    for (const JsonMember& member : *members)
      if (member.name == name) return &member.value;
  return nullptr;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_.emplace<Object>();
  assert(is_object());
  auto& members = std::get<Object>(value_);
  for (JsonMember& member : members)
    if (member.name == name) return member.value;
  return members.emplace_back(JsonMember{std::string(name), Json()}).value;
}

void Json::push_back(Json element) {
  if (is_null()) value_.emplace<Array>();
  assert(is_array());
  std::get<Array>(value_).push_back(std::move(element));
}

const Json& Json::at(std::string_view name) const {
  if (!is_object()) wrong_type({}, fmt::format("an object with \"{}\"", name));
  if (const Json* value = find(name)) return *value;
  throw JsonError(fmt::format("it has no \"{}\"", name));
}

std::span<const JsonMember> Json::members() const& {
  if (!is_object()) wrong_type({}, "an object");
  return std::get<Object>(value_);
}

std::span<const Json> Json::elements_of(std::string_view name) const {
  if (!is_array()) wrong_type(name, "an array");
  return std::get<Array>(value_);
}

double Json::number(std::string_view name) const {
  const Json& value = at(name);
  return value.is_null() ? std::nan("") : value.read<double>(name);
}

bool Json::read_as(Type<bool> /*type*/, std::string_view name) const {
  if (!is_bool()) wrong_type(name, "true or false");
  return std::get<bool>(value_);
}

double Json::read_as(Type<double> /*type*/, std::string_view name) const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  wrong_type(name, "a number");
}

std::string Json::read_as(Type<std::string> /*type*/, std::string_view name) const {
  if (!is_string()) wrong_type(name, "text");
  return std::get<std::string>(value_);
}

std::int64_t Json::signed_of(std::string_view name, std::int64_t least, std::int64_t most) const {
  if (const auto* value = std::get_if<std::int64_t>(&value_); value != nullptr && *value >= least)
    return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&value_);
      value != nullptr && std::cmp_less_equal(*value, most))
    return static_cast<std::int64_t>(*value);
  wrong_type(name, fmt::format("a whole number between {} and {}", least, most));
}

std::uint64_t Json::unsigned_of(std::string_view name, std::uint64_t most) const {
  const auto* value = std::get_if<std::uint64_t>(&value_);
  if (value == nullptr || *value > most)
    wrong_type(name, fmt::format("a whole number between 0 and {}", most));
  return *value;
}

void Json::wrong_type(std::string_view name, std::string_view wanted) const {
  constexpr std::size_t shown = 60;  // bytes: enough to find the place
  std::string found = dump();
  if (found.size() > shown) {
    found.resize(shown);
    found += "...";
  }
  throw JsonError(name.empty() ? fmt::format("{} found where {} must be", found, wanted)
                               : fmt::format("\"{}\" must be {} (got {})", name, wanted, found));
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number() && a.value_.index() != b.value_.index())
    return a.get<double>() == b.get<double>();
  return a.value_ == b.value_;
}

}  // namespace mlo
