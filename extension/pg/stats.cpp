#include "stats.h"

#include "boundary.h"

#include <algorithm>
#include <cstring>

#include "pg.h"

namespace idem::pg {
namespace {

constexpr size_t kEntries = 1024; // a power of two
constexpr char kName[] = "idem_stats";

// The key of an entry. Written once, by who claimed the entry.
struct Key {
    Oid database;
    int encoding;
    size_t length;
    char operation[kMaxOperation];

    bool is(std::string_view other) const
    {
        return database == MyDatabaseId && std::string_view(operation, std::min(length, kMaxOperation)) == other;
    }
};

// An entry is claimed by setting its identity, a hash of the key, and can be used from then on: a session that has the
// same identity means the same key, without having to wait until the key is written. Readers do wait for that.
struct Entry {
    pg_atomic_uint64 identity; // 0: free
    pg_atomic_uint32 published;
    Key key;
    pg_atomic_uint64 counts[kCounters];
};

struct EntryTable {
    TimestampTz since;
    Entry entries[kEntries];
    Entry other; // counts what finds all entries taken
};

// A reset clears the table that is not in use and makes it the one that is. A session that is just counting adds to
// the former one; so a count is lost at most as if the call had ended before the reset. The number of resets tells
// which table is in use, and sessions that they have to look up their entry again.
struct Shared {
    pg_atomic_uint32 resets;
    EntryTable tables[2];
};

Shared *shared = nullptr;
LWLock *lock = nullptr; // exclusive for a reset, shared for reading keys; counting takes no lock

shmem_request_hook_type previous_request = nullptr;
shmem_startup_hook_type previous_startup = nullptr;

// What this process counted last: most of them use one operation.
struct Last {
    uint32 resets;
    size_t length;
    char operation[kMaxOperation];
    pg_atomic_uint64 *counts;
};

Last last;

void set_up(Entry &entry)
{
    pg_atomic_init_u64(&entry.identity, 0);
    pg_atomic_init_u32(&entry.published, 0);
    for (pg_atomic_uint64 &count : entry.counts) {
        pg_atomic_init_u64(&count, 0);
    }
}

void clear(Entry &entry)
{
    pg_atomic_write_u32(&entry.published, 0);
    for (pg_atomic_uint64 &count : entry.counts) {
        pg_atomic_write_u64(&count, 0);
    }
    pg_atomic_write_u64(&entry.identity, 0);
}

// Do something with all entries of a table that is not in use yet, and have it begin now.
void begin(EntryTable &table, void (*prepare)(Entry &))
{
    table.since = GetCurrentTimestamp();
    std::for_each(table.entries, table.entries + kEntries, prepare);
    prepare(table.other);
}

EntryTable &table_in_use(uint32 resets)
{
    return shared->tables[resets % 2];
}

// Server code, run by the postmaster.
void request_memory()
{
    if (previous_request != nullptr) {
        previous_request();
    }
    RequestAddinShmemSpace(MAXALIGN(sizeof(Shared)));
    RequestNamedLWLockTranche(kName, 1);
}

// Server code, run by the postmaster when it starts, and again after a crash of another process.
void set_up_memory()
{
    if (previous_startup != nullptr) {
        previous_startup();
    }
    bool found = false;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    shared = static_cast<Shared *>(ShmemInitStruct(kName, sizeof(Shared), &found));
    lock = &GetNamedLWLockTranche(kName)->lock;
    if (!found) {
        pg_atomic_init_u32(&shared->resets, 0);
        begin(shared->tables[0], set_up);
        begin(shared->tables[1], set_up);
    }
    LWLockRelease(AddinShmemInitLock);
}

void request_memory_hook()
{
    guarded([] { backend([] { request_memory(); }); });
}

void set_up_memory_hook()
{
    guarded([] { backend([] { set_up_memory(); }); });
}

uint64 identity_of(std::string_view operation)
{
    const uint64 hash = hash_bytes_extended(reinterpret_cast<const unsigned char *>(operation.data()),
                                            static_cast<int>(operation.size()), MyDatabaseId);
    return hash != 0 ? hash : 1;
}

void publish(Entry &entry, std::string_view operation)
{
    entry.key.database = MyDatabaseId;
    entry.key.encoding = GetDatabaseEncoding();
    entry.key.length = operation.size();
    std::memcpy(entry.key.operation, operation.data(), operation.size());
    pg_write_barrier();
    pg_atomic_write_u32(&entry.published, 1);
}

bool is_published(Entry &entry)
{
    const bool published = pg_atomic_read_u32(&entry.published) != 0;
    pg_read_barrier();
    return published;
}

// The entry of the operation in this database, claimed unless it is there.
Entry &find(EntryTable &table, std::string_view operation)
{
    const uint64 identity = identity_of(operation);
    for (size_t i = 0; i < kEntries; ++i) {
        Entry &entry = table.entries[(identity + i) % kEntries];
        uint64 found = pg_atomic_read_u64(&entry.identity);
        if (found == 0 && pg_atomic_compare_exchange_u64(&entry.identity, &found, identity)) {
            publish(entry, operation);
            return entry;
        }
        if (found == identity && (!is_published(entry) || entry.key.is(operation))) {
            return entry;
        }
    }
    return table.other;
}

void copy(Entry &entry, OperationStats &result)
{
    for (size_t i = 0; i < kCounters; ++i) {
        result.counts[i] = pg_atomic_read_u64(&entry.counts[i]);
    }
}

} // namespace

void request_counters()
{
    previous_request = shmem_request_hook;
    shmem_request_hook = request_memory_hook;
    previous_startup = shmem_startup_hook;
    shmem_startup_hook = set_up_memory_hook;
}

bool counters_exist()
{
    return shared != nullptr;
}

OperationCounters::OperationCounters(std::string_view operation)
{
    const uint32 resets = pg_atomic_read_u32(&shared->resets);
    if (last.counts == nullptr || last.resets != resets || operation != std::string_view(last.operation, last.length)) {
        EntryTable &table = table_in_use(resets);
        if (operation.size() > kMaxOperation) {
            counts_ = table.other.counts;
            return;
        }
        last.counts = find(table, operation).counts;
        last.resets = resets;
        last.length = operation.size();
        std::memcpy(last.operation, operation.data(), operation.size());
    }
    counts_ = last.counts;
}

void OperationCounters::add(Counter counter, uint64 amount)
{
    pg_atomic_fetch_add_u64(&counts_[static_cast<size_t>(counter)], static_cast<int64>(amount));
}

Stats read_stats()
{
    Stats stats{};
    stats.entries = static_cast<OperationStats *>(palloc0(sizeof(OperationStats) * (kEntries + 1)));
    LWLockAcquire(lock, LW_SHARED);
    EntryTable &table = table_in_use(pg_atomic_read_u32(&shared->resets));
    stats.since = table.since;
    for (Entry &entry : table.entries) {
        if (is_published(entry)) {
            OperationStats &result = stats.entries[stats.size++];
            result.database = entry.key.database;
            result.encoding = entry.key.encoding;
            result.length = entry.key.length;
            std::memcpy(result.operation, entry.key.operation, entry.key.length);
            copy(entry, result);
        }
    }
    OperationStats &other = stats.entries[stats.size];
    copy(table.other, other);
    LWLockRelease(lock);
    if (std::any_of(other.counts, other.counts + kCounters, [](uint64 count) { return count != 0; })) {
        ++stats.size;
    }
    return stats;
}

void reset_stats()
{
    LWLockAcquire(lock, LW_EXCLUSIVE);
    const uint32 next = pg_atomic_read_u32(&shared->resets) + 1;
    begin(table_in_use(next), clear);
    pg_write_barrier();
    pg_atomic_write_u32(&shared->resets, next);
    LWLockRelease(lock);
}

} // namespace idem::pg
