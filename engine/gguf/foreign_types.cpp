// The type numbers of GGUF that are outside of kernels/formats/formats.h.
#include "engine/gguf/foreign_types.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "kernels/formats/formats.h"

namespace steady {
namespace {

constexpr std::pair<std::uint32_t, std::string_view> kForeign[] = {
    {4, "q4_2, withdrawn"},
    {5, "q4_3, withdrawn"},
    {9, "q8_1"},
    {10, "q2_k"},
    {11, "q3_k"},
    {15, "q8_k"},
    {16, "iq2_xxs"},
    {17, "iq2_xs"},
    {18, "iq3_xxs"},
    {19, "iq1_s"},
    {20, "iq4_nl"},
    {21, "iq3_s"},
    {22, "iq2_s"},
    {23, "iq4_xs"},
    {24, "i8"},
    {25, "i16"},
    {26, "i32"},
    {27, "i64"},
    {28, "f64"},
    {29, "iq1_m"},
    {34, "tq1_0"},
    {35, "tq2_0"},
    {39, "mxfp4"},
};

}  // namespace

std::string foreign_type_name(std::uint32_t number) {
    for (const auto& [known, name] : kForeign) {
        if (known == number) return fmt::format("{} ({})", number, name);
    }
    return std::to_string(number);
}

std::string readable_type_names() {
    std::string names;
    for (const Type type : kAllTypes) {
        if (!names.empty()) names += ", ";
        names += type_name(type);
    }
    return names;
}

}  // namespace steady
