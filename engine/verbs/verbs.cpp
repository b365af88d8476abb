// The table of verbs.
#include "engine/verbs/verbs.h"

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "engine/run/session.h"
#include "kernels/base/error.h"

namespace steady {

const std::vector<Verb>& verbs() {
    static const std::vector<Verb> table{
        {"inspect",
         "FILE",
         "metadata, tensors, weight bytes per token",
         "",
         false,
         {},
         run_inspect},
        {"synth",
         "",
         "writes a model of made weights with a true geometry",
         "The same options give the same bytes on every machine. Other GGUF engines load it too.",
         false,
         {{"--arch", "NAME", "glm-4.7-flash, deepseek-v2-lite or youtu-llm-2b"},
          {"--out", "FILE", "where to write"},
          {"--blocks", "N", "blocks; default: as many as the model has"},
          {"--size", "SIZE", "full (default), small (100 to 300 MB) or tiny (a few MB)"},
          {"--weights", "KIND",
           "random (default), or realistic: outlier channels and routers as published"},
          {"--seed", "S", "default 1"},
          {"--threads", "T", "default: all CPUs"}},
         run_synth},
        {"weights",
         "FILE",
         "what in a model's weights speed and exactness depend on: outliers, routers, load",
         "Feeds a text and measures its activations and its routers' choices. Works on any file\n"
         "that the engine runs, so a made model can be held against a trained one.",
         true,
         {{"--text", "TEXT", "what to feed; default: a page of English"},
          {"--file", "PATH", "or a file with the text"},
          {"--scattered", "", "or token ids from the whole vocabulary, each once"},
          {"-n", "N", "tokens of the text, default 256"}},
         run_weights},
        {"plan",
         "FILE",
         "what would run and why: each op's variant and each step's alternative",
         "",
         true,
         {},
         run_plan},
        {"logits",
         "FILE",
         "the last position's logits for a list of tokens",
         "With --dump PREFIX every named intermediate of every position goes to PREFIX.bin and\n"
         "PREFIX.json.",
         true,
         {{"--tokens", "LIST", "token ids, e.g. 1,2,3"},
          {"--dump", "PREFIX", "write named intermediates"}},
         run_logits},
        {"compare",
         "FILE",
         "says where two plans part, value by value",
         "",
         true,
         {{"--a", "PLAN", "a plan, as for --kernels; moe=…, mla=… and norm=… name steps"},
          {"--b", "PLAN", "the other one"},
          {"--tokens", "LIST", "token ids"},
          {"--text", "TEXT", "or a text"},
          {"-n", "N", "tokens of the text, default 16"}},
         run_compare},
        {"generate",
         "FILE",
         "continues a prompt",
         "Greedy unless a temperature is given. --prompt ends at the model's stop tokens;\n"
         "--tokens runs for exactly n tokens.",
         true,
         {{"--prompt", "TEXT", "what to continue"},
          {"--tokens", "LIST", "the same as token ids"},
          {"-n", "N", "new tokens, default 64"},
          {"--chat", "", "the prompt is a user's turn in the model's chat format"},
          {"--system", "TEXT", "with --chat: the system's turn"},
          {"--temperature", "X", "0 (default): greedy"},
          {"--top-k", "K", "only the k most likely tokens; 0: all"},
          {"--top-p", "P", "only the most likely tokens that sum to P"},
          {"--seed", "S", "of the sampler, default 0"},
          {"--context", "N", "positions of the KV cache, default: as many as needed"}},
         run_generate},
        {"tokenize",
         "FILE",
         "text to token ids; a file with a vocabulary alone is enough",
         "",
         false,
         {{"--text", "TEXT", "what to cut"}, {"--file", "PATH", "or a file's bytes"}},
         run_tokenize},
        {"bench model",
         "FILE",
         "decode speed at steady state",
         "",
         true,
         {{"-n", "N", "timed tokens, default 32"},
          {"--prompt", "LIST",
           "also time prompts of so many tokens, such as 64,512; default: none"},
          {"--depth", "LIST",
           "positions already in the cache: 64 tokens, repeated; default 0, or a list as 0,2048"}},
         run_bench_model},
        {"bench block",
         "FILE",
         "one block's speed, and its feed-forward's alone",
         "",
         true,
         {{"-n", "N", "timed runs, default 64"},
          {"--depth", "D", "positions already in the cache: 64 tokens, repeated; default 0"}},
         run_bench_block},
        {"bench ladder",
         "FILE",
         "decode speed on a GPU with each way to compute a block and to issue a token",
         "A table of all ways with their launches and their share of the read speed.",
         true,
         {{"-n", "N", "timed tokens, default 32"},
          {"--depth", "LIST",
           "positions already in the cache: 64 tokens, repeated; default 0,4096"},
          {"--out", "PAGE", "write the table into this page, in place of the one of this GPU"}},
         run_bench_ladder},
        {"defaults",
         "",
         "the verdict behind each default, and what is open on each class of CPU and each GPU",
         "Open: the code changed since its verdict, or was never committed as it was measured.",
         false,
         {{"--class", "CLASS", "one class or GPU only, as intel-avx512_vnni; here: this CPU's"}},
         run_defaults},
        {"profile",
         "FILE",
         "time, calls and GB/s per op and variant",
         "",
         true,
         {{"-n", "N", "tokens, default 16"},
          {"--prompt", "N", "a prompt of so many tokens instead"},
          {"--depth", "D", "positions before them: 64 tokens, repeated; default 8"}},
         run_profile},
        {"session",
         "FILE",
         "the protocol that the runner drives, on standard input and output",
         "One JSON object per line; engine/README.md has an example.",
         false,
         {{"--weights-fd", "N",
           "an inherited memory file that holds the weights, or will: processes share them"}},
         run_session},
    };
    return table;
}

int run_session(const Arguments& arguments) {
    const auto weights = static_cast<int>(arguments.number("--weights-fd", 3, 1 << 20, -1));
    serve_session(arguments.positionals[0], std::cin, std::cout, weights);
    return kExitOk;
}

int report_error() {
    try {
        throw;
    } catch (const Error& error) {
        fmt::print(stderr, "steady-engine: {}\n", error.what());
        return error.exit_code;
    } catch (const std::bad_alloc&) {
        fmt::print(stderr,
                   "steady-engine: out of memory; ask for less context or a smaller model\n");
    } catch (const std::exception& error) {
        fmt::print(stderr, "steady-engine: internal error: {}\n", error.what());
    }
    return kExitInternal;
}

}  // namespace steady
