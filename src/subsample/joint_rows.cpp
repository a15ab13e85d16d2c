// Copyright (c) the mlo authors. BSD-3-Clause.
#include "subsample/joint_rows.hpp"

namespace mlo {

using Eigen::Index;

JointRows::JointRows(SurfacedRows model, const Eigen::VectorXd& centre, const Eigen::MatrixXd& unwhiten,
                     std::span<const JointBox> boxes, double bound_factor)
    : model_(std::move(model)),
      centre_(params(centre), *model_.rows),
      whitening_(*model_.rows, unwhiten),
      boxes_(boxes.begin(), boxes.end()),
      bound_factor_(bound_factor) {}

void JointRows::load(std::size_t first, std::size_t count, JointBatch& batch, float* records) const {
  const Rows rows = Rows::range(first, count);
  model_.rows->predictors(centre_, rows, {batch.eta.data(), count});
  model_.rows->responses(rows, {batch.y.data(), count});
  model_.surface->shapes({batch.eta.data(), count}, {batch.y.data(), count}, {batch.shapes.data(), count});
  if (model_.rows->design().has_weight) {
    model_.rows->weights(rows, {batch.powers.data(), count});
    for (std::size_t k = 0; k < count; ++k) batch.shapes[k].scale *= batch.powers[k];
  }
  const auto rounded = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  for (std::size_t k = 0; k < count; ++k) {
    const SurfaceShape& shape = batch.shapes[k];
    batch.a[k] = rounded(shape.a);
    batch.b[k] = rounded(shape.b);
    batch.scale[k] = rounded(shape.scale);
    batch.direction[k] = shape.direction;
  }
  for (std::size_t k = 0; k < count; k += Whitening::batch) {
    const std::size_t size = std::min(Whitening::batch, count - k);
    const auto whiten = [&](std::span<double> white) {
      whitening_(first + k, size, std::span(batch.lengths).subspan(k), white);
    };
    if (records == nullptr)
      whiten({});
    else
      write_white_records(whitening_, first + k, size, stride(), batch.direction.data() + k,
                          records + k * stride(), whiten);
  }
  for (std::size_t k = 0; k < count; ++k)
    batch.lengths[k] = std::sqrt(batch.lengths[k]) * std::abs(batch.direction[k]);
  for (std::size_t k = 0; k < count && records != nullptr; ++k) {
    float* facts = records + k * stride() + dim();
    facts[0] = static_cast<float>(batch.b[k]);
    facts[1] = static_cast<float>(batch.a[k]);
    facts[2] = static_cast<float>(batch.scale[k]);
  }
}

void JointRows::bound(const JointTerms& terms, std::size_t count, JointBatch& batch,
                      BoxFactors* factors) const {
  // More than floats can be wrong by: those of the record, and those that its products are computed in.
  constexpr double margin = 1 + 1e-5, wider = 1 + 1e-6;
  const std::span<const Monomial> all = monomials(terms.order);
  for (std::size_t s = 0; s < (factors != nullptr ? box_count : 1); ++s) {
    const double radius = boxes_[s].radius * wider;
    for (std::size_t k = 0; k < count; ++k) batch.reach[k] = batch.lengths[k] * radius;
    model_.surface->suprema(terms.order, {{batch.a.data(), count}, {batch.b.data(), count}},
                            {batch.reach.data(), count}, boxes_[s].width * wider,
                            {batch.suprema.data(), all.size() * count});
    auto& size = batch.sizes[s];
    std::fill_n(size.begin(), count, 0.0);
    for (std::size_t m = 0; m < all.size(); ++m) {
      double* const power = batch.suprema.data() + m * count;
      for (std::size_t k = 0; k < count; ++k) power[k] *= terms.expected[m];
      for (int j = 0; j < all[m].j; ++j)
        for (std::size_t k = 0; k < count; ++k) power[k] *= batch.lengths[k];
      for (std::size_t k = 0; k < count; ++k) size[k] += power[k];
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    const double bound = batch.sizes[0][k] * batch.scale[k] * margin * bound_factor_;
    // A bound beyond all bounds stays: no row is ever drawn then.
    const bool always = bound > terms.most_bound && std::isfinite(bound);
    batch.bounds[k] = always ? 0 : std::max(static_cast<float>(bound), std::numeric_limits<float>::min());
  }
  if (factors == nullptr) return;
  for (std::size_t s = 1; s < box_count; ++s)
    for (std::size_t k = 0; k < count; ++k)
      if (batch.sizes[s][k] > (*factors)[s] * batch.sizes[0][k] && batch.scale[k] > 0 && batch.bounds[k] > 0)
        (*factors)[s] = batch.sizes[s][k] / batch.sizes[0][k];
}

void JointRows::thirds(std::size_t count, const JointBatch& batch, Thirds& f) const {
  model_.surface->thirds(
      {{batch.a.data(), count}, {batch.b.data(), count}},
      {{f.ttt.data(), count}, {f.ttu.data(), count}, {f.tuu.data(), count}, {f.uuu.data(), count}});
}

namespace {

// Its sums over some rows.
struct JointPart {
  explicit JointPart(std::size_t matrix, std::size_t tensor)
      : gradient(Eigen::VectorXd::Zero(static_cast<Index>(matrix))),
        information(Eigen::MatrixXd::Zero(gradient.size(), gradient.size())),
        cubic(tensor) {
    factors.fill(1);
  }
  BoxFactors factors;
  Eigen::VectorXd gradient;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> information;
  double third = 0;
  CubicSums cubic;
  std::vector<RowId> always;
  JointPart& operator+=(const JointPart& other) {
    for (std::size_t s = 0; s < box_count; ++s) factors[s] = std::max(factors[s], other.factors[s]);
    gradient += other.gradient;
    information += other.information;
    third += other.third;
    cubic += other.cubic;
    always.insert(always.end(), other.always.begin(), other.always.end());
    return *this;
  }
};

class DrawnJointly final : public RowMaker {
 public:
  DrawnJointly(std::shared_ptr<const JointRows> rows, const JointTerms& terms, std::vector<float> known)
      : rows_(std::move(rows)), terms_(terms), known_(std::move(known)) {}
  void bounds(std::size_t first, std::size_t count, float* out) const override {
    if (!known_.empty()) {
      std::copy_n(known_.data() + first, count, out);
      return;
    }
    JointBatch batch;
    rows_->load(first, count, batch);
    rows_->bound(terms_, count, batch);
    std::copy_n(batch.bounds.begin(), count, out);
  }
  void records(std::size_t first, std::size_t count, float* out) const override {
    JointBatch batch;
    rows_->load(first, count, batch, out);
    if (known_.empty()) rows_->bound(terms_, count, batch);
    const float* const sizes = known_.empty() ? batch.bounds.data() : known_.data() + first;
    for (std::size_t k = 0; k < count; ++k) {
      float* const facts = out + k * rows_->stride() + rows_->record_dim();
      facts[2] = sizes[k];
      if (!(sizes[k] > 0)) facts[1] = 0;  // always read: nothing is left of it for those that are drawn
    }
  }

 private:
  std::shared_ptr<const JointRows> rows_;
  JointTerms terms_;
  std::vector<float> known_;
};

}  // namespace

JointSums sum_jointly(const JointRows& maker, const JointTerms& terms, const Eigen::MatrixXd& unwhiten,
                      std::size_t n, ThreadPool& pool) {
  const bool mixed = terms.order != JointOrder::two, cubed = terms.order == JointOrder::three;
  const std::size_t p = maker.dim(), stride = maker.stride();
  if (cubed) check_cubic_variables(p + 1);
  JointSums out;
  out.blocks.resize(DrawnRows::blocks_of(n));
  // Suprema take longer than all else that a row's record needs.
  constexpr std::size_t most_kept = 1'000'000;
  if (n <= most_kept) out.bounds.resize(n);
  const JointPart zero(mixed ? p : 0, cubed ? p : 0);
  const std::size_t chunk = cubed ? CubicSums::chunk_rows(n) : mixed ? rows_per_matrix(p) : rows_per_block;
  const JointPart sums = block_sum(pool, n, chunk, zero, [&](std::size_t first, std::size_t count) {
    JointPart part = zero;
    JointBatch batch;
    JointRows::Thirds f;
    MomentSums moments(maker.store(), mixed);
    std::vector<float> records(cubed ? part_rows * stride : 0);
    std::array<float, part_rows> ttt;
    for (std::size_t at = first; at < first + count; at += part_rows) {
      const std::size_t size = std::min(part_rows, first + count - at);
      maker.load(at, size, batch, cubed ? records.data() : nullptr);
      maker.bound(terms, size, batch, &part.factors);
      for (std::size_t k = 0; k < size; ++k)
        if (!(batch.bounds[k] > 0)) part.always.push_back(static_cast<RowId>(at + k));
      if (!out.bounds.empty())
        std::copy_n(batch.bounds.begin(), size, out.bounds.begin() + static_cast<std::ptrdiff_t>(at));
      for (std::size_t k = 0; k < size; k += DrawnRows::block_rows) {
        double sum = 0;
        for (std::size_t m = k; m < std::min(k + DrawnRows::block_rows, size); ++m)
          sum += static_cast<double>(batch.bounds[m]);
        out.blocks[(at + k) / DrawnRows::block_rows] = sum;
      }
      if (!mixed) continue;
      maker.thirds(size, batch, f);
      for (std::size_t k = 0; k < size; ++k) {
        const double d = batch.direction[k], weight = batch.scale[k];
        ttt[k] = static_cast<float>(weight * f.ttt[k]);
        f.tuu[k] *= weight * d;
        f.ttu[k] *= weight * d * d;
        part.third += weight * f.uuu[k];
      }
      moments.add(Rows::range(at, size), {f.tuu.data(), size}, {f.ttu.data(), size});
      if (cubed) part.cubic.add(records.data(), stride, ttt.data(), size);
    }
    if (mixed) moments.finish({part.gradient.data(), p}, {part.information.data(), p * p});
    return part;
  });
  for (const double sum : out.blocks) out.total += sum;
  out.factors = sums.factors;
  out.always = sums.always;
  if (!mixed) return out;
  const Eigen::MatrixXd full = sums.information.selfadjointView<Eigen::Upper>();
  out.square = unwhiten.transpose() * full * unwhiten;
  out.linear = unwhiten.transpose() * sums.gradient;
  out.third = sums.third;
  if (!cubed) return out;
  out.cubic = sums.cubic.form(p + 1, [&](std::size_t j, std::size_t k, std::size_t) {
    const auto a = static_cast<Index>(j), b = static_cast<Index>(k);
    if (j == p) return out.third / 6;
    return k == p ? 0.5 * out.linear[a] : (j == k ? 0.5 : 1.0) * out.square(a, b);
  });
  return out;
}

std::shared_ptr<const RowMaker> drawn_jointly(std::shared_ptr<const JointRows> rows, const JointTerms& terms,
                                              std::vector<float> known) {
  return std::make_shared<const DrawnJointly>(std::move(rows), terms, std::move(known));
}

WhiteRows records_of(const JointRows& rows, std::span<const RowId> ids) {
  WhiteRows out(ids.size(), rows.record_dim());
  const auto batch = std::make_unique<JointBatch>();
  for (std::size_t i = 0; i < ids.size(); ++i) rows.load(ids[i], 1, *batch, out.record(i));
  return out;
}

}  // namespace mlo
