// The functions behind the verbs, one file each or by theme; the table in verbs.cpp names them.
#pragma once

#include "engine/verbs/arguments.h"

namespace steady {

int run_inspect(const Arguments& arguments);
int run_synth(const Arguments& arguments);
int run_logits(const Arguments& arguments);
int run_compare(const Arguments& arguments);
int run_generate(const Arguments& arguments);
int run_tokenize(const Arguments& arguments);
int run_bench_model(const Arguments& arguments);
int run_bench_block(const Arguments& arguments);
int run_profile(const Arguments& arguments);
int run_session(const Arguments& arguments);

// The message of an error on standard error; its exit code.
int report_error();

}  // namespace steady
