"""Takes the answers of the server into the model's world, one at a time."""

from dataclasses import replace

from model import (
    BLOCKED, CREATED, IDLE, SERIALIZABLE, add_row, check_limits, require, verdicts)

# What a verdict is in a function that raises it.
RAISED = {"conflict": "ID001", "order_taken": "ID003"}


def complete(world, name, step, answer, others):
    """Returns the world after an answer: ("error", SQLSTATE) or ("rows", command tag, rows). Raises Mismatch.

    `others` are the steps of other sessions that ran in the same window."""
    after = world.copy()
    if world.sessions[name].state == "failed" and step.kind in ("call", "batch", "savepoint", "release"):
        require(answer == ("error", "25P02"), "a failed transaction takes no statements")
    else:
        HANDLERS[step.kind](after, name, step, answer, others)
    del after.pending[name]
    after.stale = frozenset(pair for pair in after.stale if pair[0] != name)
    return after


def begin(world, name, step, answer, _others):
    require(answer[0] == "rows", "BEGIN fails")
    world.update(name, **{**IDLE, "state": "open", "isolation": step.isolation})
    if step.isolation == SERIALIZABLE:
        others = [
            other for other, session in world.sessions.items()
            if other != name and session.state != "idle" and session.isolation == SERIALIZABLE]
        for other in others:
            world.update(other, met_serializable=True)
        world.update(name, met_serializable=bool(others))


def commit(world, name, step, answer, others):
    session = world.sessions[name]
    if answer[0] == "error":
        check_limits(world, name, step, answer[1], False, others)
        world.roll_back(name)
    elif session.state == "failed":
        require(answer[1] == "ROLLBACK", "a failed transaction is committed")
        world.roll_back(name)
    else:
        require(answer[1] == "COMMIT", "a transaction is not committed")
        world.commit(name)


def rollback(world, name, _step, answer, _others):
    require(answer[0] == "rows", "ROLLBACK fails")
    world.roll_back(name)


def savepoint(world, name, _step, answer, _others):
    require(answer[0] == "rows", "SAVEPOINT fails")
    world.update(name, savepoints=world.sessions[name].savepoints + 1)


def rollback_to(world, name, step, answer, _others):
    require(answer[0] == "rows", "ROLLBACK TO fails")
    world.drop(name, step.savepoint)
    world.update(name, savepoints=step.savepoint, state="open")


def release(world, name, step, answer, _others):
    require(answer[0] == "rows", "RELEASE fails")
    for row in world.own_rows(name):
        if row.level >= step.savepoint:
            world.put(replace(row, level=step.savepoint - 1, released=True))
    world.update(name, savepoints=step.savepoint - 1)


def settings(world, name, step, answer, _others):
    require(answer[0] == "rows", "SET fails")
    world.update(name, busy_timeout=step.busy_timeout, lock_timeout=step.lock_timeout)


def call(world, name, step, answer, others):
    request = step.requests[0]
    allowed = verdicts(world, name, request)
    if answer[0] == "error":
        code = answer[1]
        expected = {RAISED.get(verdict[0]) for verdict in allowed} if step.raises else set()
        if code not in expected and ("error", code) not in allowed:
            check_limits(world, name, step, code, BLOCKED in allowed, others)
        world.fail(name)
        return
    require(len(answer[2]) == 1, "a call does not return one row")
    take_row(world, name, step, request, answer[2][0], allowed)
    end_statement(world, name)


def take_row(world, name, step, request, row, allowed):
    """Takes the row of a single call: outcome, id, values."""
    outcome, row_id, values = row[0], row[1], tuple(row[2:])
    if outcome == "created":
        require(CREATED in allowed, "created where it must not be")
        require(step.stored_as_sent(values), "the created row is not what was sent")
        add_row(world, name, request, row_id, values)
    elif outcome == "replayed":
        found = next((verdict[1] for verdict in allowed if verdict[0] == "replayed"), None)
        require(found is not None, "replayed where it must not be")
        require(step.stored_as_sent(values), "the row that is replayed is another request's")
        # What a batch stored is seen here for the first time.
        require((found.id, found.values or values) == (row_id, values), "the replay is not the row that was created")
        world.put(replace(found, values=values))
    else:
        require((outcome,) in allowed and not step.raises, f"{outcome} where it must not be")
        require(row_id is None and not any(value is not None for value in values), f"{outcome} shows values")


def end_statement(world, name):
    """Without a transaction each statement is one."""
    if world.sessions[name].state == "idle":
        world.commit(name)


def batch(world, name, step, answer, others):
    if answer[0] == "error":
        errors, may_block = batch_errors(world.copy(), name, step)
        if answer[1] not in errors:
            check_limits(world, name, step, answer[1], may_block, others)
        world.fail(name)
        return
    require(len(answer[2]) == len(step.requests), "a batch does not answer each request")
    for place, (request, row) in enumerate(zip(step.requests, answer[2])):
        ord_, outcome, row_id, code, details = row
        require(ord_ == place + 1, "a batch answers in another order")
        allowed = verdicts(world, name, request)
        if outcome in ("created", "replayed"):
            require(code is None, "a request that was served has an SQLSTATE")
            if outcome == "created":
                require(CREATED in allowed, "created where it must not be")
                add_row(world, name, request, row_id, None)
            else:
                require(row_id in {verdict[1].id for verdict in allowed if verdict[0] == "replayed"},
                        "replayed where it must not be")
        else:
            require(step.mode == "each" and row_id is None and details is None, f"{outcome} where it must not be")
            verdict = ("error", code) if outcome == "invalid" else (outcome,)
            require(verdict in allowed and code in (RAISED.get(outcome), request.malformed),
                    f"{outcome} where it must not be")
    end_statement(world, name)


def batch_errors(world, name, step):
    """Returns the errors that a batch may raise, and whether it may have to wait."""
    malformed = [request.malformed for request in step.requests if request.malformed]
    if step.mode == "all" and malformed:
        return {malformed[0]}, False
    errors, may_block = set(), False
    raises = step.mode == "all"
    for place, request in enumerate(step.requests):
        if request.malformed:
            continue
        allowed = verdicts(world, name, request)
        may_block = may_block or BLOCKED in allowed
        if ("error", "40001") in allowed:
            errors.add("40001")
        if raises:
            errors |= {RAISED[verdict[0]] for verdict in allowed if verdict[0] in RAISED}
            # Only the first request that is refused is told of; what may or may not be refused leaves both open.
            raises = any(verdict[0] not in RAISED for verdict in allowed)
        if CREATED in allowed:
            add_row(world, name, request, f"of request {place}", None)
    return errors, may_block


HANDLERS = {
    "begin": begin, "commit": commit, "rollback": rollback, "savepoint": savepoint, "rollback_to": rollback_to,
    "release": release, "settings": settings, "call": call, "batch": batch}
