"""A history of calls to a cluster, and the check of its promises.

Each log is a note to which unique words are appended, so that its text shows the order of its
writes: version `n` has the first `n - 1` words. `check` compares all answers with the final texts.
"""

import bisect
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field

# The three outcomes of a write, and the answer that is none of them.
STORED, REFUSED, UNKNOWN, UNCLEAR = "stored", "refused", "unknown", "unclear"

# Time before a node is killed whose audit entries may be lost, without the time for which the node was
# suspended: the time for which entries are collected, and what the thread that writes them waits for a
# busy processor.
LOSS_WINDOW_SECONDS = 2.0
# What identifies a call of a tool: the name of an argument.
AUDITED_ARGUMENTS = {
    "notes.create": "title", "notes.append": "content", "knowledge.get": "id", "notes.search": "query",
}


@dataclass
class Call:
    """A call with a result, or a write with any outcome. Times are in seconds by one clock."""

    node: str
    begin: float
    end: float


@dataclass
class Write(Call):
    """An append of `word` to `log`, or the creation of the log if there is no word."""

    log: str
    word: str
    outcome: str
    version: int | None = None
    answer: str = ""


@dataclass
class Read(Call):
    """A read of all of a log; version 0 is the answer that there is none. `is_marked` says that the
    answer is marked as old."""

    log: str
    version: int
    words: list
    is_marked: bool


@dataclass
class Find(Call):
    """A search for a log by a word that only its title has."""

    log: str
    found: int
    is_marked: bool


@dataclass
class AuditedCall:
    """A call that was answered; `key` is what the audit log shows of it."""

    key: tuple
    node: str
    begin: float
    end: float


@dataclass
class History:
    """Everything that clients saw, and what is stored in the end."""

    nodes: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    reads: list = field(default_factory=list)
    finds: list = field(default_factory=list)
    # Final versions and words of each log, by node and log.
    final: dict = field(default_factory=dict)
    # Number of logs with a title in the end, by node and title.
    titles: dict = field(default_factory=dict)
    answered: list = field(default_factory=list)
    # Number of calls that were sent, and of entries in the audit log, by key.
    sent: Counter = field(default_factory=Counter)
    audited: Counter = field(default_factory=Counter)
    # Times between which nodes were killed, each as a pair, by node.
    kills: dict = field(default_factory=dict)
    # Times between which nodes were suspended, each as a pair, by node.
    suspensions: dict = field(default_factory=dict)
    # Number of entries that a node had kept for PostgreSQL when its folder was deleted, by key.
    deleted: Counter = field(default_factory=Counter)


def audited_key(tool, arguments):
    """Returns the key of an entry of the audit log, from its columns; `None` for another tool."""
    argument = AUDITED_ARGUMENTS.get(tool)
    return argument and (tool, json.loads(arguments or "{}").get("arguments", {}).get(argument))


def outcome_of(answer):
    """Returns the outcome that the text of a failed write states; `None` is no answer."""
    if answer is None or "may be stored" in answer:
        return UNKNOWN
    # A request that is refused as a whole, such as for overload, is not begun; 408 is the answer of a
    # node that was suspended before it had read the request.
    if "nothing was changed" in answer or answer[:5] in ("408: ", "429: ", "503: "):
        return REFUSED
    return UNCLEAR


class Floor:
    """The greatest version of a log that was known before a time."""

    def __init__(self, known):
        self.times, self.versions = [], []
        for end, version in sorted(known):
            self.times.append(end)
            self.versions.append(max(version, self.versions[-1] if self.versions else 0))

    def before(self, begin):
        at = bisect.bisect_left(self.times, begin)
        return self.versions[at - 1] if at else 0


def check(history):
    """Returns the broken promises as (kind, details)."""
    return [
        *check_answers(history),
        *check_nodes_agree(history),
        *check_creations(history),
        *check_appends(history),
        *check_reads(history),
        *check_finds(history),
        *check_audit(history),
    ]


def check_answers(history):
    for write in history.writes:
        if write.outcome == UNCLEAR:
            yield "answer that does not say whether the write is stored", write


def check_nodes_agree(history):
    for log in sorted({log for _, log in history.final}):
        states = {node: history.final.get((node, log)) for node in history.nodes}
        if any(state != states[history.nodes[0]] for state in states.values()):
            yield "nodes differ", (log, states)


def check_creations(history):
    for node in history.nodes:
        for write in history.writes:
            if write.word:
                continue
            count = history.titles.get((node, write.log), 0)
            if write.outcome == STORED and count == 0:
                yield "acknowledged creation is lost", (node, write)
            if write.outcome == REFUSED and count > 0:
                yield "refused creation is stored", (node, write)
            if count > 1:
                yield "creation is stored twice", (node, write, count)


def final_words(history):
    return {log: words for (_, log), (_, words) in history.final.items()}


def check_appends(history):
    final = final_words(history)
    by_log = defaultdict(list)
    for write in history.writes:
        words = final.get(write.log)
        if not write.word or words is None:
            continue
        count = words.count(write.word)
        if write.outcome == STORED and count == 0:
            yield "acknowledged write is lost", write
        elif write.outcome == REFUSED and count > 0:
            yield "refused write is stored", write
        if count > 1:
            yield "write is stored twice", write
        if write.outcome == STORED and count == 1:
            by_log[write.log].append(write)
            if words.index(write.word) + 2 != write.version:
                yield "write has another version than its answer said", write
    for (_, log), (version, words) in history.final.items():
        if version != len(words) + 1:
            yield "versions and words differ", (log, version, len(words))
    for writes in by_log.values():
        floor = Floor((write.end, write.version) for write in writes)
        for write in writes:
            if write.version <= floor.before(write.begin):
                yield "write precedes one that was answered before it began", write


def check_reads(history):
    final, known, begun = final_words(history), defaultdict(list), defaultdict(list)
    for write in history.writes:
        if write.outcome == STORED:
            known[write.log].append((write.end, write.version))
        begun[write.log].append(write.begin)
    # A version that any client saw is stored, so later reads must not be behind it.
    for read in history.reads:
        known[read.log].append((read.end, read.version))
    floors = {log: Floor(versions) for log, versions in known.items()}
    for read in history.reads:
        if read.log not in final:
            continue
        if read.words != final[read.log][: max(read.version - 1, 0)]:
            yield "read shows a text that no version has", read
        if sum(begin < read.end for begin in begun[read.log]) < read.version:
            yield "read shows more than was written", read
        floor = floors[read.log].before(read.begin)
        if not read.is_marked and read.version < floor:
            yield "unmarked stale read", (read, floor)


def check_finds(history):
    created = {write.log: write.end for write in history.writes if not write.word and write.outcome == STORED}
    for find in history.finds:
        if find.found > 1:
            yield "search finds a log twice", find
        is_expected = created.get(find.log, float("inf")) < find.begin
        if is_expected and not find.is_marked and find.found == 0:
            yield "unmarked stale read", find


def is_call_answered(answer):
    """Returns whether the text of a failed call, or `None`, says that the node has begun the call."""
    return answer is not None and answer[:1] != "5" and answer[:5] != "408: "


def running_seconds(history, node, begin, end):
    """Returns the time between two times for which a node was not suspended."""
    suspended = (
        min(end, until) - max(begin, since) for since, until in history.suspensions.get(node, [])
    )
    return end - begin - sum(max(0, seconds) for seconds in suspended)


def seconds_before_kill(history, call):
    """Returns for how long a node was running between its answer and its next end by a kill; `None` if
    it was not killed."""
    ends = ((begin, end) for begin, end in history.kills.get(call.node, []) if call.begin <= end)
    begin, _ = min(ends, default=(None, None))
    return None if begin is None else running_seconds(history, call.node, call.end, begin)


def may_be_unkept(history, call):
    """Returns whether a node was killed so soon after it answered that it had not kept the entry yet."""
    seconds = seconds_before_kill(history, call)
    return seconds is not None and seconds <= LOSS_WINDOW_SECONDS


def check_audit(history):
    """Entries of calls that a node answered just before it was killed may be lost, and so may those that
    it had kept in a folder that was deleted. Each of the latter was seen there, so that an entry which
    is missing for another reason is found."""
    kept = [call for call in history.answered if not may_be_unkept(history, call)]
    required = Counter(call.key for call in kept)
    for key in sorted(set(required) | set(history.audited)):
        audited, deleted = history.audited[key], history.deleted[key]
        if audited + deleted < required[key]:
            calls = [(call, seconds_before_kill(history, call)) for call in kept if call.key == key]
            yield "audit entries are lost", (required[key], audited, deleted, calls)
        if audited > history.sent[key]:
            yield "audit entries are doubled", (key, history.sent[key], audited)


def missing_entries(history):
    """Returns the number of entries that the audit log lacks of answered calls, and how many of them may
    be those that were deleted with a folder; the others were not kept when their node was killed."""
    answered = Counter(call.key for call in history.answered)
    missing = answered - history.audited
    return sum(missing.values()), sum((missing & history.deleted).values())
