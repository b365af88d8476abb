// steady-engine: inspects, makes, runs and measures models; `steady-engine --help` lists the verbs.
#include "engine/verbs/verbs.h"

int main(int argc, char** argv) {
    try {
        return steady::run_command({argv + 1, argv + argc});
    } catch (...) {
        return steady::report_error();
    }
}
