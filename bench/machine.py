"""Says on what the benchmark runs."""

import datetime
import os
import platform
import re


def today():
    """Returns the date, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")


def load():
    """Returns the load averages of 1, 5 and 15 minutes."""
    return [round(value, 1) for value in os.getloadavg()]


def processor():
    """Returns the name of the processor as the kernel tells it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*: (.+)$", file.read(), re.M)
    return found[1] if found else platform.machine()


def memory():
    """Returns the machine's memory in GiB."""
    with open("/proc/meminfo", encoding="utf-8") as file:
        return round(int(re.search(r"^MemTotal:\s+(\d+)", file.read(), re.M)[1]) / 1024 ** 2)


def describe(cursor):
    """Returns machine, kernel, server and the settings that were given to the server."""
    cursor.execute("SELECT version()")
    version = cursor.fetchone()[0]
    cursor.execute("""
        SELECT name, current_setting(name) FROM pg_settings
        WHERE source = 'configuration file' AND setting IS DISTINCT FROM boot_val
          AND name !~* '^(lc_|log_|listen|port|unix|default_text|datestyle|timezone)'
        ORDER BY name""")
    settings = dict(cursor.fetchall())
    return {"processor": processor(), "cores": os.cpu_count(), "memory_gib": memory(),
            "kernel": re.match(r"[\d.]+", platform.release())[0], "server": re.match(r"PostgreSQL \S+", version)[0], "settings": settings,
            "load_at_start": load()}
