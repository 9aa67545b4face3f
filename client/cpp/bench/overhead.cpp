// Measures what the client adds to libpq: threads create transactions through a Client, and by PQexecParams with the
// same statement and octets on a connection each, in turn. Prints calls per second and this program's processor time
// per call, and the medians of the ratios. On a machine with other work, only processor time means something.
//
// usage: idem_client_overhead [ROUNDS [SECONDS_PER_ROUND [THREADS]]], with a server in libpq's environment whose
// database has the extension.

#include <idem/client.hpp>

#include "calls.h"
#include "encode.h"
#include "handles.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace {

using namespace idem::client; // NOLINT(google-build-using-namespace)
using Clock = std::chrono::steady_clock;

Request new_request()
{
    return {.tenant_id = "overhead",
            .key = Key::make(),
            .amount_minor = 4480,
            .currency = "EUR",
            .details = R"({"sku": "B-7", "qty": 2})"};
}

struct Measured {
    double calls_per_second;
    double microseconds_per_call; ///< Processor time of this program.
};

double processor_time()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Lets threads call for a time.
Measured measure(const std::function<void(int thread)> &call, int threads, std::chrono::duration<double> time)
{
    std::atomic<long> calls = 0;
    const auto start = Clock::now();
    const double used = processor_time();
    std::vector<std::thread> running;
    running.reserve(static_cast<std::size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            while (Clock::now() - start < time) {
                call(thread);
                ++calls;
            }
        });
    }
    for (std::thread &one : running) {
        one.join();
    }
    const auto count = static_cast<double>(calls);
    return {count / std::chrono::duration<double>(Clock::now() - start).count(),
            (processor_time() - used) / count * 1e6};
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void print(const char *name, const Measured &measured)
{
    std::cout << name << ' ' << static_cast<long>(measured.calls_per_second) << "/s " << measured.microseconds_per_call
              << " us  ";
}

void call_libpq(PGconn *connection, const Calls &calls)
{
    const Request request = new_request();
    const CallParameters parameters(request);
    const Statement sent = parameters.statement(calls.create);
    const ResultPtr result(PQexecParams(connection, sent.text, sent.count, sent.types, sent.values, sent.lengths,
                                        sent.formats, sent.result_format));
    if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) {
        throw std::runtime_error(PQerrorMessage(connection));
    }
}

void run(int rounds, std::chrono::duration<double> time, int threads)
{
    Client client({.pool_size = static_cast<std::size_t>(threads)});
    const Calls calls("");
    std::vector<ConnectionPtr> connections;
    connections.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) {
        connections.emplace_back(PQconnectdb("client_encoding=UTF8"));
    }
    const auto by_client = [&](int) { client.create_transaction(new_request()); };
    const auto by_libpq = [&](int thread) { call_libpq(connections[static_cast<std::size_t>(thread)].get(), calls); };
    measure(by_client, threads, time / 4);
    measure(by_libpq, threads, time / 4);

    std::vector<double> rates;
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        // The order changes, so that neither has the younger table.
        Measured libpq{};
        if (round % 2 == 0) {
            libpq = measure(by_libpq, threads, time);
        }
        const Measured ours = measure(by_client, threads, time);
        if (round % 2 != 0) {
            libpq = measure(by_libpq, threads, time);
        }
        rates.push_back(ours.calls_per_second / libpq.calls_per_second);
        times.push_back(ours.microseconds_per_call - libpq.microseconds_per_call);
        print("libpq", libpq);
        print("client", ours);
        std::cout << '\n';
    }
    std::cout << "median: " << median(rates) << " of libpq's rate, " << median(times) << " us more per call\n";
}

double number_of(int argc, char **argv, int place, double otherwise)
{
    return argc > place ? std::stod(argv[place]) : otherwise;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        run(static_cast<int>(number_of(argc, argv, 1, 9)), std::chrono::duration<double>(number_of(argc, argv, 2, 2)),
            static_cast<int>(number_of(argc, argv, 3, 8)));
    } catch (const std::exception &error) {
        std::cerr << "idem_client_overhead: " << error.what() << '\n';
        return 1;
    }
}
