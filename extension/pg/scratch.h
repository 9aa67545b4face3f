#pragma once

#include "boundary.h"

#include "pg.h"

namespace idem::pg {

/// A memory context that is the current one while this lives, for what is used up again and again.
class Scratch {
public:
    Scratch()
    {
        backend([this] {
            scratch_ = AllocSetContextCreate(caller_, "idem scratch", ALLOCSET_SMALL_SIZES);
            MemoryContextSwitchTo(scratch_);
        });
    }
    // Where an error passes by, it lies in the context: that goes with the caller's.
    ~Scratch() { MemoryContextSwitchTo(caller_); }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;

    /// Give back what was allocated since the last time.
    void reset() { MemoryContextReset(scratch_); }

    /// Give it up; at the end, when nothing failed.
    void release()
    {
        MemoryContextSwitchTo(caller_);
        MemoryContextDelete(scratch_);
    }

private:
    MemoryContext caller_ = CurrentMemoryContext;
    MemoryContext scratch_;
};

} // namespace idem::pg
