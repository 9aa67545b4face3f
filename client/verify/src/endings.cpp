#include "endings.hpp"

#include <algorithm>
#include <array>

namespace idem::verify {

bool is_final(const Ending &ending) noexcept
{
    return ending.sqlstate.empty() || ending.sqlstate == "ID001" || ending.sqlstate == "ID003" ||
           ending.sqlstate == kApplicationFailed;
}

// Classes 08 (connections; 08P01 is a protocol error) and 40 (rolled back), and what servers say that end, start, stand
// by, are full, or were told to wait no longer.
bool is_explained(std::string_view sqlstate) noexcept
{
    constexpr std::array<std::string_view, 17> kExplained{"08000", "08001", "08003", "08004", "08006", "08007",
                                                          "40001", "40P01", "57P01", "57P02", "57P03", "57P05",
                                                          "25006", "53300", "55P03", "57014", "25P03"};
    constexpr std::array<std::string_view, 3> kAnswers{"ID001", "ID002", "ID003"};
    return sqlstate == kApplicationFailed ||
           std::find(kExplained.begin(), kExplained.end(), sqlstate) != kExplained.end() ||
           std::find(kAnswers.begin(), kAnswers.end(), sqlstate) != kAnswers.end();
}

} // namespace idem::verify
