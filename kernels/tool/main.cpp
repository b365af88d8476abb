// steady-kernels: lists, checks and benches every registered kernel variant. All of it is in
// run_tool, which tests link together with deliberately broken variants.
#include <string>
#include <vector>

#include "kernels/tool/verbs.h"

int main(int argc, char** argv) {
    return steady::tool::run_tool(std::vector<std::string>(argv + 1, argv + argc));
}
