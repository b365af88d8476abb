// A table for other programs, column by column: what export writes as CSV, Arrow or Parquet. One
// definition of the columns serves all three forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace steady {

using TextCells = std::vector<std::optional<std::string>>;
using NumberCells = std::vector<std::optional<double>>;
using IntegerCells = std::vector<std::optional<std::int64_t>>;

struct TableColumn {
    std::string name;
    std::variant<TextCells, NumberCells, IntegerCells> cells;

    std::size_t size() const;
};

struct Table {
    std::vector<TableColumn> columns;  // all of one length

    std::size_t rows() const { return columns.empty() ? 0 : columns[0].size(); }
};

// RFC 4180: a header, one row per line. A missing value is an empty field.
std::string table_csv(const Table& table);
// An Arrow IPC file (Feather version 2), without compression.
std::string table_arrow(const Table& table);
// A Parquet file: texts as dictionaries, numbers plain, without compression.
std::string table_parquet(const Table& table);

// A field, quoted where it must be; a text that a spreadsheet would take for a formula begins with
// an apostrophe.
std::string csv_field(const std::string& text);
std::string csv_number(double value);  // shortest text that reads back as the same bits

// Bytes of a number as these formats store it: little-endian, as x86-64 has it in memory.
template <typename T>
void append_bytes(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace steady
