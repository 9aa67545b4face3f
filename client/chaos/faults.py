"""Makes the faults of the cards, and counts those that really happened."""

import collections
import signal
import time

from processes import children, kill
from schedule import AT_STATEMENT

# Sessions of clients, not of the one who asks nor of servers and tools.
SESSIONS = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


class Injector:
    """What can fail on the stage. The proxies stand before the servers, by their names, and before PgBouncer's server."""

    def __init__(self, cluster, proxies, bouncer_proxy, pgbouncer, redis, verifier):
        self.cluster = cluster
        self.proxies = proxies
        self.bouncer_proxy = bouncer_proxy
        self.pgbouncer = pgbouncer
        self.redis = redis
        self.verifier = verifier
        self.done = collections.Counter()

    def counts(self):
        """Returns how often each kind of fault has happened."""
        total = collections.Counter(self.done)
        for proxy in (*self.proxies.values(), self.bouncer_proxy):
            total.update(proxy.counts)
        return total

    def make(self, card):
        """Makes the fault of a card, and lets the stage recover from those that need it."""
        if card.kind in AT_STATEMENT:
            amount = f" {50 + int(card.extent * 1500)}" if card.kind == "delay" else ""
            self._proxy(card).tell(f"next {card.kind}{amount}")
        elif getattr(self, f"_{card.kind}")(card):
            self.done[card.kind] += 1

    def _proxy(self, card):
        """Chooses a proxy that has something to do: the primary's, or PgBouncer's."""
        return self.bouncer_proxy if card.which % 10 < 3 else self.proxies[self.cluster.primary.name]

    def _for_a_while(self, card, proxy, what):
        proxy.tell(f"{what} on")
        time.sleep(0.5 + card.extent * 3)
        proxy.tell(f"{what} off")
        return True

    def _cut_all(self, card):
        self._proxy(card).tell("cut")
        return True

    def _partition(self, card):
        return self._for_a_while(card, self._proxy(card), "hold")

    def _stall(self, card):
        return self._for_a_while(card, self._proxy(card), "pause")

    def _some_session(self, card):
        return f"(SELECT pid {SESSIONS} ORDER BY pid OFFSET {card.which} % (SELECT greatest(count(*), 1) {SESSIONS}) LIMIT 1)"

    def _terminate_session(self, card):
        return self.cluster.primary.query(f"SELECT pg_terminate_backend({self._some_session(card)})") == "t"

    def _crash_session(self, card):
        pid = self.cluster.primary.query(f"SELECT {self._some_session(card)}")
        happened = bool(pid) and kill(int(pid), signal.SIGKILL)
        self.cluster.wait_for_primary()
        return happened

    def _restart_primary(self, card):
        self.cluster.primary.crash()
        time.sleep(card.extent)
        self.cluster.primary.launch()
        self.cluster.wait_for_primary()
        return True

    def _fail_over(self, card):
        """Only a standby that has everything may take over: losing data here would be the director's fault."""
        self.cluster.wait_for_sync()
        return self._take_over(card)

    def _lossy_fail_over(self, card):
        """The standby is still the synchronous one, and no commit that waits for it is acknowledged; but clients give
        up and cancel their waits, which makes visible what the standby will never get."""
        self.cluster.wait_for_sync()
        self.cluster.partition_standby(True)
        time.sleep(4 + 3 * card.extent)
        return self._take_over(card)

    def _take_over(self, card):
        self.cluster.primary.crash()
        self.cluster.fail_over()
        # Routing that is late is common: PgBouncer meets a dead server for a while, or the new standby.
        time.sleep(card.extent * 2)
        if card.which % 2 == 0:
            self._route_bouncer()
            self.cluster.rebuild_standby()
        else:
            self.cluster.rebuild_standby()
            time.sleep(card.extent)
            self._route_bouncer()
        return True

    def _route_bouncer(self):
        self.bouncer_proxy.tell(f"target 127.0.0.1 {self.cluster.primary.port}")
        self.bouncer_proxy.tell("cut")

    def _partition_standby(self, card):
        self.cluster.partition_standby(True)
        time.sleep(0.5 + card.extent * 3.5)
        self.cluster.partition_standby(False)
        return True

    def _freeze(self, card, server):
        server.freeze(True)
        time.sleep(0.5 + card.extent * 3.5)
        server.freeze(False)
        return True

    def _freeze_primary(self, card):
        return self._freeze(card, self.cluster.primary)

    def _freeze_standby(self, card):
        return self._freeze(card, self.cluster.standby)

    def _restart_pgbouncer(self, _card):
        self.pgbouncer.crash()
        return True

    def _crash_redis(self, card):
        self.redis.crash()
        time.sleep(card.extent * 2)
        self.redis.launch()
        return True

    def _flush_redis(self, _card):
        return self.redis.flush()

    def _freeze_redis(self, card):
        return self._freeze(card, self.redis)

    def _kill_client(self, card):
        clients = sorted(children(self.verifier.pid))
        return bool(clients) and kill(clients[card.which % len(clients)], signal.SIGKILL)

    def heal(self):
        """Ends all faults that last, and waits until everything serves."""
        for proxy in (*self.proxies.values(), self.bouncer_proxy):
            proxy.heal()
        self.cluster.wait_for_primary()
        self.cluster.wait_for_sync()
        self._route_bouncer()
