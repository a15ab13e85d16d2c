// Copyright (c) the mlo authors. BSD-3-Clause.
// A part of a model's rows as a model of its own, for methods that divide the data.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

// Shard s of S has the rows s, s + S, s + 2S, ... and the prior to the power 1/S, so that the S shards'
// posteriors multiply to the whole one. Every S-th row, not consecutive ones: files are often sorted, by time
// or by the response, and consecutive parts would differ from each other.
// No row is copied: the shard holds its rows' numbers, four bytes each, and passes them on to the model. All
// calls are const and keep no state, so that shards and threads may share the model.
template <Model M>
class Shard {
 public:
  Shard(const M& model, std::size_t shard, std::size_t shards)
      : model_(&model), shards_(static_cast<double>(shards)) {
    assert(shard < shards);
    if (model.rows() > std::numeric_limits<RowId>::max())
      throw UsageError("shards: there must be at most " + std::to_string(std::numeric_limits<RowId>::max()) +
                       " rows (got " + std::to_string(model.rows()) + ")");
    ids_.reserve(model.rows() / shards + 1);
    for (std::size_t row = shard; row < model.rows(); row += shards) ids_.push_back(static_cast<RowId>(row));
  }

  [[nodiscard]] std::size_t dim() const noexcept { return model_->dim(); }
  [[nodiscard]] std::size_t rows() const noexcept { return ids_.size(); }
  [[nodiscard]] double log_prior(Params theta) const { return model_->log_prior(theta) / shards_; }

  void log_likelihoods(Params theta, Rows rows, std::span<double> terms) const {
    in_batches(rows, [&](Rows part, std::size_t first) {
      model_->log_likelihoods(theta, part, terms.subspan(first, part.size()));
    });
  }
  [[nodiscard]] double log_likelihood(Params theta, Rows rows) const requires SummableModel<M> {
    double total = 0;
    in_batches(rows, [&](Rows part, std::size_t) { total += model_->log_likelihood(theta, part); });
    return total;
  }

  void add_derivatives(Params theta, Rows rows, Derivatives& d) const requires TwiceDifferentiable<M> {
    in_batches(rows, [&](Rows part, std::size_t) { model_->add_derivatives(theta, part, d); });
  }
  void add_prior_derivatives(Params theta, Derivatives& d) const requires TwiceDifferentiable<M> {
    Derivatives prior(dim());
    model_->add_prior_derivatives(theta, prior);
    d.value += prior.value / shards_;
    d.gradient += prior.gradient / shards_;
    d.information += prior.information / shards_;
  }
  [[nodiscard]] Eigen::VectorXd start() const requires TwiceDifferentiable<M> { return model_->start(); }

  // What the search for a mode asks, if the model can tell.
  [[nodiscard]] bool proper_prior() const requires requires(const M& m) { m.proper_prior(); }
  { return model_->proper_prior(); }
  [[nodiscard]] bool recedes(Params direction, Rows rows) const requires
      requires(const M& m, Params d, Rows r) {
    m.recedes(d, r);
  }
  {
    bool all = true;
    in_batches(rows, [&](Rows part, std::size_t) { all = all && model_->recedes(direction, part); });
    return all;
  }

  [[nodiscard]] const std::vector<std::string>& names() const requires NamedModel<M> {
    return model_->names();
  }
  void to_user(Params theta, std::span<double> out) const requires NamedModel<M> {
    model_->to_user(theta, out);
  }
  void to_working(Params user, std::span<double> out) const requires NamedModel<M> {
    model_->to_working(user, out);
  }
  [[nodiscard]] Eigen::MatrixXd user_jacobian(Params theta) const requires NamedModel<M> {
    return model_->user_jacobian(theta);
  }

 private:
  // Calls body(rows of the model, position in `rows` of the first of them). A range of the shard is a part of
  // ids_, passed on as it is; a list is translated on the stack, batch by batch.
  template <class Body>
  void in_batches(Rows rows, const Body& body) const {
    if (rows.contiguous()) {
      if (rows.size() > 0) body(Rows(std::span(ids_).subspan(rows[0], rows.size())), std::size_t{0});
      return;
    }
    constexpr std::size_t batch = 256;
    std::array<RowId, batch> ids;
    for (std::size_t first = 0; first < rows.size(); first += batch) {
      const std::size_t count = std::min(batch, rows.size() - first);
      for (std::size_t k = 0; k < count; ++k) ids[k] = ids_[rows[first + k]];
      body(Rows(std::span(ids).first(count)), first);
    }
  }

  const M* model_;
  double shards_;
  std::vector<RowId> ids_;
};

// The log-likelihood of a shard's rows, on the caller's thread: methods that divide the data run their shards
// in parallel, and a pool cannot be used from one of its own tasks. Allocates nothing.
template <Model M>
[[nodiscard]] double log_likelihood(const Shard<M>& shard, ThreadPool& /*pool*/, Params theta) {
  double total = 0;
  if constexpr (SummableModel<Shard<M>>) {
    for (std::size_t first = 0; first < shard.rows(); first += rows_per_block)
      total +=
          shard.log_likelihood(theta, Rows::range(first, std::min(rows_per_block, shard.rows() - first)));
  } else {
    constexpr std::size_t batch = 256;
    std::array<double, batch> terms;
    for (std::size_t first = 0; first < shard.rows(); first += batch) {
      const std::size_t count = std::min(batch, shard.rows() - first);
      shard.log_likelihoods(theta, Rows::range(first, count), std::span(terms).first(count));
      for (std::size_t k = 0; k < count; ++k) total += terms[k];
    }
  }
  return total;
}

}  // namespace mlo
