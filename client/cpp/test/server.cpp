#include "server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace idem::client::test {
namespace {

constexpr char kDatabase[] = "idem_client_test";

// The database of the tests, with the extension in it. New for each run.
class DatabaseEnvironment : public testing::Environment {
public:
    void SetUp() override
    {
        if (std::getenv("PGHOST") == nullptr) {
            std::cerr << "there is no server: run this with scripts/with-server\n";
            std::exit(1);
        }
        {
            Database first("dbname=postgres");
            first.value("DROP DATABASE IF EXISTS " + std::string(kDatabase) + " WITH (FORCE)");
            first.value("CREATE DATABASE " + std::string(kDatabase));
        }
        setenv("PGDATABASE", kDatabase, 1);
        Database().value("CREATE EXTENSION idem");
    }

    void TearDown() override
    {
        Database("dbname=postgres").value("DROP DATABASE " + std::string(kDatabase) + " WITH (FORCE)");
    }
};

const testing::Environment *const kEnvironment = testing::AddGlobalTestEnvironment(new DatabaseEnvironment);

} // namespace

Database::Database(const std::string &conninfo) : connection_(PQconnectdb(conninfo.c_str()), &PQfinish)
{
    if (PQstatus(native()) != CONNECTION_OK) {
        throw std::runtime_error(PQerrorMessage(native()));
    }
    value("SET client_min_messages = error");
    value("SET client_encoding = 'UTF8'");
}

std::string Database::value(const std::string &statement) const
{
    const std::unique_ptr<PGresult, void (*)(PGresult *)> result(PQexec(native(), statement.c_str()), &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        throw std::runtime_error(PQerrorMessage(native()));
    }
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

bool until(const std::function<bool()> &condition)
{
    for (int i = 0; i < 2000; ++i) {
        if (condition()) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

std::string unique_name()
{
    static std::atomic<int> count = 0;
    return "test" + std::to_string(++count);
}

Request make_request()
{
    return {.tenant_id = unique_name(),
            .key = Key("cart-17"),
            .amount_minor = 4480,
            .currency = "EUR",
            .details = R"({"sku": "B-7", "qty": 2})"};
}

int rows_of(const std::string &tenant, const std::string &conninfo)
{
    const std::string rows =
        Database(conninfo).value("SELECT count(*) FROM idem_transactions WHERE tenant_id = '" + tenant + "'");
    return std::stoi(rows);
}

std::function<void(const Attempt &)> Attempted::hook()
{
    return [this](const Attempt &attempt) {
        const std::lock_guard lock(mutex_);
        seen_.push_back({attempt.number, std::string(attempt.sqlstate),
                         attempt.outcome ? to_string(*attempt.outcome) : "", attempt.commit_known, attempt.action,
                         std::string(attempt.instance)});
    };
}

std::vector<Seen> Attempted::all() const
{
    const std::lock_guard lock(mutex_);
    return seen_;
}

std::string Attempted::words() const
{
    std::string words;
    for (const Seen &one : all()) {
        words += (words.empty() ? "" : " ") + (one.sqlstate.empty() ? one.outcome : one.sqlstate);
    }
    return words;
}

std::string conninfo_at(int port, const std::string &more)
{
    return "host=127.0.0.1 port=" + std::to_string(port) + " " + more;
}

Folder::Folder() : path_("/tmp/idem-client-test.XXXXXX")
{
    if (mkdtemp(path_.data()) == nullptr) {
        throw std::runtime_error("could not make a folder");
    }
}

Folder::~Folder()
{
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string environment(const char *name)
{
    const char *value = std::getenv(name);
    if (value == nullptr) {
        throw std::runtime_error(std::string(name) + " is not set");
    }
    return value;
}

int run_program(const std::vector<std::string> &command)
{
    std::vector<char *> words;
    words.reserve(command.size() + 1);
    for (const std::string &word : command) {
        words.push_back(const_cast<char *>(word.c_str()));
    }
    words.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        // What it tells of its progress is of no interest.
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execvp(words[0], words.data());
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

} // namespace idem::client::test
