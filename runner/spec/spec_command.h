// Commands as an experiment file gives them: which one an arm runs for a gate, with its
// placeholders filled, and which way a metric is better.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runner/spec/spec.h"

namespace steady {

// A command line as people type it, cut into words: blanks part, quotes of both kinds keep
// together, a backslash takes the next character as it is. No shell: a character that only a shell
// understands
// (* ? $ ; | > and the like) is an Error unless quoted, so that nobody believes that it works.
std::vector<std::string> split_words(const std::string& line);
// The words as one line that split_words reads back.
std::string joined_words(const std::vector<std::string>& words);

// {name} in each argument replaced; unknown names stay as they are.
std::vector<std::string> fill_placeholders(const std::vector<std::string>& arguments,
                                           const std::map<std::string, std::string>& values);

// What an arm runs for a gate: the gate's run or else the arm's, then the arm's args; the matrix
// cell is filled in, {src}, {model} and the like are not. Gate nullptr: the arm's own.
std::vector<std::string> arm_command(const Spec& spec, const std::string& arm, const Gate* gate);

// Whether more is better: as the gate says, else by the metric's name.
bool higher_is_better(const Gate& gate);

// "`sort -S 1G big.txt`", "`my-branch`": what tells an outside program's arm from the other, for
// people; "B" for the engine's. as_judged: in the words of stored sentences, which stay as they are
// ("FAST=" where the variable is unset).
std::string arm_label(const Spec& spec, const std::string& arm, bool as_judged = false);

}  // namespace steady
