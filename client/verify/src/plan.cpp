#include "plan.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace idem::verify {

namespace {

std::filesystem::path plan_of(const std::filesystem::path &folder)
{
    return folder / "plan.json";
}

} // namespace

const std::string &Plan::conninfo_of(int process) const
{
    return conninfos.at(static_cast<std::size_t>(process) % conninfos.size());
}

std::filesystem::path Plan::history_of(const std::filesystem::path &folder, int process)
{
    return folder / ("process-" + std::to_string(process) + ".jsonl");
}

void write_plan(const std::filesystem::path &folder, const Plan &plan)
{
    const nlohmann::ordered_json document = {{"seed", plan.seed},
                                             {"processes", plan.processes},
                                             {"lanes", plan.lanes},
                                             {"keys", plan.keys},
                                             {"tenant", plan.tenant},
                                             {"schema", plan.schema},
                                             {"idem_schema", plan.idem_schema},
                                             {"conninfos", plan.conninfos},
                                             {"deadline", plan.deadline},
                                             {"redis", plan.redis}};
    // A conninfo may hold a password: nobody else reads it.
    const std::filesystem::path path = plan_of(folder);
    const mode_t mask = umask(0077);
    std::ofstream file(path);
    umask(mask);
    file << document.dump(2) << '\n';
    if (!file.flush()) {
        throw std::runtime_error("could not write " + path.string());
    }
}

Plan read_plan(const std::filesystem::path &folder)
{
    const std::filesystem::path path = plan_of(folder);
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("could not open " + path.string() + ": there is no play in this folder");
    }
    try {
        const auto document = nlohmann::json::parse(file);
        return Plan{document.at("seed"),        document.at("processes"), document.at("lanes"),
                    document.at("keys"),        document.at("tenant"),    document.at("schema"),
                    document.at("idem_schema"), document.at("conninfos"), document.at("deadline"),
                    document.at("redis")};
    } catch (const nlohmann::json::exception &error) {
        throw std::runtime_error("could not read " + path.string() + ": " + error.what());
    }
}

} // namespace idem::verify
