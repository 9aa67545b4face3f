"""Stands between the command and the server, and cuts the first connection that calls; then it serves nobody."""

import os
import socket
import threading


class CutRelay:
    """With `forward`, the server gets the call and its answer is lost; without it, the call is lost."""

    def __init__(self, forward):
        self.forward = forward
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.cut = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", int(os.environ["PGPORT"])))
        threading.Thread(target=self._answer, args=(server, client), daemon=True).start()
        while data := client.recv(65536):
            if b"create_transaction" in data:
                self.cut.set()
                self.listener.close()
                if self.forward:
                    server.sendall(data)
                    server.shutdown(socket.SHUT_WR)
                client.shutdown(socket.SHUT_RDWR)
                client.close()
                return
            server.sendall(data)

    def _answer(self, server, client):
        """Hands answers on until the cut; then it takes them, so that the server ends in its own time."""
        while data := server.recv(65536):
            if not self.cut.is_set():
                client.sendall(data)
        server.close()
