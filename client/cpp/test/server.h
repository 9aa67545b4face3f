#pragma once

#include <idem/client.hpp>

#include <libpq-fe.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace idem::client::test {

/// A connection of the test's own, to prepare and to look at what is stored. Anything that fails ends the test.
class Database {
public:
    /// Connects to the database of the tests, or to what the words say.
    explicit Database(const std::string &conninfo = "");

    /// Runs a statement, and gives the first value of its first row; an empty text for none.
    std::string value(const std::string &statement) const;
    [[nodiscard]] PGconn *native() const { return connection_.get(); }
    [[nodiscard]] int pid() const { return PQbackendPID(native()); }

private:
    std::unique_ptr<PGconn, void (*)(PGconn *)> connection_;
};

/// Waits until the condition holds; false where it does not in a long time.
bool until(const std::function<bool()> &condition);

/// A name that no other test uses.
std::string unique_name();

/// A request of a tenant of its own.
Request make_request();

/// How many rows are stored for the tenant.
int rows_of(const std::string &tenant, const std::string &conninfo = "");

/// What a hook was told.
struct Seen {
    int number;
    std::string sqlstate;
    std::string outcome;
    bool commit_known;
    Action action;
    std::string instance;
};

/// Remembers all attempts of a client.
class Attempted {
public:
    std::function<void(const Attempt &)> hook();
    [[nodiscard]] std::vector<Seen> all() const;
    /// The SQLSTATEs of the attempts, or their outcomes, with blanks between.
    [[nodiscard]] std::string words() const;

private:
    mutable std::mutex mutex_;
    std::vector<Seen> seen_;
};

/// The conninfo of the test's database, at this server of the machine or at the one of the environment.
std::string conninfo_at(int port, const std::string &more = "");

/// A place for files that is removed at the end.
class Folder {
public:
    Folder();
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    ~Folder();
    [[nodiscard]] const std::string &path() const { return path_; }

private:
    std::string path_;
};

/// What a variable of the environment holds. Throws std::runtime_error where it is not set.
std::string environment(const char *name);

/// Runs a program and waits for its end. Gives its exit status.
int run_program(const std::vector<std::string> &command);

} // namespace idem::client::test
