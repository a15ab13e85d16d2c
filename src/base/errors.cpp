// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/errors.hpp"

namespace mlo {

DataError::DataError(const std::string& place, const std::string& rule)
    : Error(ExitCode::data, place + ": " + rule), place_(place) {}

namespace {

// The position of the backquote that closes the one at 0. A value may begin with a name that is in backquotes
// itself, as columns' names can be: `prior-for `a b` flat`.
std::size_t end_of_quote(std::string_view message) {
  const std::size_t close = message.find('`', 1);
  if (close == std::string_view::npos || close < 2 || message[close - 1] != ' ') return close;
  const std::size_t inner = message.find('`', close + 1);
  return inner == std::string_view::npos ? inner : message.find('`', inner + 1);
}

std::string spelled_quote(std::string_view inside, const OptionSpelling& spelling) {
  const std::size_t space = inside.find(' ');
  const std::string_view name = inside.substr(0, space);
  const std::string_view value =
      space == std::string_view::npos ? std::string_view() : inside.substr(space + 1);
  return name.empty() ? std::string() : spelling(name, value);
}

}  // namespace

std::string spelled(std::string_view message, const OptionSpelling& spelling) {
  std::string out;
  while (!message.empty()) {
    const std::size_t open = message.find('`');
    out += message.substr(0, open);
    if (open == std::string_view::npos) break;
    message.remove_prefix(open);
    const std::size_t close = message.find('`', 1);
    if (close == std::string_view::npos) return out.append(message);

    if (const std::size_t end = end_of_quote(message); end != close && end != std::string_view::npos) {
      const std::string nested = spelled_quote(message.substr(1, end - 1), spelling);
      if (!nested.empty()) {
        out += nested;
        message.remove_prefix(end + 1);
        continue;
      }
    }
    // With double quotes around it, "`order 2`" is a column's name from the user's text, not an option.
    const bool users_own = out.ends_with('"') && message.substr(close + 1).starts_with('"');
    const std::string words =
        users_own ? std::string() : spelled_quote(message.substr(1, close - 1), spelling);
    if (words.empty()) {
      // Keep the second backquote: it may open the next pair, because the user's text may contain a single
      // one.
      out += message.substr(0, close);
      message.remove_prefix(close);
    } else {
      out += words;
      message.remove_prefix(close + 1);
    }
  }
  return out;
}

}  // namespace mlo
