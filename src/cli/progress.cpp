// Copyright (c) the mlo authors. BSD-3-Clause.
#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/command.hpp"

namespace mlo::cli {
namespace {

constexpr auto refresh = std::chrono::milliseconds(100);
constexpr double refresh_seconds = std::chrono::duration<double>(refresh).count();

std::string bar(double share) {
  constexpr int width = 24;
  const int full = std::clamp(static_cast<int>(std::lround(share * width)), 0, width);
  return fmt::format("[{}{}]", std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(width - full), '.'));
}

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string rate(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.1f}M", per_second / 1e6);
  if (per_second >= 1e4) return fmt::format("{:.0f}k", per_second / 1e3);
  return fmt::format("{:.0f}", per_second);
}

// A terminal that knows the one control sequence used here, which erases a line. There are no colours, so
// that NO_COLOR is always obeyed.
bool can_erase_lines() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && (kind == nullptr || std::string_view(kind) != "dumb");
}

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(can_erase_lines()) {}

Progress::~Progress() {
  stop_watching();
  clear();
}

FitWatcher Progress::watcher() {
  FitWatcher w;
  w.interrupt = &interrupt_flag();
  if (quiet_) return w;
  w.phase = [this](const std::string& phase, double share) { show_phase(phase, share); };
  w.sampling = [this](const RunControl& control, const ChainOptions& options) {
    watch_sampling(control, options);
  };
  w.sampled = [this] { stop_watching(); };
  w.note = [this](const std::string& note) {
    clear();
    fmt::print(stderr, "{}\n", note);
  };
  return w;
}

void Progress::line(const std::string& text) {
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", text);
    line_open_ = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (line_open_) fmt::print(stderr, "\r\033[K");
  line_open_ = false;
}

void Progress::show_phase(const std::string& phase, double share) {
  const bool is_new = phase != last_phase_;
  if (is_new) last_tenth_ = -1;
  last_phase_ = phase;
  const int tenth = static_cast<int>(share * 10);
  const bool due =
      terminal_ ? is_new || since_shown_.seconds() >= refresh_seconds : tenth > last_tenth_ && tenth < 10;
  if (!due) return;
  last_tenth_ = tenth;
  since_shown_.restart();
  line(share > 0 || terminal_ ? fmt::format("{} {} {:3.0f} %", phase, bar(share), 100 * share) : phase);
}

void Progress::show_work(const std::string& what, double done, double all) {
  const bool is_new = what != last_phase_;
  if (is_new) {
    last_phase_ = what;
    last_tenth_ = -1;
    since_work_began_.restart();
    done_at_start_ = done;  // of a run that is continued
  }
  const double share = all > 0 ? done / all : 1;
  const int tenth = static_cast<int>(share * 10);
  const bool due = terminal_ ? is_new || since_shown_.seconds() >= refresh_seconds : tenth > last_tenth_;
  if (quiet_ || !due) return;
  last_tenth_ = tenth;
  since_shown_.restart();
  const double elapsed = since_work_began_.seconds();
  const double made = done - done_at_start_;
  line(fmt::format("{} {} {:3.0f} %  {:.0f} of {:.0f}  {} left", what, bar(share), 100 * share, done, all,
                   done >= all ? "0 s"
                   : made > 0  ? duration((all - done) * elapsed / made)
                               : "?"));
}

void Progress::watch_sampling(const RunControl& control, const ChainOptions& options) {
  double at_start = 0;  // of a run that is continued
  for (const auto& chain : control.chains)
    at_start += static_cast<double>(chain.steps.load(std::memory_order_relaxed));
  poller_.emplace(refresh, [this, &control, options, at_start, timer = Timer(), shown_tenth = 0]() mutable {
    const double all = static_cast<double>(options.steps() * options.chains);
    double done = 0, accepted = 0, warm = 0;
    for (const auto& chain : control.chains) {
      const auto steps = chain.steps.load(std::memory_order_relaxed);
      done += static_cast<double>(steps);
      warm += steps < options.warmup ? 1 : 0;
      accepted += static_cast<double>(chain.accepted.load(std::memory_order_relaxed));
    }
    const int tenth = static_cast<int>(10 * done / all);
    if (!terminal_ && tenth <= shown_tenth) return;
    shown_tenth = tenth;
    const double made = done - at_start;
    const double speed = made / timer.seconds();
    line(fmt::format("{} {} {:3.0f} %  {} {}s/s  {} left  acceptance {:.2f}",
                     warm > 0 ? "warm-up " : "sampling", bar(done / all), 100 * done / all, rate(speed),
                     options.step_name, made > 0 ? duration((all - done) / speed) : "?",
                     done > 0 ? accepted / done : 0));
  });
}

void Progress::stop_watching() {
  poller_.reset();
  clear();
}

}  // namespace mlo::cli
