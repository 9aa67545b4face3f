#include "proxy/statement.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace idem::proxy {

namespace {

using Deeds = std::vector<Deed>;

} // namespace

TEST(Statement, KnowsWhatEndsATransaction)
{
    for (const std::string_view text :
         {"COMMIT", "commit", " Commit ; ", "END", "end;", "COMMIT WORK", "COMMIT AND CHAIN", "END TRANSACTION;",
          "\n\tcommit\n;\n", "COMMIT PREPARED 'x'", "/* a /* nested */ comment */ COMMIT", "-- BEGIN\nCOMMIT -- or not",
          ";;COMMIT"}) {
        EXPECT_EQ(deeds_of(text), Deeds{Deed::commit}) << text;
    }
    for (const std::string_view text : {"ROLLBACK", "abort;", "ROLLBACK WORK", "rollback transaction",
                                        "ROLLBACK AND CHAIN", "ROLLBACK PREPARED 'x'"}) {
        EXPECT_EQ(deeds_of(text), Deeds{Deed::rollback}) << text;
    }
}

TEST(Statement, KnowsWhatBeginsATransaction)
{
    for (const std::string_view text :
         {"BEGIN", "begin isolation level serializable;", "START TRANSACTION READ ONLY"}) {
        EXPECT_EQ(deeds_of(text), Deeds{Deed::begin}) << text;
    }
}

TEST(Statement, KnowsWhatStaysInTheSession)
{
    for (const std::string_view text :
         {"SET search_path = x", "SHOW all", "SAVEPOINT s", "ROLLBACK TO s", "ROLLBACK WORK TO SAVEPOINT s",
          "RELEASE s", "DEALLOCATE ALL", "DISCARD ALL", "PREPARE TRANSACTION 'x'"}) {
        EXPECT_EQ(deeds_of(text), Deeds{Deed::session}) << text;
    }
}

TEST(Statement, TakesTheRestForWork)
{
    for (const std::string_view text :
         {"SELECT commit FROM t", "INSERT INTO t VALUES ('; COMMIT;')", "COMMITTED", "ENDS",
          "WITH x AS (SELECT 1) SELECT 2", "(SELECT 1)", "SELECT 'it''s; COMMIT'", "SELECT E'\\'; COMMIT; '",
          "SELECT \"a;COMMIT\"", "SELECT $$; COMMIT; $$", "DO $body$ BEGIN; END; $ $b$ $body$",
          "SELECT $1; -- ; COMMIT", "SELECT a$b$c", "SELECT 1 /* ; COMMIT */", "commit_all()", "7", "SELECT '",
          "SELECT $x$", "SELECT /*"}) {
        EXPECT_EQ(deeds_of(text), Deeds{Deed::work}) << text;
    }
}

TEST(Statement, ReadsSeveralInOneText)
{
    EXPECT_EQ(deeds_of("BEGIN; INSERT INTO t VALUES (';'); COMMIT"), (Deeds{Deed::begin, Deed::work, Deed::commit}));
    EXPECT_EQ(deeds_of("SELECT 'a\\'; COMMIT; --'"), (Deeds{Deed::work, Deed::commit}));
    EXPECT_EQ(deeds_of("SELECT nice'\\'; COMMIT"), (Deeds{Deed::work, Deed::commit}));
    EXPECT_EQ(deeds_of("SELECT $1;COMMIT;SELECT $2"), (Deeds{Deed::work, Deed::commit, Deed::work}));
}

TEST(Statement, FindsNothingInEmptyTexts)
{
    for (const std::string_view text : {"", " ", ";", " ; ; ", "-- COMMIT", "/* COMMIT */", "/* COMMIT"}) {
        EXPECT_EQ(deeds_of(text), Deeds{}) << text;
    }
}

} // namespace idem::proxy
