// Tells what the statements of a text do to a transaction.

#pragma once

#include <string_view>
#include <vector>

namespace idem::proxy {

// What a statement does: begin, commit or roll back a transaction; something that is of no use outside of the session;
// or work.
enum class Deed { begin, commit, rollback, session, work };

// Gives the deeds of the statements that a text consists of, in order. It knows comments and quotes; the semicolons in
// the body of a function that is written without quotes (BEGIN ATOMIC) it takes for ends of statements.
std::vector<Deed> deeds_of(std::string_view text);

} // namespace idem::proxy
