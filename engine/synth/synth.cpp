// Streams a made model to disk: the file is cut into chunks, each with a seed of its own, and
// threads take them in turn. Memory stays at a few buffers, whatever the model's size.
#include "engine/synth/synth.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "engine/gguf/file_data.h"
#include "engine/synth/geometry.h"
#include "engine/synth/random_blocks.h"
#include "engine/synth/vocabulary.h"
#include "kernels/base/error.h"

namespace steady {
namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;

struct Chunk {
    const SynthTensor* tensor;
    const BlockPool* pool;
    std::uint64_t seed;
    std::uint64_t offset;  // in the file
    std::uint64_t at;      // in the tensor
    std::uint64_t bytes;
};

// Multiplies the values of the tensor's outlier channels.
void scale_channels(const Chunk& chunk, std::span<std::byte> out) {
    const std::uint64_t row = chunk.tensor->dims[0];
    const std::uint64_t first = chunk.at / sizeof(float);
    const std::uint64_t end = first + out.size() / sizeof(float);
    for (const std::uint32_t channel : chunk.tensor->channels) {
        const std::uint64_t skipped = first > channel ? (first - channel + row - 1) / row : 0;
        for (std::uint64_t i = channel + skipped * row; i < end; i += row) {
            float value = 0.0F;
            std::byte* place = out.data() + (i - first) * sizeof(float);
            std::memcpy(&value, place, sizeof(value));
            value *= chunk.tensor->factor;
            std::memcpy(place, &value, sizeof(value));
        }
    }
}

[[noreturn]] void refuse(const std::string& path, int error) {
    throw Error(fmt::format("synth: {}: {}; give --out a path on a disk with room", path,
                            std::strerror(error)));
}

void write_all(int descriptor, const std::string& path, std::uint64_t offset,
               std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t done =
            pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) refuse(path, done < 0 ? errno : EIO);
        bytes = bytes.subspan(static_cast<std::size_t>(done));
        offset += static_cast<std::uint64_t>(done);
    }
}

// FNV-1a: the same name and seed give the same number on every machine.
std::uint64_t seed_for(std::uint64_t seed, std::string_view name) {
    std::uint64_t hash = 0xCBF29CE484222325U ^ seed;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return RandomBits(hash).next();
}

std::uint64_t tensor_bytes(const SynthTensor& tensor) {
    auto bytes = static_cast<std::uint64_t>(
        row_bytes(tensor.type, static_cast<std::int64_t>(tensor.dims[0])));
    for (std::size_t i = 1; i < tensor.dims.size(); ++i) bytes *= tensor.dims[i];
    return bytes;
}

// Pools are shared among tensors of the same format and scale.
using Pools = std::map<std::tuple<Type, float, float>, BlockPool>;

std::vector<Chunk> cut(const SynthOptions& options, const std::vector<SynthTensor>& tensors,
                       const std::vector<std::uint64_t>& offsets, Pools& pools) {
    const std::size_t pool_blocks = options.size == SynthSize::tiny ? 256 : 4096;
    std::vector<Chunk> chunks;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const SynthTensor& tensor = tensors[i];
        const std::tuple key{tensor.type, tensor.mean, tensor.deviation};
        auto pool = pools.find(key);
        if (pool == pools.end()) {
            const std::string label = fmt::format("pool {} {:08x} {:08x}", type_name(tensor.type),
                                                  std::bit_cast<std::uint32_t>(tensor.mean),
                                                  std::bit_cast<std::uint32_t>(tensor.deviation));
            const std::size_t n_blocks =
                block_values(tensor.type) > 32 ? pool_blocks / 4 : pool_blocks;
            pool = pools
                       .try_emplace(key, tensor.type, tensor.mean, tensor.deviation, n_blocks,
                                    seed_for(options.seed, label))
                       .first;
        }
        const auto block = static_cast<std::uint64_t>(block_bytes(tensor.type));
        const std::uint64_t step = kChunkBytes / block * block;
        const std::uint64_t bytes = tensor_bytes(tensor);
        for (std::uint64_t at = 0; at < bytes; at += step) {
            const std::string label = fmt::format("{}@{}", tensor.name, at);
            chunks.push_back({.tensor = &tensor,
                              .pool = &pool->second,
                              .seed = seed_for(options.seed, label),
                              .offset = offsets[i] + at,
                              .at = at,
                              .bytes = std::min(step, bytes - at)});
        }
    }
    return chunks;
}

void write_chunks(const std::vector<Chunk>& chunks, int descriptor, const std::string& path,
                  int n_threads) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto work = [&] {
        try {
            std::vector<std::byte> buffer(kChunkBytes);
            for (std::size_t i = next++; i < chunks.size(); i = next++) {
                const Chunk& chunk = chunks[i];
                const std::span out =
                    std::span(buffer).first(static_cast<std::size_t>(chunk.bytes));
                RandomBits random(chunk.seed);
                chunk.pool->fill(out, random);
                scale_channels(chunk, out);
                write_all(descriptor, path, chunk.offset, out);
            }
        } catch (...) {
            const std::lock_guard lock(failure_mutex);
            failure = std::current_exception();
            next = chunks.size();
        }
    };
    {
        std::vector<std::jthread> threads;
        for (int i = 1; i < n_threads; ++i) threads.emplace_back(work);
        work();
    }
    if (failure) std::rethrow_exception(failure);
}

// Room is claimed before the first byte is made: a full disk is found out at once.
void claim(int descriptor, const std::string& path, std::uint64_t bytes) {
    const auto size = static_cast<off_t>(bytes);
    if (fallocate(descriptor, 0, 0, size) == 0) return;
    if (errno != EOPNOTSUPP && errno != ENOSYS) refuse(path, errno);
    if (ftruncate(descriptor, size) != 0) refuse(path, errno);
}

std::string describe(const SynthOptions& options, const Geometry& geometry, GgufWriter& writer) {
    const char* kind = options.weights == SynthWeights::realistic ? "realistic" : "random";
    writer.string("general.architecture", "deepseek2");
    writer.string("general.name", fmt::format("{}, {} weights", geometry.name, kind));
    writer.string("general.description", fmt::format("{} weights with the geometry of {}, seed {}",
                                                     kind, options.arch, options.seed));
    writer.u32("general.quantization_version", 2);
    writer.u32("general.file_type", 2);  // mostly q4_0
    write_geometry(geometry, writer);
    write_vocabulary(geometry, writer);
    return writer.header();
}

}  // namespace

SynthResult synthesise(const SynthOptions& options) {
    const std::vector<SynthTensor> tensors = synth_tensors(options);
    if (options.out.empty()) throw Error("synth: --out: found nothing, allowed: a path to write");
    GgufWriter writer;
    std::vector<std::uint64_t> offsets;
    offsets.reserve(tensors.size());
    for (const SynthTensor& tensor : tensors) {
        offsets.push_back(writer.tensor(tensor.name, tensor.type, tensor.dims));
    }
    const std::string header = describe(options, geometry_of(options), writer);
    for (std::uint64_t& offset : offsets) offset += header.size();
    const SynthResult result{.file_bytes = header.size() + writer.data_bytes(),
                             .n_tensors = tensors.size()};

    const std::string partial = fmt::format("{}.{}.partial", options.out, getpid());
    const int descriptor = open(partial.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) refuse(partial, errno);
    const Descriptor owner(descriptor);
    try {
        claim(descriptor, partial, result.file_bytes);
        write_all(descriptor, partial, 0, std::as_bytes(std::span(header)));
        Pools pools;
        const std::vector<Chunk> chunks = cut(options, tensors, offsets, pools);
        const int all = static_cast<int>(std::thread::hardware_concurrency());
        const int n_threads = options.n_threads > 0 ? options.n_threads : std::max(all, 1);
        write_chunks(chunks, descriptor, partial, n_threads);
        if (std::rename(partial.c_str(), options.out.c_str()) != 0) refuse(options.out, errno);
    } catch (...) {
        unlink(partial.c_str());
        throw;
    }
    return result;
}

}  // namespace steady
