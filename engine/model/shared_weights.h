// Weights in a memory file that several engine processes map, one after the other: the first reads
// and packs them, the others find them there, so that a fresh process opens a large model in
// milliseconds. The file's owner makes it (sparse, as large as it may grow) and hands its
// descriptor down; its first pages hold an index of what lies where. Entries are published only
// when their bytes are complete: a process that dies while loading leaves nothing behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/gguf/file.h"

namespace steady {

inline constexpr std::int64_t kHugePage = 2 << 20;  // bytes

class SharedWeights {
public:
    // Error: the descriptor is no memory file that this process may write, or it holds the weights
    // of another model file or of another build of this program.
    SharedWeights(int descriptor, const GgufFile& file);
    ~SharedWeights();
    SharedWeights(const SharedWeights&) = delete;
    SharedWeights& operator=(const SharedWeights&) = delete;

    struct Entry {
        std::uint64_t key = 0;  // hash of tensor, rows and layout
        std::int64_t offset = 0, bytes = 0;
    };
    // From begin() until publish() no other process changes the file.
    void begin();
    // Where the bytes with this key lie, complete; absent when they are not there.
    std::optional<std::int64_t> find(std::uint64_t key, std::int64_t bytes) const;
    // Room for more bytes; returns its offset. Error with the arithmetic shown if the file is full.
    std::int64_t append(std::uint64_t key, std::int64_t bytes);
    // The file from its start to the end of what was appended, in huge pages where the system gives
    // them. Writable until publish().
    std::byte* map();
    // All that was appended is complete, or none of it: the file is free for others.
    void publish();
    void abandon();

private:
    struct Mapping {
        void* address;
        std::size_t bytes;
    };
    void lock(bool on) const;
    bool begun_ = false;
    int descriptor_;
    std::string name_;  // of the model, for errors
    std::int64_t capacity_ = 0, used_ = 0, complete_ = 0;
    std::vector<Entry> entries_;
    std::vector<Mapping> mappings_;
};

// FNV-1a of the text.
std::uint64_t shared_key(const std::string& text);

}  // namespace steady
