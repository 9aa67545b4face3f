"""Starts the instances, feeds them, kills some of them, and reads their journals."""

import heapq
import os
import random
import subprocess
import sys
import time

import journal

TWIN_DELAY = 0.05
INSTANCES = (1, 2, 3, 4)
FOLDER = os.path.dirname(os.path.abspath(__file__))


class Stuck(Exception):
    """The play cannot go on."""


class Instance:
    """One instance, through all the processes that stand for it one after the other."""

    def __init__(self, requests_path, journal_path):
        self.command = [sys.executable, os.path.join(FOLDER, "instance.py"), requests_path, journal_path]
        self.reader = journal.Reader(journal_path)
        self.events = []
        self.given = []
        self.sent = set()
        self.answered = set()
        self._start()

    def _start(self):
        # In a session of its own: an interrupt from the terminal is for the player, who then kills the instances.
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, text=True, start_new_session=True)

    def give(self, number):
        """Hands a request to the instance."""
        self.given.append(number)
        self._tell(number)

    def _tell(self, number):
        try:
            self.process.stdin.write(f"{number}\n")
            self.process.stdin.flush()
        except BrokenPipeError as failure:
            raise Stuck(f"an instance ended by itself with status {self.process.wait()}") from failure

    def follow(self):
        """Returns the events that are new in the journal."""
        events = self.reader.new_events()
        for event in events:
            self.sent.add(event.get("sent"))
            self.answered.add(event.get("answered"))
        self.events += events
        return events

    @property
    def in_flight(self):
        """The number of calls that were sent and have no answer."""
        return len(self.sent - self.answered)

    def kill(self):
        """Kills the process as kill -9 does, and returns when it is gone."""
        self.process.kill()
        self.process.wait()

    def restart(self):
        """Starts the next process. What was sent, it finds in its journal; the rest it is told again."""
        self._start()
        for number in self.given:
            if number not in self.sent:
                self._tell(number)

    def finish(self):
        """Lets the process end, and returns its exit status."""
        self.process.stdin.close()
        return self.process.wait()


class Director:
    """Plays the requests: each through two instances at nearly the same time, with kills in between."""

    def __init__(self, requests, requests_path, folder, seed, seconds, kills):
        self.requests = requests
        self.chance = random.Random(seed)
        self.instances = {
            name: Instance(requests_path, os.path.join(folder, f"instance-{name}.journal")) for name in INSTANCES
        }
        self.plan = self._plan_sends(seconds)
        self.kill_times = [seconds * (0.1 + 0.8 * (i + self.chance.random()) / kills) for i in range(kills)]
        self.held = {}
        self.answers_to = set()
        self.kills = 0
        self.cut_off = 0

    def _plan_sends(self, seconds):
        """Returns a heap of (time, request, instance): the line's own instance first, then another one."""
        plan = []
        for request in self.requests:
            start = seconds * request.number / len(self.requests)
            other = self.chance.choice([name for name in INSTANCES if name != request.instance])
            plan.append((start, request.number, request.instance))
            plan.append((start + TWIN_DELAY, request.number, other))
        heapq.heapify(plan)
        return plan

    def play(self, progress, patience):
        """Runs until every call has its answer, calling progress(seconds, self) again and again. Leaves no process."""
        try:
            self._play(progress, patience)
        finally:
            for instance in self.instances.values():
                instance.kill()

    def _play(self, progress, patience):
        start = time.monotonic()
        while self._follow() < 2 * len(self.requests):
            now = time.monotonic() - start
            if now > patience:
                raise Stuck(f"calls still unanswered after {patience} seconds")
            self._send_until(now)
            if self.kill_times and now >= self.kill_times[0]:
                self._kill_one()
            self._check_alive()
            progress(now, self)
            time.sleep(0.005)
        for instance in self.instances.values():
            if instance.finish() != 0:
                raise Stuck("an instance failed at its end")

    def _follow(self):
        """Reads the journals, releases the requests that waited for an answer, and returns the number of answers."""
        for instance in self.instances.values():
            for event in instance.follow():
                if "answered" in event:
                    self._release(event["answered"])
        return sum(len(instance.answered - {None}) for instance in self.instances.values())

    def _release(self, number):
        self.answers_to.add(number)
        for held, name in self.held.pop(number, []):
            self.instances[name].give(held)

    def _send_until(self, now):
        """Sends what is due. A changed request must not overtake the one it changes: it would be the original then."""
        while self.plan and self.plan[0][0] <= now:
            _, number, name = heapq.heappop(self.plan)
            request = self.requests[number]
            if request.tampered and request.original.number not in self.answers_to:
                self.held.setdefault(request.original.number, []).append((number, name))
            else:
                self.instances[name].give(number)

    def _kill_one(self):
        """Kills an instance that has calls in flight, at whatever point they are, and starts it again."""
        busy = [instance for instance in self.instances.values() if instance.in_flight]
        if not busy:
            return
        self.kill_times.pop(0)
        victim = self.chance.choice(busy)
        victim.kill()
        self._follow()
        self.kills += 1
        self.cut_off += victim.in_flight
        victim.restart()

    def _check_alive(self):
        for name, instance in self.instances.items():
            if instance.process.poll() is not None:
                raise Stuck(f"instance {name} ended by itself with status {instance.process.returncode}")
