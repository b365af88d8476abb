// The list behind the registry. It is a function's static, because variants register before main.
#include "kernels/registry/registry.h"

#include <algorithm>
#include <map>

#include "kernels/runtime/gpu.h"

namespace steady {
namespace {

using List = std::vector<const VariantBase*>;

std::map<std::string_view, List>& all() {
    static std::map<std::string_view, List> variants;
    return variants;
}

// A name of the GPU's variants, in a build that has none of them.
bool left_out(std::string_view name) {
    const auto has_one = [](const auto& op) {
        return std::any_of(op.second.begin(), op.second.end(),
                           [](const VariantBase* variant) { return variant->on_gpu(); });
    };
    return name.rfind("cuda_", 0) == 0 && std::none_of(all().begin(), all().end(), has_one);
}

bool before(const VariantBase* a, const VariantBase* b) {
    const bool a_reference = a->name == "reference";
    const bool b_reference = b->name == "reference";
    if (a_reference != b_reference) return a_reference;
    return a->name < b->name;
}

// Number of insertions, deletions and replacements between two names.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

}  // namespace

void register_variant(const VariantBase* variant) {
    List& list = all()[variant->op];
    list.insert(std::upper_bound(list.begin(), list.end(), variant, before), variant);
}

List variants_of(std::string_view op) {
    const auto found = all().find(op);
    return found == all().end() ? List{} : found->second;
}

std::vector<std::string_view> op_names() {
    std::vector<std::string_view> names;
    for (const auto& [name, list] : all()) names.push_back(name);
    return names;
}

std::string choices(const List& variants) {
    std::string text;
    for (const VariantBase* variant : variants) {
        if (!text.empty()) text += ", ";
        text += variant->name;
    }
    return text;
}

std::string nearest(std::string_view name, const std::vector<std::string_view>& names) {
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(3, name.size() / 2);
    for (const std::string_view candidate : names) {
        const std::size_t d = distance(name, candidate);
        if (d < best_distance) {
            best_distance = d;
            best = candidate;
        }
    }
    return best;
}

std::string unknown_variant(std::string_view op, std::string_view name) {
    const List list = variants_of(op);
    std::vector<std::string_view> names;
    for (const VariantBase* variant : list) names.push_back(variant->name);
    std::string text = std::string(op) + " has no variant '" + std::string(name) + "'";
    if (left_out(name)) return text + " here: " + gpu::why_none();
    const std::string guess = nearest(name, names);
    text += guess.empty() ? "." : "; did you mean '" + guess + "'?";
    return text + " Choices: " + choices(list);
}

std::string lacking(const VariantBase& variant) {
    if (!cpu::has(variant.needs)) return "this CPU lacks " + cpu::missing(variant.needs);
    return variant.on_gpu() ? gpu::lacking(variant.compute) : "";
}

std::string unusable_variant(const VariantBase& variant, const std::string& reason) {
    List usable;
    for (const VariantBase* other : variants_of(variant.op)) {
        if (other != &variant && lacking(*other).empty()) usable.push_back(other);
    }
    return std::string(variant.op) + " variant '" + std::string(variant.name) + "': " + reason +
           ". Choices here: " + choices(usable);
}

}  // namespace steady
