// Parquet: the columns of each group of rows as pages, then the metadata, which Thrift's compact
// protocol encodes; written here, since Debian 12 has no library for it. Field numbers and
// enumerations are those of parquet.thrift of the Parquet format. Values repeat in long runs (an
// experiment's id stands in each of its rows), so texts are dictionaries whose indices are
// run-length encoded.
#include <algorithm>
#include <map>

#include "runner/record/table.h"

namespace steady {
namespace {

constexpr std::size_t kGroupRows = 1 << 20;
constexpr std::string_view kParquetMagic = "PAR1";

enum ThriftType : std::uint8_t { kI32 = 5, kI64 = 6, kBinary = 8, kList = 9, kStruct = 12 };
enum PhysicalType { kInt64 = 2, kDouble = 5, kByteArray = 6 };
enum Encoding { kPlain = 0, kRle = 3, kRleDictionary = 8 };
enum PageType { kDataPage = 0, kDictionaryPage = 2 };
constexpr int kOptional = 1, kUncompressed = 0, kConvertedUtf8 = 0;

void append_varint(std::string& out, std::uint64_t value) {
    while (value >= 0x80) {
        out += static_cast<char>(value | 0x80);
        value >>= 7;
    }
    out += static_cast<char>(value);
}

std::uint64_t zigzag(std::int64_t value) {
    return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

// Writes one struct of the compact protocol; fields in rising order.
class Thrift {
public:
    Thrift& number(int field, std::int64_t value, ThriftType type = kI32) {
        header(field, type);
        append_varint(bytes_, zigzag(value));
        return *this;
    }
    Thrift& text(int field, std::string_view value) {
        header(field, kBinary);
        element(value);
        return *this;
    }
    Thrift& structure(int field, const Thrift& value) {
        header(field, kStruct);
        bytes_ += value.finished();
        return *this;
    }
    Thrift& list(int field, ThriftType type, const std::vector<std::string>& elements) {
        header(field, kList);
        const std::size_t n = elements.size();
        bytes_ += static_cast<char>((n < 15 ? n << 4 : 0xf0U) | type);
        if (n >= 15) append_varint(bytes_, n);
        for (const std::string& one : elements) bytes_ += one;
        return *this;
    }
    std::string finished() const { return bytes_ + '\0'; }

    static std::string encoded(std::int64_t value) {
        std::string out;
        append_varint(out, zigzag(value));
        return out;
    }
    static std::string encoded(std::string_view value) {
        Thrift one;
        one.element(value);
        return one.bytes_;
    }

private:
    void header(int field, ThriftType type) {
        bytes_ += static_cast<char>((field - last_) << 4 | type);  // steps are below 16
        last_ = field;
    }
    void element(std::string_view value) {
        append_varint(bytes_, value.size());
        bytes_ += value;
    }

    std::string bytes_;
    int last_ = 0;
};

// Runs of equal values, as the hybrid of run length and bit packing stores them.
class Runs {
public:
    explicit Runs(int bits) : value_bytes_((bits + 7) / 8) {}
    void add(std::uint32_t value) {
        if (count_ > 0 && value != value_) flush();
        value_ = value;
        ++count_;
    }
    std::string finished() {
        if (count_ > 0) flush();
        return bytes_;
    }

private:
    void flush() {
        append_varint(bytes_, count_ << 1);
        for (int i = 0; i < value_bytes_; ++i) bytes_ += static_cast<char>(value_ >> 8 * i);
        count_ = 0;
    }

    int value_bytes_;
    std::uint32_t value_ = 0;
    std::uint64_t count_ = 0;
    std::string bytes_;
};

template <typename Cells>
std::string definition_levels(const Cells& cells, std::size_t begin, std::size_t end) {
    Runs runs(1);
    for (std::size_t i = begin; i < end; ++i) runs.add(cells[i] ? 1 : 0);
    const std::string levels = runs.finished();
    std::string out;
    append_bytes(out, static_cast<std::int32_t>(levels.size()));
    return out + levels;
}

Thrift page_header(PageType type, std::size_t bytes) {
    Thrift page;
    page.number(1, type).number(2, static_cast<std::int64_t>(bytes));
    page.number(3, static_cast<std::int64_t>(bytes));
    return page;
}

std::string data_page(const std::string& body, std::size_t values, Encoding encoding) {
    Thrift data;
    data.number(1, static_cast<std::int64_t>(values)).number(2, encoding);
    data.number(3, kRle).number(4, kRle);
    return page_header(kDataPage, body.size()).structure(5, data).finished() + body;
}

struct Chunk {
    PhysicalType type = kByteArray;
    std::string dictionary, data;  // pages
    std::vector<std::string> encodings;
};

template <typename T>
Chunk chunk_of(const std::vector<std::optional<T>>& cells, std::size_t begin, std::size_t end) {
    std::string body = definition_levels(cells, begin, end);
    for (std::size_t i = begin; i < end; ++i) {
        if (cells[i]) append_bytes(body, *cells[i]);
    }
    return {std::is_same_v<T, double> ? kDouble : kInt64,
            "",
            data_page(body, end - begin, kPlain),
            {Thrift::encoded(kPlain), Thrift::encoded(kRle)}};
}

Chunk chunk_of(const TextCells& cells, std::size_t begin, std::size_t end) {
    std::map<std::string_view, std::uint32_t> numbers;
    std::string words;
    std::vector<std::uint32_t> indices;
    for (std::size_t i = begin; i < end; ++i) {
        if (!cells[i]) continue;
        const auto [found, fresh] =
            numbers.emplace(*cells[i], static_cast<std::uint32_t>(numbers.size()));
        if (fresh) {
            append_bytes(words, static_cast<std::int32_t>(cells[i]->size()));
            words += *cells[i];
        }
        indices.push_back(found->second);
    }
    int bits = 1;
    while (numbers.size() > std::size_t{1} << bits) ++bits;
    Runs runs(bits);
    for (const std::uint32_t index : indices) runs.add(index);
    Thrift dictionary;
    dictionary.number(1, static_cast<std::int64_t>(numbers.size())).number(2, kPlain);
    const std::string body =
        definition_levels(cells, begin, end) + static_cast<char>(bits) + runs.finished();
    return {kByteArray,
            page_header(kDictionaryPage, words.size()).structure(7, dictionary).finished() + words,
            data_page(body, end - begin, kRleDictionary),
            {Thrift::encoded(kPlain), Thrift::encoded(kRle), Thrift::encoded(kRleDictionary)}};
}

std::string schema_element(const TableColumn& column) {
    Thrift element;
    const bool text = std::holds_alternative<TextCells>(column.cells);
    const PhysicalType type = text                                                ? kByteArray
                              : std::holds_alternative<NumberCells>(column.cells) ? kDouble
                                                                                  : kInt64;
    element.number(1, type).number(3, kOptional).text(4, column.name);
    if (text) element.number(6, kConvertedUtf8);
    return element.finished();
}

// Appends the pages of one column; returns its metadata.
std::string add_chunk(std::string& out, const TableColumn& column, std::size_t begin,
                      std::size_t end) {
    const Chunk chunk =
        std::visit([&](const auto& cells) { return chunk_of(cells, begin, end); }, column.cells);
    const auto at = static_cast<std::int64_t>(out.size());
    const auto bytes = static_cast<std::int64_t>(chunk.dictionary.size() + chunk.data.size());
    out += chunk.dictionary + chunk.data;
    Thrift data;
    data.number(1, chunk.type).list(2, kI32, chunk.encodings);
    data.list(3, kBinary, {Thrift::encoded(column.name)}).number(4, kUncompressed);
    data.number(5, static_cast<std::int64_t>(end - begin), kI64);
    data.number(6, bytes, kI64).number(7, bytes, kI64);
    data.number(9, at + static_cast<std::int64_t>(chunk.dictionary.size()), kI64);
    if (!chunk.dictionary.empty()) data.number(11, at, kI64);
    return Thrift().number(2, at, kI64).structure(3, data).finished();
}

}  // namespace

std::string table_parquet(const Table& table) {
    std::string out(kParquetMagic);
    std::vector<std::string> schema = {
        Thrift()
            .text(4, "table")
            .number(5, static_cast<std::int64_t>(table.columns.size()))
            .finished()};
    for (const TableColumn& column : table.columns) schema.push_back(schema_element(column));
    std::vector<std::string> groups;
    for (std::size_t begin = 0; begin < table.rows(); begin += kGroupRows) {
        const std::size_t end = std::min(table.rows(), begin + kGroupRows);
        const std::size_t from = out.size();
        std::vector<std::string> chunks;
        for (const TableColumn& column : table.columns) {
            chunks.push_back(add_chunk(out, column, begin, end));
        }
        groups.push_back(Thrift()
                             .list(1, kStruct, chunks)
                             .number(2, static_cast<std::int64_t>(out.size() - from), kI64)
                             .number(3, static_cast<std::int64_t>(end - begin), kI64)
                             .finished());
    }
    const std::string metadata = Thrift()
                                     .number(1, 1)
                                     .list(2, kStruct, schema)
                                     .number(3, static_cast<std::int64_t>(table.rows()), kI64)
                                     .list(4, kStruct, groups)
                                     .text(6, "steady")
                                     .finished();
    out += metadata;
    append_bytes(out, static_cast<std::int32_t>(metadata.size()));
    out += kParquetMagic;
    return out;
}

}  // namespace steady
