// What makes made weights behave like trained ones where speed and exactness depend on it: a few
// channels far larger than the rest, routers that choose among all experts, and choices that lie as
// close together as measured ones. The figures, with their sources:
//
// | what | published | source |
// | --- | --- | --- |
// | activation outliers | 6 channels of the whole model, the same in every layer, up to 20 times
//   the others | Dettmers et al., LLM.int8(), arXiv 2208.07339, sections 1 and 4 |
// | expert load | most loaded expert 4 % to 72 % above the mean (MaxVio) | Wang et al., Loss-free
//   balancing, arXiv 2408.15664, table 2 |
// | same expert for the next token | 1.1 times chance in the first layer, 1.6 to 2.3 times in later
//   ones (first choice) | Jiang et al., Mixtral of experts, arXiv 2401.04088, table 5 |
// | near-ties | other arithmetic (bf16 in two engines) changes some choice of 94 % of the tokens,
// in
//   6 of 48 layers on average | Ma et al., Aligning training and inference routers,
//   arXiv 2510.11370, section 3 |
//
// `steady-engine weights FILE` measures all four.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/synth/geometry.h"

namespace steady {

// How many times the others an outlier channel is.
constexpr float kOutlierFactor = 20.0F;

// Which channels of the residual stream those are: 6 of 2048, at least one of a smaller model. The
// same seed gives the same ones on every machine.
std::vector<std::uint32_t> outlier_channels(const Geometry& geometry, std::uint64_t seed);

// Products of a vector with such channels come out larger by this factor.
float outlier_gain(const Geometry& geometry, std::size_t n_channels);

// Of the router. Logits of deviation 1 keep sigmoids off their ends. Their bias, which training
// sets to even out the load, leaves it somewhat uneven.
constexpr float kRealisticRouterGain = 1.0F;
constexpr float kRealisticRouterBias = 0.003F;

}  // namespace steady
