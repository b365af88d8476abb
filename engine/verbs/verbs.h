// The functions behind the verbs, one file each or by theme; the table in verbs.cpp names them.
#pragma once

#include <string>
#include <string_view>

#include "engine/verbs/arguments.h"

namespace steady {

int run_inspect(const Arguments& arguments);
int run_synth(const Arguments& arguments);
int run_weights(const Arguments& arguments);
int run_logits(const Arguments& arguments);
int run_compare(const Arguments& arguments);
int run_generate(const Arguments& arguments);
int run_tokenize(const Arguments& arguments);
int run_bench_model(const Arguments& arguments);
int run_bench_block(const Arguments& arguments);
int run_bench_ladder(const Arguments& arguments);
int run_profile(const Arguments& arguments);
int run_plan(const Arguments& arguments);
int run_session(const Arguments& arguments);
int run_defaults(const Arguments& arguments);

// The tables of `defaults`, of all classes or one.
std::string defaults_text(std::string_view only_class);

// The message of an error on standard error; its exit code.
int report_error();

}  // namespace steady
