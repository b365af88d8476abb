// CSV, and what all forms of a table share.
#include "runner/record/table.h"

#include <fmt/format.h>

namespace steady {
namespace {

std::string csv_cell(const TableColumn& column, std::size_t row) {
    if (const auto* texts = std::get_if<TextCells>(&column.cells)) {
        return (*texts)[row] ? csv_field(*(*texts)[row]) : "";
    }
    if (const auto* numbers = std::get_if<NumberCells>(&column.cells)) {
        return (*numbers)[row] ? csv_number(*(*numbers)[row]) : "";
    }
    const auto& integers = std::get<IntegerCells>(column.cells);
    return integers[row] ? std::to_string(*integers[row]) : "";
}

}  // namespace

std::size_t TableColumn::size() const {
    return std::visit([](const auto& values) { return values.size(); }, cells);
}

std::string csv_field(const std::string& text) {
    std::string out = text;
    if (!out.empty() && std::string_view("=+-@\t\r").find(out[0]) != std::string_view::npos) {
        out.insert(0, "'");
    }
    if (out.find_first_of(",\"\r\n") == std::string::npos) return out;
    std::string quoted = "\"";
    for (const char c : out) {
        quoted += c;
        if (c == '"') quoted += '"';
    }
    return quoted + "\"";
}

std::string csv_number(double value) { return fmt::format("{}", value); }

std::string table_csv(const Table& table) {
    std::string out;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        out += (i == 0 ? "" : ",") + csv_field(table.columns[i].name);
    }
    out += "\r\n";
    for (std::size_t row = 0; row < table.rows(); ++row) {
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            if (i > 0) out += ',';
            out += csv_cell(table.columns[i], row);
        }
        out += "\r\n";
    }
    return out;
}

}  // namespace steady
