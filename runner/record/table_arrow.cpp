// Arrow IPC: a schema and batches of rows as flatbuffers, each followed by its columns' buffers.
// The numbers of fields and types are those of Schema.fbs, Message.fbs and File.fbs of the Arrow
// format, version V5.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>

#include "runner/record/table.h"

namespace steady {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using Place = flatbuffers::Offset<void>;

constexpr std::int16_t kVersion5 = 4;
enum Header : std::uint8_t { kSchemaHeader = 1, kBatchHeader = 3 };
enum ArrowType : std::uint8_t { kIntegerType = 2, kFloatingPoint = 3, kUtf8Type = 5 };
constexpr std::int16_t kDoublePrecision = 2;
constexpr std::size_t kBatchRows = 1 << 16;  // texts of a batch must stay below 2 GB
constexpr std::size_t kAlignment = 8;
constexpr std::string_view kArrowMagic = "ARROW1";

struct FieldNode {
    std::int64_t length, nulls;
};
struct Buffer {
    std::int64_t offset, length;
};
struct Block {
    std::int64_t offset;
    std::int32_t metadata_bytes, padding;
    std::int64_t body_bytes;
};

flatbuffers::voffset_t field_at(int index) {
    return flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(index));
}

template <typename T>
flatbuffers::Offset<flatbuffers::Vector<const T*>> structs(Builder& builder,
                                                           const std::vector<T>& values) {
    return builder.CreateVectorOfStructs(values.data(), values.size());
}

Place type_of_column(Builder& builder, const TableColumn& column, ArrowType& type) {
    const auto begin = [&] { return builder.StartTable(); };
    flatbuffers::uoffset_t start = 0;
    if (std::holds_alternative<TextCells>(column.cells)) {
        type = kUtf8Type;
        start = begin();
    } else if (std::holds_alternative<NumberCells>(column.cells)) {
        type = kFloatingPoint;
        start = begin();
        builder.AddElement<std::int16_t>(field_at(0), kDoublePrecision, 0);
    } else {
        type = kIntegerType;
        start = begin();
        builder.AddElement<std::int32_t>(field_at(0), 64, 0);
        builder.AddElement<std::uint8_t>(field_at(1), 1, 0);
    }
    return {builder.EndTable(start)};
}

Place add_schema(Builder& builder, const Table& table) {
    std::vector<Place> fields;
    for (const TableColumn& column : table.columns) {
        const auto name = builder.CreateString(column.name);
        ArrowType type = kUtf8Type;
        const Place kind = type_of_column(builder, column, type);
        const auto children = builder.CreateVector(std::vector<Place>{});
        const auto start = builder.StartTable();
        builder.AddOffset(field_at(0), name);
        builder.AddElement<std::uint8_t>(field_at(1), 1, 0);  // nullable
        builder.AddElement<std::uint8_t>(field_at(2), type, 0);
        builder.AddOffset(field_at(3), kind);
        builder.AddOffset(field_at(5), children);
        fields.push_back({builder.EndTable(start)});
    }
    const auto list = builder.CreateVector(fields);
    const auto start = builder.StartTable();
    builder.AddOffset(field_at(1), list);
    return {builder.EndTable(start)};
}

Place add_message(Builder& builder, Header kind, Place header, std::int64_t body_bytes) {
    const auto start = builder.StartTable();
    builder.AddElement<std::int64_t>(field_at(3), body_bytes, 0);
    builder.AddOffset(field_at(2), header);
    builder.AddElement<std::int16_t>(field_at(0), kVersion5, 0);
    builder.AddElement<std::uint8_t>(field_at(1), kind, 0);
    return {builder.EndTable(start)};
}

std::string finished(Builder& builder, Place root) {
    builder.Finish(root);
    return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

void align(std::string& bytes) {
    bytes.append((kAlignment - bytes.size() % kAlignment) % kAlignment, '\0');
}

// A flatbuffer as the format frames it: a mark, its size, itself, padded to eight bytes.
std::string framed(std::string message) {
    align(message);
    std::string out;
    append_bytes(out, std::uint32_t{0xffffffff});
    append_bytes(out, static_cast<std::int32_t>(message.size()));
    return out + message;
}

struct Body {
    std::vector<FieldNode> nodes;
    std::vector<Buffer> buffers;
    std::string bytes;

    void add_buffer(const std::string& data) {
        buffers.push_back(
            {static_cast<std::int64_t>(bytes.size()), static_cast<std::int64_t>(data.size())});
        bytes += data;
        align(bytes);
    }
};

template <typename Cells>
void add_validity(Body& body, const Cells& cells, std::size_t begin, std::size_t end) {
    std::string bits((end - begin + 7) / 8, '\0');
    std::int64_t nulls = 0;
    for (std::size_t i = begin; i < end; ++i) {
        if (!cells[i]) {
            ++nulls;
            continue;
        }
        char& byte = bits[(i - begin) / 8];
        byte = static_cast<char>(static_cast<unsigned char>(byte) | 1U << (i - begin) % 8);
    }
    body.nodes.push_back({static_cast<std::int64_t>(end - begin), nulls});
    body.add_buffer(nulls == 0 ? std::string() : bits);
}

void add_values(Body& body, const TextCells& cells, std::size_t begin, std::size_t end) {
    std::string offsets, text;
    append_bytes(offsets, std::int32_t{0});
    for (std::size_t i = begin; i < end; ++i) {
        if (cells[i]) text += *cells[i];
        append_bytes(offsets, static_cast<std::int32_t>(text.size()));
    }
    body.add_buffer(offsets);
    body.add_buffer(text);
}

template <typename T>
void add_values(Body& body, const std::vector<std::optional<T>>& cells, std::size_t begin,
                std::size_t end) {
    std::string data;
    for (std::size_t i = begin; i < end; ++i) append_bytes(data, cells[i].value_or(T{}));
    body.add_buffer(data);
}

std::string batch_message(const Body& body, std::size_t rows) {
    Builder builder;
    const auto nodes = structs(builder, body.nodes);
    const auto buffers = structs(builder, body.buffers);
    const auto start = builder.StartTable();
    builder.AddElement<std::int64_t>(field_at(0), static_cast<std::int64_t>(rows), 0);
    builder.AddOffset(field_at(1), nodes);
    builder.AddOffset(field_at(2), buffers);
    const Place batch{builder.EndTable(start)};
    return finished(builder, add_message(builder, kBatchHeader, batch,
                                         static_cast<std::int64_t>(body.bytes.size())));
}

std::string footer(const Table& table, const std::vector<Block>& blocks) {
    Builder builder;
    const Place schema = add_schema(builder, table);
    const auto none = structs(builder, std::vector<Block>{});
    const auto batches = structs(builder, blocks);
    const auto start = builder.StartTable();
    builder.AddOffset(field_at(1), schema);
    builder.AddOffset(field_at(2), none);
    builder.AddOffset(field_at(3), batches);
    builder.AddElement<std::int16_t>(field_at(0), kVersion5, 0);
    return finished(builder, {builder.EndTable(start)});
}

}  // namespace

std::string table_arrow(const Table& table) {
    std::string out(kArrowMagic);
    align(out);
    {
        Builder builder;
        const Place schema = add_schema(builder, table);
        out += framed(finished(builder, add_message(builder, kSchemaHeader, schema, 0)));
    }
    std::vector<Block> blocks;
    for (std::size_t begin = 0; begin < table.rows(); begin += kBatchRows) {
        const std::size_t end = std::min(table.rows(), begin + kBatchRows);
        Body body;
        for (const TableColumn& column : table.columns) {
            std::visit(
                [&](const auto& cells) {
                    add_validity(body, cells, begin, end);
                    add_values(body, cells, begin, end);
                },
                column.cells);
        }
        const std::string message = framed(batch_message(body, end - begin));
        blocks.push_back({static_cast<std::int64_t>(out.size()),
                          static_cast<std::int32_t>(message.size()), 0,
                          static_cast<std::int64_t>(body.bytes.size())});
        out += message + body.bytes;
    }
    append_bytes(out, std::uint32_t{0xffffffff});  // the end of the stream
    append_bytes(out, std::int32_t{0});
    const std::string end = footer(table, blocks);
    out += end;
    append_bytes(out, static_cast<std::int32_t>(end.size()));
    out += kArrowMagic;
    return out;
}

}  // namespace steady
