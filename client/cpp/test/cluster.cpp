#include "cluster.h"

#include <arpa/inet.h>
#include <fstream>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace idem::client::test {
namespace {

void run_or_throw(const std::vector<std::string> &command)
{
    if (run_program(command) != 0) {
        throw std::runtime_error("failed: " + command.front());
    }
}

} // namespace

int free_port()
{
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    const bool bound = bind(socket, generic, size) == 0 && getsockname(socket, generic, &size) == 0;
    close(socket);
    if (!bound) {
        throw std::runtime_error("no free port");
    }
    return ntohs(address.sin_port);
}

Cluster::Cluster() : data_(folder_.path() + "/data"), port_(free_port())
{
    run_or_throw({"initdb", "-D", data_, "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C", "-A", "trust",
                  "--no-instructions"});
    set("listen_addresses", "127.0.0.1");
    set("unix_socket_directories", folder_.path());
    set("port", std::to_string(port_));
    set("fsync", "off");
    set("wal_level", "replica");
    set("shared_buffers", "16MB");
    set("wal_receiver_status_interval", "1s");
    start();
    Database(conninfo()).value("CREATE EXTENSION idem");
}

Cluster::Cluster(const Cluster &primary, const std::string &name) : data_(folder_.path() + "/data"), port_(free_port())
{
    run_or_throw({"pg_basebackup", "-D", data_, "--no-sync", "-c", "fast", "-R", "-d",
                  primary.conninfo() + " application_name=" + name});
    set("unix_socket_directories", folder_.path());
    set("port", std::to_string(port_));
    start();
}

Cluster::~Cluster()
{
    try {
        if (running_) {
            stop();
        }
    } catch (...) { // NOLINT(bugprone-empty-catch): it goes with its folder
    }
}

std::string Cluster::conninfo() const
{
    return conninfo_at(port_, "user=postgres dbname=postgres");
}

void Cluster::set(const std::string &name, const std::string &value)
{
    std::ofstream file(data_ + "/postgresql.auto.conf", std::ios::app);
    file << name << " = '" << value << "'\n";
}

void Cluster::start()
{
    run_or_throw({"pg_ctl", "start", "-D", data_, "-s", "-w", "-l", folder_.path() + "/log"});
    running_ = true;
}

void Cluster::stop()
{
    run_or_throw({"pg_ctl", "stop", "-D", data_, "-s", "-w", "-m", "immediate"});
    running_ = false;
}

void Cluster::promote()
{
    run_or_throw({"pg_ctl", "promote", "-D", data_, "-s", "-w"});
}

} // namespace idem::client::test
