"""The checker of histories accepts a good history and rejects bad ones, each for its own reason."""

import unittest
from collections import Counter

from history import (
    REFUSED, STORED, UNCLEAR, UNKNOWN, AuditedCall, Find, History, Read, Write, audited_key, check,
    is_call_answered, missing_entries, outcome_of,
)

NODES = ["n1", "n2"]


def good_history():
    """Two appends at different nodes, one refused and one without an answer that is stored."""
    history = History(nodes=NODES)
    history.writes = [
        Write("n1", 0.0, 1.0, "log", "", STORED, 1),
        Write("n1", 2.0, 3.0, "log", "one", STORED, 2),
        Write("n2", 4.0, 5.0, "log", "two", STORED, 3),
        Write("n2", 6.0, 7.0, "log", "never", REFUSED),
        Write("n1", 6.0, 9.0, "log", "three", UNKNOWN),
        Write("n1", 6.0, 9.0, "lost", "", UNKNOWN),
    ]
    history.reads = [
        Read("n1", 3.5, 3.6, "log", 2, ["one"], False),
        # Overlaps the write, so that both versions are right.
        Read("n2", 4.5, 5.5, "log", 2, ["one"], False),
        Read("n2", 6.0, 6.5, "log", 2, ["one"], True),
        Read("n1", 9.5, 9.6, "log", 4, ["one", "two", "three"], False),
    ]
    history.finds = [Find("n2", 0.5, 0.7, "log", 0, False), Find("n2", 1.5, 1.7, "log", 1, False)]
    for node in NODES:
        history.final[node, "log"] = (4, ["one", "two", "three"])
        history.titles[node, "log"] = 1
    history.answered = [
        AuditedCall(("get", "log"), "n1", 3.5, 3.6), AuditedCall(("get", "log"), "n2", 7.9, 8.0),
    ]
    history.sent = Counter({("get", "log"): 3})
    history.audited = Counter({("get", "log"): 2})
    history.kills = {"n1": [(8.0, 8.1)]}
    return history


class HistoryTest(unittest.TestCase):
    def reject(self, kind, break_history):
        history = good_history()
        break_history(history)
        self.assertIn(kind, {kind for kind, _ in check(history)})

    def test_good_history_is_accepted(self):
        self.assertEqual(check(good_history()), [])

    def test_unmarked_read_behind_answered_write(self):
        late = Read("n2", 5.1, 5.2, "log", 2, ["one"], False)
        self.reject("unmarked stale read", lambda it: it.reads.append(late))

    def test_unmarked_read_behind_another_read(self):
        late = Read("n2", 9.7, 9.8, "log", 3, ["one", "two"], False)
        self.reject("unmarked stale read", lambda it: it.reads.append(late))

    def test_unmarked_answer_that_there_is_no_log(self):
        missing = Read("n2", 1.1, 1.2, "log", 0, [], False)
        self.reject("unmarked stale read", lambda it: it.reads.append(missing))

    def test_marked_answer_that_there_is_no_log_is_accepted(self):
        history = good_history()
        history.reads.append(Read("n2", 1.1, 1.2, "log", 0, [], True))
        self.assertEqual(check(history), [])

    def test_unmarked_search_without_created_log(self):
        late = Find("n2", 1.1, 1.2, "log", 0, False)
        self.reject("unmarked stale read", lambda it: it.finds.append(late))

    def test_marked_read_of_text_that_never_was(self):
        torn = Read("n2", 6.0, 6.5, "log", 3, ["one", "three"], True)
        self.reject("read shows a text that no version has", lambda it: it.reads.append(torn))

    def test_read_from_the_future(self):
        early = Read("n2", 3.2, 3.3, "log", 4, ["one", "two", "three"], False)
        self.reject("read shows more than was written", lambda it: it.reads.append(early))

    def test_lost_write(self):
        def lose(history):
            for node in NODES:
                history.final[node, "log"] = (3, ["one", "three"])
        self.reject("acknowledged write is lost", lose)

    def test_doubled_write(self):
        def double(history):
            for node in NODES:
                history.final[node, "log"] = (5, ["one", "two", "three", "three"])
        self.reject("write is stored twice", double)

    def test_refused_write_that_is_stored(self):
        def store(history):
            for node in NODES:
                history.final[node, "log"] = (5, ["one", "two", "three", "never"])
        self.reject("refused write is stored", store)

    def test_write_that_overtakes_an_answered_one(self):
        def swap(history):
            history.writes[1].version, history.writes[2].version = 3, 2
            for node in NODES:
                history.final[node, "log"] = (4, ["two", "one", "three"])
        self.reject("write precedes one that was answered before it began", swap)

    def test_write_with_another_version(self):
        def renumber(history):
            history.writes[2].version = 4
        self.reject("write has another version than its answer said", renumber)

    def test_version_without_a_word(self):
        def raise_version(history):
            for node in NODES:
                history.final[node, "log"] = (5, ["one", "two", "three"])
        self.reject("versions and words differ", raise_version)

    def test_lost_creation(self):
        self.reject("acknowledged creation is lost", lambda it: it.titles.pop(("n2", "log")))

    def test_doubled_creation(self):
        self.reject("creation is stored twice", lambda it: it.titles.update({("n1", "log"): 2}))

    def test_doubled_creation_without_an_answer(self):
        self.reject("creation is stored twice", lambda it: it.titles.update({("n1", "lost"): 2}))

    def test_refused_creation_that_is_stored(self):
        def refuse(history):
            history.writes[-1].outcome = REFUSED
            history.titles["n1", "lost"] = 1
        self.reject("refused creation is stored", refuse)

    def test_log_that_is_found_twice(self):
        twice = Find("n2", 6.1, 6.2, "log", 2, True)
        self.reject("search finds a log twice", lambda it: it.finds.append(twice))

    def test_nodes_with_different_texts(self):
        def differ(history):
            history.final["n2", "log"] = (3, ["one", "two"])
        self.reject("nodes differ", differ)

    def test_node_without_a_log(self):
        def miss(history):
            del history.final["n2", "log"]
        self.reject("nodes differ", miss)

    def test_answer_of_a_fourth_kind(self):
        def answer(history):
            history.writes[3].outcome = UNCLEAR
        self.reject("answer that does not say whether the write is stored", answer)

    def test_lost_audit_entry(self):
        def lose(history):
            history.audited["get", "log"] = 1
        self.reject("audit entries are lost", lose)

    def test_audit_entry_just_before_a_kill_may_be_lost(self):
        history = good_history()
        history.answered.append(AuditedCall(("get", "log"), "n1", 7.4, 7.5))
        # Its client noted the answer when the node was gone already.
        history.answered.append(AuditedCall(("get", "log"), "n1", 7.9, 8.3))
        self.assertEqual(check(history), [])
        self.assertEqual(missing_entries(history), (2, 0))

    def test_time_of_a_suspension_before_a_kill_does_not_count(self):
        history = good_history()
        history.answered.append(AuditedCall(("get", "log"), "n1", 3.7, 3.8))
        self.assertEqual({kind for kind, _ in check(history)}, {"audit entries are lost"})
        history.suspensions["n1"] = [(1.0, 2.0), (4.0, 7.5)]
        self.assertEqual(check(history), [])

    def test_audit_entry_of_a_call_after_a_kill_is_lost(self):
        call = AuditedCall(("get", "log"), "n1", 8.2, 8.3)
        self.reject("audit entries are lost", lambda it: it.answered.append(call))

    def test_audit_entry_in_a_deleted_folder_may_be_lost(self):
        history = good_history()
        history.kills["n2"] = [(20.0, 20.1)]
        history.audited["get", "log"] = 1
        history.deleted["get", "log"] = 1
        self.assertEqual(check(history), [])
        self.assertEqual(missing_entries(history), (1, 1))

    def test_audit_entry_that_a_deleted_folder_did_not_have_is_lost(self):
        def lose(history):
            history.kills["n2"] = [(20.0, 20.1)]
            history.audited["get", "log"] = 1
            history.deleted["get", "another log"] = 1
        self.reject("audit entries are lost", lose)

    def test_calls_that_were_not_begun_have_no_audit_entry(self):
        self.assertEqual(
            [is_call_answered(it) for it in (None, "408: b''", "503: overloaded", "429: ", "not found")],
            [False, False, False, True, True],
        )

    def test_key_of_an_audit_entry(self):
        arguments = '{"name": "notes.append", "arguments": {"note_id": "7", "content": "word"}}'
        self.assertEqual(audited_key("notes.append", arguments), ("notes.append", "word"))
        self.assertIsNone(audited_key("knowledge.list", None))

    def test_doubled_audit_entry(self):
        def double(history):
            history.audited["get", "log"] = 4
        self.reject("audit entries are doubled", double)

    def test_outcomes_of_answers(self):
        self.assertEqual(outcome_of(None), UNKNOWN)
        self.assertEqual(outcome_of("did not confirm the change, which may be stored"), UNKNOWN)
        self.assertEqual(outcome_of("cannot be reached: nothing was changed; try again"), REFUSED)
        self.assertEqual(outcome_of("503: overloaded"), REFUSED)
        self.assertEqual(outcome_of("408: b''"), REFUSED)
        self.assertEqual(outcome_of("the call took too long and was stopped"), UNCLEAR)
        self.assertEqual(outcome_of("500: internal server error"), UNCLEAR)


if __name__ == "__main__":
    unittest.main()
