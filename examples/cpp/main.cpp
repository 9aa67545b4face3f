// Plays customers who send every payment several times, from many threads at once, and then counts the money.

#include "payment_service.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

using idem::client::Client;
using idem::client::Key;
using idem::client::Parameter;
using idem::client::Transaction;

namespace {

constexpr int kThreads = 8;
constexpr int kAccounts = 10;
constexpr int kSends = 3;

// What the customers have seen, all together.
struct Tally {
    std::mutex mutex;
    std::map<Answer::Kind, int> answers;
    std::map<std::string, int> reasons;
    std::map<Key, std::multiset<std::string>> paid; ///< The ids that were given out for each key.
    std::map<Key, int> paid_now;                    ///< How often a call said that it was the one that paid.
};

std::string account(std::mt19937 &random)
{
    return "A" + std::to_string(std::uniform_int_distribution<int>(1, kAccounts)(random));
}

// Every payment several times, in any order; some ask for more than there is, and some reuse a key for another amount.
std::vector<Payment> make_sends(int payments)
{
    std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<int> dice(0, 19);
    std::vector<Payment> sends;
    for (int i = 0; i < payments; ++i) {
        Payment payment{Key::make(), account(random), account(random), 1 + dice(random) * 50};
        while (payment.to == payment.from) {
            payment.to = account(random);
        }
        if (dice(random) == 0) {
            payment.cents = 1'000'000'000;
        }
        sends.insert(sends.end(), kSends, payment);
        if (dice(random) == 0) {
            payment.cents += 1;
            sends.push_back(payment);
        }
    }
    std::shuffle(sends.begin(), sends.end(), random);
    return sends;
}

void note(Tally &tally, const Payment &payment, const Answer &answer)
{
    const std::lock_guard lock(tally.mutex);
    ++tally.answers[answer.kind];
    if (!answer.reason.empty()) {
        ++tally.reasons[answer.reason];
    }
    if (!answer.transaction_id.empty()) {
        tally.paid[payment.key].insert(answer.transaction_id);
        tally.paid_now[payment.key] += answer.kind == Answer::Kind::paid ? 1 : 0;
    }
}

void send_all(PaymentService &service, const std::vector<Payment> &sends, Tally &tally)
{
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            for (std::size_t at = next++; at < sends.size(); at = next++) {
                note(tally, sends[at], service.pay(sends[at]));
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
}

// Prints a line of the check; gives whether it holds.
bool check(const std::string &what, bool holds)
{
    std::cout << (holds ? "  ok      " : "  WRONG   ") << what << "\n";
    return holds;
}

// The one number that a statement gives.
std::int64_t number(Transaction &tx, const std::string &statement, std::initializer_list<Parameter> parameters = {})
{
    return std::stoll(std::string(tx.run(statement, parameters).at(0, 0).value()));
}

// Whether the money and the answers agree.
bool verify(Client &client, const Tally &tally)
{
    bool one_id = true;
    bool paid_once = true;
    std::string ids = "{";
    for (const auto &[key, given] : tally.paid) {
        one_id = one_id && *given.begin() == *given.rbegin();
        paid_once = paid_once && tally.paid_now.at(key) == 1;
        ids += (ids.size() > 1 ? "," : "") + *given.begin();
    }
    ids += "}";
    const auto payments = static_cast<std::int64_t>(tally.paid.size());
    bool good = check("all answers for one key name one transaction", one_id);
    good = check("exactly one answer for a key says that it paid", paid_once) && good;
    client.transact([&](Transaction &tx) {
        const auto postings =
            number(tx, "SELECT count(*) FROM postings WHERE transaction_id = ANY ($1::uuid[])", {ids});
        good = check("each payment has two postings, and no more", postings == 2 * payments) && good;
        good = check("no posting is without its pair",
                     number(tx, "SELECT count(*) FROM (SELECT FROM postings GROUP BY transaction_id "
                                "HAVING count(*) <> 2 OR sum(cents) <> 0) AS odd") == 0) &&
               good;
        good =
            check("each balance is what its postings make it",
                  number(tx, "SELECT count(*) FROM accounts AS a WHERE balance <> opening + "
                             "(SELECT coalesce(sum(cents), 0) FROM postings AS p WHERE p.account = a.account)") == 0) &&
            good;
        good = check("all accounts together hold what they held",
                     number(tx, "SELECT sum(balance - opening) FROM accounts") == 0) &&
               good;
    });
    return good;
}

int play(int payments)
{
    // Where the database is, libpq's environment says: PGHOST, PGPORT, PGUSER, PGSERVICE and so on.
    Client client({.pool_size = kThreads});
    PaymentService service(client);
    const auto sends = make_sends(payments);
    Tally tally;
    send_all(service, sends, tally);

    std::cout << payments << " payments were sent " << sends.size() << " times by " << kThreads << " threads:\n"
              << "  " << tally.answers[Answer::Kind::paid] << " paid\n"
              << "  " << tally.answers[Answer::Kind::paid_before] << " paid before\n"
              << "  " << tally.answers[Answer::Kind::refused] << " refused\n"
              << "  " << tally.answers[Answer::Kind::unknown] << " unknown\n";
    for (const auto &[reason, count] : tally.reasons) {
        std::cout << "    " << count << " times: " << reason << "\n";
    }
    std::cout << "and in the database:\n";
    if (tally.paid.empty()) {
        check("payments were made", false);
        return 1;
    }
    return verify(client, tally) && tally.answers[Answer::Kind::unknown] == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
try {
    const int payments = argc > 1 ? std::stoi(argv[1]) : 200;
    if (argc > 2 || payments < 1) {
        std::cerr << "usage: payments [HOW MANY]\n";
        return 2;
    }
    return play(payments);
} catch (const idem::client::Error &error) {
    std::cerr << "payments: " << error.message() << " (" << error.sqlstate() << ")\n";
    return 1;
} catch (const std::exception &error) {
    std::cerr << "payments: " << error.what() << "\n";
    return 1;
}
