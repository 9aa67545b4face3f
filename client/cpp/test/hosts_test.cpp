#include "hosts.h"

#include "error_of.h"

#include <gtest/gtest.h>

#include <string>

namespace idem::client::test {
namespace {

// What is said about a connection string that libpq cannot read.
std::string refusal_of(const std::string &conninfo)
{
    const auto error = error_of([&] { resolve_hosts(conninfo); });
    return error ? error->sqlstate() + " " + error->message() + ": " + error->detail() + error->hint() : "none";
}

TEST(ConnectionString, ThatCannotBeReadIsNotRepeated)
{
    // A password that needs quotes and has none is what such strings mostly have in them.
    for (const char *conninfo :
         {"host=localhost password=open sesame", "host=localhost password=open sesame=x dbname=shop",
          "password='sesame", "sesame=", R"(host=localhost "open"sesame" x=)",
          "postgresql://app:ses%ame@localhost/shop", "postgresql://app:sesame@[::1/shop",
          "postgresql://app:sesame@[::1]sesame/shop", "postgresql://app:sesame/open@localhost/shop",
          "postgresql://app:sesame%00@localhost/shop"}) {
        const std::string refusal = refusal_of(conninfo);
        EXPECT_TRUE(refusal.starts_with("08001 the connection string is not valid: ")) << conninfo << ": " << refusal;
        EXPECT_EQ(refusal.find("same"), std::string::npos) << refusal;
    }
}

TEST(ConnectionString, ThatCannotBeReadIsExplained)
{
    EXPECT_EQ(refusal_of("host=localhost password=open sesame"),
              "08001 the connection string is not valid: missing \"=\" after \"...\" in connection info string");
    EXPECT_EQ(refusal_of("hots=localhost"),
              "08001 the connection string is not valid: invalid connection option \"...\"");
}

TEST(ConnectionString, IsReadIntoOneSetOfParametersForEachHost)
{
    const auto hosts = resolve_hosts("host=a,b port=1,2 password='open sesame' dbname=shop");
    ASSERT_EQ(hosts.size(), 2U);
    for (const auto &[keyword, value] : hosts[1]) {
        if (keyword == "host") {
            EXPECT_EQ(value, "b");
        } else if (keyword == "port") {
            EXPECT_EQ(value, "2");
        } else if (keyword == "password") {
            EXPECT_EQ(value, "open sesame");
        }
    }
}

} // namespace
} // namespace idem::client::test
