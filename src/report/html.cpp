// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/html_parts.hpp"
#include "report/web_files.hpp"

namespace mlo {
namespace {

// A Content-Security-Policy names the scripts and styles that may be used by their SHA-256 in base64.
std::string csp_hash(std::string_view hexadecimal) {
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::vector<unsigned char> bytes;
  for (std::size_t k = 0; k + 1 < hexadecimal.size(); k += 2)
    bytes.push_back(static_cast<unsigned char>(digit(hexadecimal[k]) * 16 + digit(hexadecimal[k + 1])));
  return fmt::format("'sha256-{}'", html::base64(bytes));
}

std::string element(std::string_view name, const html::WebFile& file) {
  return file.text.empty() ? std::string() : fmt::format("<{0}>{1}</{0}>\n", name, file.text);
}

// {{name}} in the page stands for a part.
std::string filled(std::string_view page, const std::map<std::string, std::string, std::less<>>& parts) {
  std::string out;
  while (true) {
    const std::size_t from = page.find("{{");
    out += page.substr(0, from);
    if (from == std::string_view::npos) return out;
    const std::size_t to = page.find("}}", from);
    out += parts.at(std::string(page.substr(from + 2, to - from - 2)));
    page.remove_prefix(to + 2);
  }
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// A browser would break a line after the dashes of --draws.
std::string with_whole_options(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t from = text.find("--");
    out += text.substr(0, from);
    if (from == std::string_view::npos) return out;
    text.remove_prefix(from);
    const std::size_t size = std::min(text.find_first_not_of("-abcdefghijklmnopqrstuvwxyz"), text.size());
    out += fmt::format("<span class=\"option\">{}</span>", text.substr(0, size));
    text.remove_prefix(size);
  }
}

std::string verdict_html(const ReportVerdict& verdict) {
  std::string out = "<div class=\"sentences\">";
  for (const std::string& sentence : verdict.sentences)
    out += fmt::format("<p>{}</p>\n", xml_escaped(sentence));
  out += "</div>\n<div class=\"next\"><h3>What to do next</h3><ul>";
  for (const std::string& next : verdict.next)
    out += fmt::format("<li>{}</li>\n", with_whole_options(xml_escaped(capitalised(next))));
  return out + "</ul></div>\n";
}

std::string_view level_class(ReportVerdict::Level level) {
  switch (level) {
    case ReportVerdict::Level::good:
      return "good";
    case ReportVerdict::Level::care:
      return "care";
    case ReportVerdict::Level::bad:
      break;
  }
  return "bad";
}

}  // namespace

bool report_is_interactive() noexcept { return !html::uplot_script.text.empty(); }

std::string html_report(const ReportInput& input) {
  const ReportVerdict verdict = report_verdict(input);
  std::string sections, links;
  for (const html::Section& s :
       {html::coefficient_table(input), html::forest(input), html::parameters(input), html::pairs(input),
        html::predictive(input), html::holdout(input), html::factors(input), html::groups(input),
        html::cost(input), html::record(input)}) {
    if (s.body.empty()) continue;
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", s.id, s.link);
    sections += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n",
        s.id, s.title, s.body);
  }
  std::string policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src ";
  policy += csp_hash(html::report_style.sha256);
  if (report_is_interactive()) policy += ' ' + csp_hash(html::uplot_style.sha256);
  policy += "; script-src " + csp_hash(html::report_script.sha256);
  if (report_is_interactive()) policy += ' ' + csp_hash(html::uplot_script.sha256);
  // The licence asks to go with every copy.
  const std::string licence =
      report_is_interactive()
          ? fmt::format("<!-- The charts are drawn by uPlot.\n\n{}-->\n", html::uplot_licence.text)
          : std::string();
  return filled(
      html::report_page.text,
      {{"policy", policy},
       {"title", xml_escaped(capitalised(input.summary.title))},
       {"version", xml_escaped(input.version)},
       {"styles", element("style", html::uplot_style) + element("style", html::report_style)},
       {"level", std::string(level_class(verdict.level))},
       {"headline", xml_escaped(verdict.headline)},
       {"verdict", verdict_html(verdict)},
       {"links", links},
       {"sections", sections},
       {"credit", report_is_interactive() ? "Charts by uPlot (MIT licence)." : ""},
       {"data", report_is_interactive() ? html::script_data(input) : "null"},
       {"licence", licence},
       {"scripts", element("script", html::uplot_script) + element("script", html::report_script)}});
}

}  // namespace mlo
