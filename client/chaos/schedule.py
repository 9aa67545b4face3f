"""Which faults happen in which order: a function of the seed."""

import dataclasses
import random

# Cards of a deck: how many of a hundred faults are of a kind. Every deck is played to its end before the next one is
# shuffled, so that each kind happens in every hundred faults.
DECK = {
    # on the way between a client and its server
    "cut_before_commit": 12,
    "cut_after_commit": 14,
    "reset_after_commit": 6,
    "swallow_answer": 5,
    "half_open": 4,
    "cut_in_answer": 5,
    "cut_statement": 5,
    "cut_connect": 3,
    "delay": 4,
    "cut_all": 2,
    "partition": 1,
    "stall": 1,
    # the server
    "terminate_session": 11,
    "crash_session": 1,
    "restart_primary": 2,
    "fail_over": 1,
    "freeze_primary": 1,
    "freeze_standby": 1,
    "partition_standby": 1,
    # what stands around it
    "restart_pgbouncer": 2,
    "crash_redis": 1,
    "flush_redis": 2,
    "freeze_redis": 1,
    # the clients
    "kill_client": 14,
}

# Faults that the proxy makes at the next statement that fits; they happen a little after they are asked for.
AT_STATEMENT = ("cut_before_commit", "cut_after_commit", "reset_after_commit", "swallow_answer", "half_open",
                "cut_in_answer", "cut_statement", "cut_connect", "delay")


@dataclasses.dataclass(frozen=True)
class Card:
    """One fault: its kind, the pause before it, and two numbers that decide the rest."""

    kind: str
    pause: float
    which: int
    extent: float


def cards(seed, kinds):
    """Yields cards without end, of the given kinds."""
    chance = random.Random(seed)
    deck = [kind for kind, count in DECK.items() for _ in range(count)]
    while True:
        chance.shuffle(deck)
        for kind in deck:
            # All numbers are drawn whatever the kind: kinds that are left out do not change the rest.
            card = Card(kind, chance.uniform(0.05, 0.5), chance.randrange(1_000_000), chance.random())
            if kind in kinds:
                yield card
