"""An instance's journal: what it is about to send and what it was answered, kept on disk through a kill -9."""

import json
import os


class Journal:
    """Appends one line per event. Each is a single write, so a killed process leaves whole lines."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def sending(self, number):
        """Notes that the request is about to be sent; its effect is unknown until it is answered."""
        self._append({"sent": number})

    def answered(self, number, outcome, transaction_id=None):
        """Notes an answer that the instance has: from here on the client may rely on it."""
        self._append({"answered": number, "outcome": outcome, "id": transaction_id})

    def _append(self, event):
        os.write(self.file, (json.dumps(event) + "\n").encode())


class Reader:
    """Follows a journal that another process writes."""

    def __init__(self, path):
        self.path = path
        self.offset = 0

    def new_events(self):
        """Returns the events added since the last call."""
        if not os.path.exists(self.path):
            return []
        with open(self.path, "rb") as journal:
            journal.seek(self.offset)
            data = journal.read()
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        return [json.loads(line) for line in whole.splitlines()]


def unanswered(events):
    """Returns the requests that were sent and have no answer, in the order they were first sent."""
    answers = {event["answered"] for event in events if "answered" in event}
    sent = dict.fromkeys(event["sent"] for event in events if "sent" in event)
    return [number for number in sent if number not in answers]
