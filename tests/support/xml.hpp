// Copyright (c) the mlo authors. BSD-3-Clause.
// Whether a text is well-formed XML, as far as our own writers go: no comments, no CDATA, no entities but the
// five.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mlo::test {

// What is wrong with it; empty if nothing is.
inline std::string xml_problem(std::string_view text) {
  std::vector<std::string> open;
  std::size_t roots = 0, at = 0;
  const auto entity_at = [&](std::size_t where) {
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"})
      if (text.substr(where, entity.size()) == entity) return true;
    return false;
  };
  const auto name = [&] {
    const std::size_t from = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '-' ||
                                text[at] == ':' || text[at] == '_'))
      ++at;
    return std::string(text.substr(from, at - from));
  };
  const auto blanks = [&] {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  };
  while (at < text.size()) {
    if (text[at] != '<') {
      if (text[at] == '&' && !entity_at(at)) return "a bare &";
      if (open.empty() && std::isspace(static_cast<unsigned char>(text[at])) == 0)
        return "text outside the root";
      ++at;
      continue;
    }
    ++at;
    if (at < text.size() && text[at] == '/') {
      ++at;
      const std::string closed = name();
      if (open.empty() || open.back() != closed) return "</" + closed + "> closes nothing";
      open.pop_back();
      blanks();
      if (at >= text.size() || text[at++] != '>') return "no > after </" + closed;
      continue;
    }
    const std::string tag = name();
    if (tag.empty()) return "a bare <";
    if (open.empty() && ++roots > 1) return "a second root, " + tag;
    std::set<std::string> attributes;
    while (true) {
      blanks();
      if (at >= text.size()) return "<" + tag + " does not end";
      if (text[at] == '>') {
        open.push_back(tag);
        ++at;
        break;
      }
      if (text.substr(at, 2) == "/>") {
        at += 2;
        break;
      }
      const std::string attribute = name();
      if (attribute.empty()) return "not an attribute of <" + tag;
      if (!attributes.insert(attribute).second) return attribute + " twice in <" + tag;
      if (text.substr(at, 2) != "=\"") return attribute + " of <" + tag + " has no quoted value";
      for (at += 2; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '<' || (text[at] == '&' && !entity_at(at))) return "a bare < or & in " + attribute;
      ++at;
    }
  }
  if (!open.empty()) return "<" + open.back() + "> is not closed";
  return roots == 1 ? "" : "no root";
}

}  // namespace mlo::test
