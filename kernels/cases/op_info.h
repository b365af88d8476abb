// An op without its types: what the check, the bench and the tool need in order to treat all ops
// alike. Each op.cpp registers one; the functions behind it are generated from the op's struct.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/cases/case.h"
#include "kernels/registry/registry.h"

namespace steady {

// A case that any variant of its op can run.
struct Trial {
    std::shared_ptr<void> owner;  // the typed case
    CaseMemory* memory = nullptr;
    std::vector<WeightRef>* weights = nullptr;
    std::vector<std::int64_t> phase_rows;
    std::function<void(const VariantBase&, Range)> run;
    std::function<double()> worst_error;  // of what the last run left in the outputs
    // Widens the bounds by what weights rounded by this relative error may add; empty for ops that
    // cannot say.
    std::function<void(double)> allow_weight_rounding;
    // The bytes of the op's Args: a GPU's copy of the case exchanges the pointers in them. Empty
    // where Args holds more than plain values.
    std::span<std::byte> args;
};

struct OpInfo {
    std::string_view name;
    std::function<std::vector<std::string>()> model_shapes;
    std::function<std::vector<std::string>()>
        checked_shapes;  // the same, or as Op::to_check() has them
    std::function<std::vector<std::string>(Random&)> odd_shapes;
    std::function<std::string(std::string_view shape)> shape_error;  // empty: good
    std::function<Cost(std::string_view shape)> cost;
    std::function<std::string(const VariantBase&, std::string_view shape)> why_not;
    std::function<std::unique_ptr<Trial>(std::string_view shape, std::uint64_t seed, Input)> trial;
    std::function<std::uintptr_t(const VariantBase&)> code;  // address of its run function
};

void register_op(const OpInfo& op);
const std::vector<OpInfo>& all_ops();          // by name
const OpInfo* find_op(std::string_view name);  // null when unknown

// What is wrong with the text of a shape for this op; empty when nothing is.
template <class Op>
std::string shape_error(std::string_view text) {
    const ParsedShape<typename Op::Shape> parsed = parse_shape<typename Op::Shape>(text);
    if constexpr (requires { &Op::problem; }) {
        if (parsed.error.empty()) return Op::problem(parsed.shape);
    }
    return parsed.error;
}

template <class Op>
std::unique_ptr<Trial> make_trial(std::string_view shape, std::uint64_t seed, Input input) {
    Random random(seed);
    auto owner = std::make_shared<Case<Op>>(
        Op::make_case(parse_shape<typename Op::Shape>(shape).shape, random, input));
    owner->input = input;
    owner->memory.seal();
    auto trial = std::make_unique<Trial>();
    Case<Op>* typed = owner.get();
    if constexpr (requires { &Op::set_weight; }) {
        for (std::size_t i = 0; i < typed->weights.size(); ++i) {
            typed->weights[i].set = [typed, i](const std::byte* data) {
                Op::set_weight(typed->args, i, data);
            };
        }
    }
    trial->memory = &typed->memory;
    trial->weights = &typed->weights;
    for (int phase = 0; phase < Op::phases; ++phase) {
        trial->phase_rows.push_back(Op::rows(typed->args.shape, phase));
    }
    trial->run = [typed](const VariantBase& variant, Range range) {
        static_cast<const VariantInfo<Op>&>(variant).run(typed->args, range);
    };
    trial->worst_error = [typed] { return Op::worst_error(*typed); };
    if (!typed->magnitude.empty()) {
        trial->allow_weight_rounding = [typed](double rounding) {
            for (std::size_t i = 0; i < typed->bound.size(); ++i) {
                typed->bound[i] += rounding * typed->magnitude[i];
            }
        };
    }
    if constexpr (std::is_trivially_copyable_v<typename Op::Args>) {
        trial->args = std::as_writable_bytes(std::span(&typed->args, 1));
    }
    trial->owner = std::move(owner);
    return trial;
}

template <class Op>
std::vector<std::string> texts_of(const std::vector<typename Op::Shape>& shapes) {
    std::vector<std::string> texts;
    texts.reserve(shapes.size());
    for (const auto& shape : shapes) texts.push_back(to_text(shape));
    return texts;
}

// One static object of this type per op.cpp.
template <class Op>
class RegisteredOp {
public:
    RegisteredOp() {
        using Shape = typename Op::Shape;
        register_op({
            .name = Op::name,
            .model_shapes = [] { return texts_of<Op>(Op::model_shapes()); },
            .checked_shapes =
                [] {
                    std::vector<Shape> shapes = Op::model_shapes();
                    if constexpr (requires(Shape shape) { Op::to_check(shape); }) {
                        for (Shape& shape : shapes) shape = Op::to_check(shape);
                    }
                    return texts_of<Op>(shapes);
                },
            .odd_shapes = [](Random& random) { return texts_of<Op>(Op::odd_shapes(random)); },
            .shape_error = shape_error<Op>,
            .cost = [](std::string_view text) { return Op::cost(parse_shape<Shape>(text).shape); },
            .why_not =
                [](const VariantBase& variant, std::string_view text) {
                    return steady::why_not(static_cast<const VariantInfo<Op>&>(variant),
                                           parse_shape<Shape>(text).shape);
                },
            .trial = make_trial<Op>,
            .code =
                [](const VariantBase& variant) {
                    return reinterpret_cast<std::uintptr_t>(
                        static_cast<const VariantInfo<Op>&>(variant).run);
                },
        });
    }
};

}  // namespace steady
