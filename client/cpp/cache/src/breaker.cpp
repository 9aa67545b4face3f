#include "breaker.h"

#include <algorithm>
#include <utility>

namespace idem::cache {

std::optional<Breaker::Permit> Breaker::ask(Clock::time_point now)
{
    const std::lock_guard lock(mutex_);
    if (pause_.count() > 0) {
        if (trying_ || now < paused_until_) {
            return std::nullopt;
        }
        trying_ = true;
    }
    return Permit(*this, generation_);
}

Breaker::Permit::Permit(Permit &&other) noexcept
    : breaker_(std::exchange(other.breaker_, nullptr)), generation_(other.generation_)
{
}

Breaker::Permit::~Permit()
{
    if (breaker_ != nullptr) {
        const std::lock_guard lock(breaker_->mutex_);
        // Permits of this generation are either those from before the pause, which are outdated, or the one try.
        if (generation_ == breaker_->generation_) {
            breaker_->trying_ = false;
        }
    }
}

bool Breaker::Permit::current() const
{
    const std::lock_guard lock(breaker_->mutex_);
    return generation_ == breaker_->generation_;
}

void Breaker::Permit::succeeded()
{
    const std::lock_guard lock(breaker_->mutex_);
    if (generation_ == breaker_->generation_) {
        breaker_->pause_ = {};
        breaker_->trying_ = false;
    }
}

void Breaker::Permit::failed(Clock::time_point now)
{
    const std::lock_guard lock(breaker_->mutex_);
    // Calls that were under way together fail together; they are one failure.
    if (generation_ == breaker_->generation_) {
        breaker_->pause_ = std::clamp(breaker_->pause_ * 2, breaker_->first_pause_, breaker_->longest_pause_);
        breaker_->paused_until_ = now + breaker_->pause_;
        breaker_->trying_ = false;
        ++breaker_->generation_;
    }
}

} // namespace idem::cache
