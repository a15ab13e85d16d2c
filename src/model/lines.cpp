// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "mlo/model/glm.hpp"

namespace mlo {
namespace {

// A column on trial: its line, as long as few rows differ from the common value.
struct Candidate {
  Line line;
  double common;
  std::size_t dense;  // where the column is in a record; npos for a column of a factor
};
constexpr std::size_t coded = std::numeric_limits<std::size_t>::max();

// The value that most rows of a dense column have, judged by some rows; nothing if it is not nearly all of
// them.
std::optional<double> common_value(const Design& design, std::size_t place) {
  constexpr std::size_t looks = 64, enough = 56;
  std::vector<double> seen;
  for (const RowId i : stratified_subset(design.rows, std::min(looks, design.rows)))
    seen.push_back(design.row(i)[place]);
  std::sort(seen.begin(), seen.end());
  const double middle = seen[seen.size() / 2];
  const auto [first, last] = std::equal_range(seen.begin(), seen.end(), middle);
  if (static_cast<std::size_t>(last - first) * looks < enough * seen.size()) return std::nullopt;
  return middle;
}

std::vector<Candidate> candidates(const Design& design, std::size_t most_rows, std::size_t few_rows) {
  std::vector<std::size_t> places(design.dim, coded);
  for (std::size_t d = 0; d < design.dense.size(); ++d) places[design.dense[d]] = d;
  std::vector<Candidate> out;
  for (std::size_t j = 0; j < design.dim; ++j) {
    const bool constant = design.intercept && j == 0;
    std::optional<double> common;
    if (!constant && places[j] != coded) common = common_value(design, places[j]);
    // Rows without the level have the same value.
    if (places[j] == coded && design.level_rows[j] <= most_rows)
      common = 0 - design.shift[j] / design.divisor[j];
    // A common value other than 0 needs an intercept that gives way.
    if (common && *common != 0 && !design.intercept) common.reset();
    if (!common && design.rows <= few_rows) common = 0;
    if (common)
      out.push_back({{.column = j, .intercept = 0 - *common, .rows = {}, .slopes = {}}, *common, places[j]});
  }
  return out;
}

// Adds a row to the candidates whose column has another value there.
class RowVisitor {
 public:
  RowVisitor(const Design& design, std::vector<Candidate>& left, std::size_t most_rows)
      : design_(design), left_(left), most_rows_(most_rows) {
    index();
  }
  void visit(std::size_t i) {
    const double* const record = design_.row(i);
    bool full = false;
    for (const std::size_t k : dense_) full = add(left_[k], i, record[left_[k].dense]) || full;
    for (const LevelBlock& block : design_.blocks) {
      if (!any_coded_) break;
      const std::size_t cell = block.cell(record);
      for (std::size_t e = block.starts[cell]; e < block.starts[cell + 1]; ++e) {
        const std::size_t j = block.columns[e];
        if (of_column_[j] == coded) continue;
        const double value = (block.values[e] * block.factor(record) - design_.shift[j]) / design_.divisor[j];
        full = add(left_[of_column_[j]], i, value) || full;
      }
    }
    // A column of a factor on trial with the common value 0 differs in rows without the level too.
    for (const std::size_t k : everywhere_) {
      std::vector<double> x(design_.dim);
      design_.working_row(i, x);
      full = add(left_[k], i, x[left_[k].line.column]) || full;
    }
    if (!full) return;
    std::erase_if(left_, [&](const Candidate& c) { return c.line.rows.size() > most_rows_; });
    index();
  }

 private:
  bool add(Candidate& c, std::size_t i, double value) const {
    if (value == c.common) return false;
    c.line.rows.push_back(static_cast<RowId>(i));
    c.line.slopes.push_back(value - c.common);
    return c.line.rows.size() > most_rows_;
  }
  void index() {
    dense_.clear();
    everywhere_.clear();
    of_column_.assign(design_.dim, coded);
    any_coded_ = false;
    for (std::size_t k = 0; k < left_.size(); ++k) {
      const Candidate& c = left_[k];
      const std::size_t j = c.line.column;
      if (c.dense != coded) {
        dense_.push_back(k);
      } else if (c.common == 0 - design_.shift[j] / design_.divisor[j]) {
        of_column_[j] = k;
        any_coded_ = true;
      } else {
        everywhere_.push_back(k);
      }
    }
  }

  const Design& design_;
  std::vector<Candidate>& left_;
  std::size_t most_rows_;
  std::vector<std::size_t> dense_, everywhere_, of_column_;  // positions in left_
  bool any_coded_ = false;
};

}  // namespace

std::vector<Line> lines_of_few_rows(const RowStore& rows, std::size_t most_rows, std::size_t few_rows) {
  const Design& design = rows.design();
  std::vector<Candidate> left = candidates(design, most_rows, few_rows);
  RowVisitor visitor(design, left, most_rows);
  for (std::size_t i = 0; i < design.rows && !left.empty(); ++i) visitor.visit(i);
  std::vector<Line> out;
  out.reserve(left.size());
  for (Candidate& c : left) out.push_back(std::move(c.line));
  return out;
}

namespace {

// The log posterior along a line, less its value at the mode.
class Along {
 public:
  Along(const Glm& model, const Eigen::VectorXd& theta, const Line& line)
      : model_(&model), theta_(theta), line_(&line), base_(at(0)) {}
  double operator()(double s) { return at(s) - base_; }

 private:
  double at(double s) {
    Eigen::VectorXd moved = theta_;
    moved[static_cast<Eigen::Index>(line_->column)] += s;
    moved[0] += s * line_->intercept;
    return model_->log_prior(params(moved)) + model_->log_likelihood(params(moved), Rows(line_->rows));
  }
  const Glm* model_;
  const Eigen::VectorXd& theta_;
  const Line* line_;
  double base_;
};

}  // namespace

std::vector<AwkwardLine> awkward_lines(const Glm& model, const Mode& mode, const AwkwardLimits& limits) {
  std::vector<AwkwardLine> all;
  for (Line& line : lines_of_few_rows(model.store(), limits.line_rows, limits.few_rows)) {
    const auto j = static_cast<Eigen::Index>(line.column);
    const double c = line.intercept;
    const double information =
        mode.information(j, j) + (c == 0 ? 0 : c * (2 * mode.information(0, j) + c * mode.information(0, 0)));
    if (!(information > 0)) continue;
    const double sd = 1 / std::sqrt(information), far = 2.5 * sd;
    Along along(model, mode.theta, line);
    const double fit = -0.5 * 2.5 * 2.5;
    const double remainder = std::max(std::abs(along(far) - fit), std::abs(along(-far) - fit));
    if (!(remainder > limits.remainder)) continue;
    AwkwardLine awkward{{std::move(line)}, {}, mode.theta[j], sd, remainder};
    awkward.y.resize(awkward.rows.size());
    model.store().responses(Rows(awkward.rows), awkward.y);
    all.push_back(std::move(awkward));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const AwkwardLine& a, const AwkwardLine& b) { return a.remainder > b.remainder; });
  std::size_t rows = 0;
  std::erase_if(all, [&](const AwkwardLine& line) {
    if (rows + line.rows.size() > limits.all_rows) return true;
    rows += line.rows.size();
    return false;
  });
  return all;
}

namespace {

// The rows of all lines, each once, ascending.
std::vector<RowId> rows_of(std::span<const AwkwardLine> lines) {
  std::vector<RowId> out;
  for (const AwkwardLine& line : lines) out.insert(out.end(), line.rows.begin(), line.rows.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

Apart keep_apart(std::span<const AwkwardLine> lines, const Eigen::MatrixXd& information) {
  Apart out;
  if (lines.empty()) return out;
  const auto dim = static_cast<std::size_t>(information.rows());
  std::vector<bool> left(dim, true);
  Eigen::MatrixXd directions =
      Eigen::MatrixXd::Zero(information.rows(), static_cast<Eigen::Index>(lines.size()));
  for (const AwkwardLine& line : lines) {
    const auto k = static_cast<Eigen::Index>(out.columns.size());
    directions(static_cast<Eigen::Index>(line.column), k) = 1;
    directions(0, k) += line.intercept;
    out.columns.push_back(line.column);
    out.intercepts.push_back(line.intercept);
    left[line.column] = false;
  }
  for (std::size_t j = 0; j < dim; ++j)
    if (left[j]) out.remaining.push_back(j);
  out.rows = rows_of(lines);
  // The information in the coordinates (others, lines), and its Schur complement.
  const Eigen::MatrixXd of_lines = information * directions;
  const Eigen::MatrixXd cross = of_lines(out.remaining, Eigen::all);
  const Eigen::MatrixXd own = directions.transpose() * of_lines;
  out.shear = own.llt().solve(cross.transpose());
  out.information = information(out.remaining, out.remaining) - cross * out.shear;
  out.information = 0.5 * (out.information + out.information.transpose()).eval();
  return out;
}

Eigen::VectorXd Apart::others(const Eigen::VectorXd& theta) const {
  if (empty()) return theta;
  Eigen::VectorXd out = theta(remaining);
  for (std::size_t k = 0; k < columns.size(); ++k)
    out[0] -= intercepts[k] * theta[static_cast<Eigen::Index>(columns[k])];
  return out;
}

void Apart::place(const double* others, Eigen::Ref<Eigen::VectorXd> theta) const {
  const Eigen::Map<const Eigen::VectorXd> to(others, static_cast<Eigen::Index>(remaining.size()));
  const Eigen::VectorXd along = shear * (to - this->others(theta));
  for (std::size_t j = 0; j < remaining.size(); ++j)
    theta[static_cast<Eigen::Index>(remaining[j])] = others[j];
  for (std::size_t k = 0; k < columns.size(); ++k) {
    double& coefficient = theta[static_cast<Eigen::Index>(columns[k])];
    coefficient -= along[static_cast<Eigen::Index>(k)];
    theta[0] += intercepts[k] * coefficient;
  }
}

}  // namespace mlo
