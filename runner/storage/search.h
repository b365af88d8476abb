// The memory of what was tried: one search for `tried`, `journal`, `plan`, `submit` and the page.
// Words are looked for in the experiment's file, its name, verdict, host and CPU; each must begin a
// word there. Records that lie in the checkout are found whether they were imported or not.
#pragma once

#include <string>
#include <vector>

#include "runner/storage/connection.h"
#include "runner/storage/dashboard_queries.h"

namespace steady::search {

// "q4_0_experts fused!" → "'q4_0_experts':* & 'fused':*". Letters, digits and underscores only, so
// that no operator of the query language can be injected. Empty: no word.
std::string query_of(const std::string& words);

struct Unknown {
    std::string word;
    std::vector<std::string> near;  // words that exist
};

struct Findings {
    std::vector<page::ListRow> rows;  // newest first; nearest: those with most of the words first
    bool nearest = false;             // nothing has all the words
    std::vector<Unknown> unknown;     // words that nothing has; only when nearest
};

Findings find(pqxx::transaction_base& transaction, const std::string& words, int limit,
              bool decided_only = false);

// One record of the checkout, for find().
struct Shipped {
    std::string file, text;
};

// Files whose content is known already are left alone; those that went are forgotten.
void learn(pqxx::transaction_base& transaction, const std::vector<Shipped>& files);

}  // namespace steady::search
