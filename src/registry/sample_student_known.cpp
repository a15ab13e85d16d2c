// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/glm.hpp"
#include "registry/sample_impl.hpp"

namespace mlo {
template SampleOutcome sample(const Glm<StudentKnownScale>&, const SampleJob&, std::vector<ChainRecord>&);
}
