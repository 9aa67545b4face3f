"""Very many connections, in front of a server that is none: what the proxy uses, and what it leaves behind."""

import random
import select
import socket
import struct
import threading
import time
import unittest

from proxied import Proxy, Wire, message, query, until


class FakeServer:
    """A server that says yes to everything, at once and without a process for each session."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port = self.listener.getsockname()[1]
        self.sessions = {}
        self.ends, self.end = socket.socketpair()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end.close()
        self.thread.join()
        for session in [self.listener, self.ends, *self.sessions]:
            session.close()

    def serve(self):
        """Answers until it is told to end."""
        poll = select.poll()
        by_number = {one.fileno(): one for one in (self.ends, self.listener)}
        for number in by_number:
            poll.register(number, select.POLLIN)
        while True:
            for number, _ in poll.poll():
                if number == self.ends.fileno():
                    return
                if number == self.listener.fileno():
                    session = self.listener.accept()[0]
                    by_number[session.fileno()] = session
                    self.sessions[session] = False
                    poll.register(session, select.POLLIN)
                elif not self.answer(by_number[number]):
                    poll.unregister(number)
                    del self.sessions[by_number[number]]
                    by_number.pop(number).close()

    def answer(self, session):
        """Answers what a session says; tells whether it goes on."""
        try:
            octets = session.recv(65536)
            if not octets:
                return False
            if not self.sessions[session]:
                self.sessions[session] = True
                session.sendall(message(b"R", bytes(4)) + message(b"Z", b"I"))
            elif octets[:1] == b"Q":
                session.sendall(message(b"C", b"YES\0") + message(b"Z", b"I"))
            return True
        except OSError:
            return False


class Load(unittest.TestCase):

    def test_ten_thousand_connections_leave_nothing_behind(self):
        faults = "cut_before_commit,cut_after_commit,reset_after_commit,cut_in_answer,cut_statement,cut_connect"
        with FakeServer() as server, Proxy("--seed", "5", "--fault-rate", "0.3", "--faults", faults,
                                           host="127.0.0.1", port=server.port) as proxy:
            files = proxy.files()
            for number in range(10_000):
                try:
                    with Wire(proxy.port) as wire:
                        wire.send(query("INSERT") if number % 2 else query("BEGIN"))
                        wire.until_ready()
                        if number % 3 == 0:
                            wire.send(message(b"X"))
                except (AssertionError, ConnectionResetError):
                    pass
            counts = {}
            for fault in proxy.all_faults():
                counts[fault["fault"]] = counts.get(fault["fault"], 0) + 1
            self.assertEqual(sorted(counts), sorted(faults.split(",")))
            self.assertGreater(sum(counts.values()), 3000)
            until(lambda: proxy.files() == files)
            until(lambda: not server.sessions)

    def test_silent_connections_leave_nothing_behind(self):
        with FakeServer() as server, Proxy(host="127.0.0.1", port=server.port) as proxy:
            files = proxy.files()
            wires = []
            for order in ("next half_open", "next swallow_answer", "hold on", "hold off"):
                proxy.order(order)
                wire = Wire(proxy.port, startup=order != "hold on")
                wire.send(query("INSERT"))
                wires.append(wire)
                if order.startswith("next"):
                    proxy.fault()
            self.assertGreaterEqual(proxy.files(), files + 7)
            for wire in wires:
                wire.socket.close()
            until(lambda: proxy.files() == files)
            until(lambda: not server.sessions)

    def test_waiting_costs_nothing(self):
        with FakeServer() as server, Proxy("--linger-ms", "60000", host="127.0.0.1", port=server.port) as proxy:
            kept = [Wire(proxy.port) for _ in range(5)]
            proxy.order("next half_open")
            kept[0].send(query("INSERT"))
            proxy.fault()
            kept[0].socket.close()
            proxy.order("next half_open")
            kept[1].send(query("INSERT"))
            proxy.fault()
            proxy.order("next delay 60000")
            kept[2].send(query("INSERT"))
            proxy.fault()
            kept[2].socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            kept[2].socket.close()
            for order in ("clear", "refuse on", "pause on"):
                proxy.order(order)
                if order == "pause on":
                    kept[3].socket.close()
                before = proxy.used()
                time.sleep(0.5)
                self.assertLess(proxy.used() - before, 0.05, order)
            for wire in kept:
                wire.socket.close()

    def test_a_server_that_encrypts_is_passed_through(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        with Proxy(host="127.0.0.1", port=listener.getsockname()[1]) as proxy:
            proxy.order("set cut_before_commit")
            with Wire(proxy.port, startup=False) as client:
                client.send(struct.pack("!II", 8, 80877103))
                server = listener.accept()[0]
                self.addCleanup(server.close)
                self.assertEqual(server.recv(100), struct.pack("!II", 8, 80877103))
                server.sendall(b"S")
                self.assertEqual(client.socket.recv(100), b"S")
                octets = query("COMMIT") + random.Random(1).randbytes(1_000_000)
                for source, target in ((client.socket, server), (server, client.socket)):
                    sender = threading.Thread(target=source.sendall, args=(octets,))
                    sender.start()
                    received = b""
                    while len(received) < len(octets):
                        received += target.recv(65536)
                    sender.join()
                    self.assertEqual(received, octets)
            self.assertEqual(server.recv(100), b"")
            self.assertEqual(proxy.all_faults(), [])


if __name__ == "__main__":
    unittest.main()
