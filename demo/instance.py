"""One application instance: sends the requests whose numbers come on stdin, several at a time.

usage: instance.py REQUESTS JOURNAL

After a kill -9 the same journal tells the next process what was sent without an answer; it sends that again first.
"""

import os
import queue
import random
import sys
import threading
import time

import psycopg2
import psycopg2.errorcodes

import journal
import requestfile

CONNECTIONS = 8
CALL = """
    SELECT transaction_id, outcome
    FROM idem_create_transaction(%(tenant_id)s, %(idempotency_key)s, %(amount_minor)s, %(currency)s,
                                 %(details)s::jsonb, %(operation)s, %(order_ref)s)
"""
KEY_REUSED = "ID001"
RETRY = (psycopg2.errorcodes.SERIALIZATION_FAILURE, psycopg2.errorcodes.DEADLOCK_DETECTED)


def call(connection, request):
    """Makes one business transaction; returns the outcome and the id once COMMIT has returned."""
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(CALL, request.arguments)
        transaction_id, outcome = cursor.fetchone()
        if outcome == "created":
            do_business(request)
        cursor.execute("COMMIT")
    return outcome, transaction_id


def do_business(request):
    """Stands for the other writes of the transaction; often long enough for the twin to arrive and wait."""
    time.sleep(random.Random(request.number).uniform(0, 0.12))


def connect():
    """Opens a session in which BEGIN and COMMIT are the instance's own statements."""
    connection = psycopg2.connect("")
    connection.autocommit = True
    return connection


def is_lost(connection, error):
    """True where the connection is gone, which leaves the fate of the transaction unknown. The driver may be slow to
    notice; an error without a code did not come from the server."""
    return bool(connection.closed) or error.pgcode is None


def send(connection, request, log):
    """Sends a request until it is answered, and returns the connection to use next. Where the transaction lost a race
    or its fate is unknown, the same request with the same key is the right next step."""
    while True:
        log.sending(request.number)
        try:
            outcome, transaction_id = call(connection, request)
            # The answer travels to the client: what dies here was committed, and nobody knows.
            time.sleep(random.uniform(0, 0.01))
            log.answered(request.number, outcome, transaction_id)
            return connection
        except psycopg2.Error as error:
            if is_lost(connection, error):
                connection.close()
                connection = connect()
                continue
            connection.cursor().execute("ROLLBACK")
            if error.pgcode not in RETRY:
                log.answered(request.number, "conflict" if error.pgcode == KEY_REUSED else str(error).strip())
                return connection


def work(todo, requests, log):
    """Serves one connection of the pool until there is nothing more to send."""
    connection = connect()
    while (number := todo.get()) is not None:
        connection = send(connection, requests[number], log)


def give_up(failure):
    """Ends the whole process where one of its threads failed; the journal says what is left to do."""
    sys.__excepthook__(failure.exc_type, failure.exc_value, failure.exc_traceback)
    os._exit(1)


def main():
    threading.excepthook = give_up
    requests = requestfile.read_requests(sys.argv[1])
    todo = queue.Queue()
    for number in journal.unanswered(journal.Reader(sys.argv[2]).new_events()):
        todo.put(number)
    log = journal.Journal(sys.argv[2])
    pool = [threading.Thread(target=work, args=(todo, requests, log)) for _ in range(CONNECTIONS)]
    for thread in pool:
        thread.start()
    for line in sys.stdin:
        todo.put(int(line))
    for _ in pool:
        todo.put(None)
    for thread in pool:
        thread.join()


main()
