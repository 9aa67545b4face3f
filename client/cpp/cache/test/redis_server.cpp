#include "redis_server.h"

#include <hiredis/hiredis.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace idem::cache::test {

namespace {

// Where the server may be. Debian's redis-tools holds it without its name: redis-check-rdb is the same program, and
// behaves as it is called.
std::string find_server()
{
    if (const char *given = std::getenv("REDIS_SERVER")) {
        return given;
    }
    const char *path = std::getenv("PATH");
    std::string folders = std::string(path == nullptr ? "" : path) + ":/usr/local/bin:/usr/bin:/usr/sbin";
    for (const char *name : {"redis-server", "valkey-server", "redis-check-rdb"}) {
        std::istringstream list(folders);
        for (std::string folder; std::getline(list, folder, ':');) {
            const auto program = std::filesystem::path(folder) / name;
            if (!folder.empty() && access(program.c_str(), X_OK) == 0) {
                return program;
            }
        }
    }
    throw std::runtime_error("found no redis-server, and no redis-check-rdb: scripts/setup client installs it");
}

std::filesystem::path make_folder()
{
    std::string name = std::filesystem::temp_directory_path() / "idem-redis.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("could not make a temporary folder");
    }
    return name;
}

} // namespace

std::uint16_t free_port()
{
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    const bool bound = bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0;
    close(descriptor);
    if (!bound) {
        throw std::runtime_error("found no free port");
    }
    return ntohs(address.sin_port);
}

RedisServer::RedisServer(std::vector<std::string> options)
    : folder_(make_folder()), port_(free_port()), options_(std::move(options))
{
    start();
}

RedisServer::~RedisServer()
{
    kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void RedisServer::launch(const std::string &program)
{
    std::vector<std::string> words = {"redis-server", "--port",    std::to_string(port_),
                                      "--bind",       "127.0.0.1", "--unixsocket",
                                      socket(),       "--dir",     folder_,
                                      "--save",       "",          "--appendonly",
                                      "no",           "--logfile", folder_ / "log"};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char *> arguments;
    for (auto &word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    process_ = fork();
    if (process_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(program.c_str(), arguments.data());
        _exit(127);
    }
}

bool RedisServer::answers() const
{
    try {
        return run({"PING"}) == "PONG";
    } catch (const std::runtime_error &) {
        return false;
    }
}

void RedisServer::start()
{
    launch(find_server());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!answers()) {
        if (std::chrono::steady_clock::now() > deadline || waitpid(process_, nullptr, WNOHANG) != 0) {
            throw std::runtime_error("redis-server did not start");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

void RedisServer::kill()
{
    if (process_ > 0) {
        ::kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
        process_ = -1;
    }
}

void RedisServer::freeze() const
{
    ::kill(process_, SIGSTOP);
    // Until it says so, it may still answer.
    waitpid(process_, nullptr, WUNTRACED);
}

void RedisServer::thaw() const
{
    ::kill(process_, SIGCONT);
}

int RedisServer::clients() const
{
    const std::string field = "connected_clients:";
    const auto info = run({"INFO", "clients"}).value();
    return std::stoi(info.substr(info.find(field) + field.size())) - 1;
}

std::optional<std::string> RedisServer::run(const std::vector<std::string> &command) const
{
    const std::unique_ptr<redisContext, void (*)(redisContext *)> context(redisConnectUnix(socket().c_str()),
                                                                          &redisFree);
    if (!context || context->err != 0) {
        throw std::runtime_error("could not connect to the test's redis");
    }
    std::vector<const char *> texts;
    std::vector<std::size_t> lengths;
    for (const auto &word : command) {
        texts.push_back(word.data());
        lengths.push_back(word.size());
    }
    const std::unique_ptr<void, void (*)(void *)> owner(
        redisCommandArgv(context.get(), static_cast<int>(texts.size()), texts.data(), lengths.data()),
        &freeReplyObject);
    const auto *reply = static_cast<const redisReply *>(owner.get());
    if (reply == nullptr || reply->type == REDIS_REPLY_ERROR || reply->type == REDIS_REPLY_ARRAY) {
        throw std::runtime_error("the test's redis refused " + command.front());
    }
    if (reply->type == REDIS_REPLY_NIL) {
        return std::nullopt;
    }
    return reply->type == REDIS_REPLY_INTEGER ? std::to_string(reply->integer) : std::string(reply->str, reply->len);
}

} // namespace idem::cache::test
