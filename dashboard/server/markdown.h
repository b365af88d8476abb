// Journal entries as HTML. CommonMark has no tables and the safe mode drops raw HTML, so tables are
// cut out and built here, cell by cell, through the same renderer; nothing of a cell's text reaches
// the page unescaped.
#pragma once

#include <string>
#include <string_view>

namespace steady::web {

// Safe HTML: raw HTML dropped, links with unsafe schemes emptied. YAML front matter becomes a
// table.
std::string render_markdown(std::string_view text);

}  // namespace steady::web
