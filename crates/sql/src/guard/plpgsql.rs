//! Recognition of bodies of `plpgsql` functions that consist of reads and control flow.
//!
//! The body is split into statements by the rules of the language, and each has to begin with one of
//! [`READS`] or be an assignment. What its expressions call is not decided here. The rule holds for
//! functions that are not VOLATILE: the server itself rejects all statements in them that change
//! something, but not texts that are run as statements, nor cursors that others opened.

use super::{
    lexer::tokenize,
    token::{Token, TokenKind, symbol_at},
};
use crate::Engine;

/// First words of statements that read or decide what is run next.
const READS: [&str; 22] = [
    "assert",
    "begin",
    "case",
    "continue",
    "declare",
    "else",
    "elseif",
    "elsif",
    "end",
    "exception",
    "exit",
    "for",
    "foreach",
    "get",
    "if",
    "loop",
    "null",
    "perform",
    "raise",
    "return",
    "when",
    "while",
];

/// First words of queries, which may put their result into variables.
const QUERIES: [&str; 2] = ["select", "with"];

/// Words after which a statement begins.
const BEFORE_STATEMENT: [&str; 5] = ["begin", "declare", "else", "loop", "then"];

/// Words of statements that run a text, use cursors or change something. None occurs in a read, except
/// as a name, which can be quoted.
const NOT_IN_READS: [&str; 28] = [
    "alter",
    "call",
    "close",
    "commit",
    "copy",
    "create",
    "cursor",
    "deallocate",
    "delete",
    "discard",
    "do",
    "drop",
    "execute",
    "fetch",
    "grant",
    "insert",
    "listen",
    "load",
    "lock",
    "merge",
    "move",
    "notify",
    "open",
    "prepare",
    "refcursor",
    "rollback",
    "truncate",
    "update",
];

/// Part of a body that is being read.
#[derive(Debug, Default)]
struct Position {
    /// True in declarations of variables.
    is_declaring: bool,
    /// True in a statement whose INTO names variables.
    may_have_into: bool,
    /// True after the END of a block or statement.
    is_ended: bool,
    /// Number of open brackets.
    brackets: usize,
    /// Number of open CASE expressions.
    cases: usize,
}

/// Returns true if every statement of the body is recognised as a read.
pub(super) fn is_reading_body(text: &str) -> bool {
    let Ok(lexed) = tokenize(Engine::Postgres, text) else { return false };
    let tokens = lexed.tokens.as_slice();
    let (mut position, mut at, mut begins) = (Position::default(), 0, true);
    while let Some(token) = tokens.get(at) {
        if begins {
            at = skip_label(tokens, at);
            let Some(first) = tokens.get(at) else { break };
            if !position.enter(tokens, first, at) {
                return false;
            }
            begins = first.is_symbol(";") || first.is_one_of(&BEFORE_STATEMENT);
        } else {
            let Some(is_last) = position.pass(token) else { return false };
            begins = is_last;
        }
        at += 1;
    }
    position.brackets == 0 && position.cases == 0
}

impl Position {
    /// Begins a statement. Returns false if it is not recognised.
    fn enter(&mut self, tokens: &[Token], first: &Token, at: usize) -> bool {
        self.may_have_into = first.is_one_of(&QUERIES);
        self.is_ended = first.is_word("end");
        if first.is_symbol(";") {
            return true;
        }
        if first.is_word("declare") || first.is_word("begin") {
            self.is_declaring = first.is_word("declare");
            return true;
        }
        let is_known = first.is_one_of(&READS) || self.may_have_into;
        match (self.is_declaring, first.is_name()) {
            (true, is_name) => is_name && !first.is_one_of(&NOT_IN_READS),
            (false, _) => is_known || is_assignment(tokens, at),
        }
    }

    /// Passes a token inside of a statement. Returns true if the statement ends with it, and `None` if it
    /// cannot stand in a read.
    fn pass(&mut self, token: &Token) -> Option<bool> {
        let is_outside = self.brackets == 0 && self.cases == 0;
        match token.text.as_str() {
            "(" | "[" if token.kind == TokenKind::Symbol => self.brackets += 1,
            ")" | "]" if token.kind == TokenKind::Symbol => {
                self.brackets = self.brackets.checked_sub(1)?;
            }
            ";" if token.kind == TokenKind::Symbol => return is_outside.then_some(true),
            _ if token.kind != TokenKind::Word => {}
            "into" if !self.may_have_into => return None,
            word if NOT_IN_READS.contains(&word) => return None,
            // `END IF`, `END CASE`, or the name of the block.
            _ if self.is_ended => {}
            "case" => self.cases += 1,
            "end" => self.cases = self.cases.checked_sub(1)?,
            word if BEFORE_STATEMENT.contains(&word) && is_outside => return Some(true),
            _ => {}
        }
        Some(false)
    }
}

/// Returns the index after a label `<<name>>`.
fn skip_label(tokens: &[Token], at: usize) -> usize {
    let is_label = symbol_at(tokens, at, "<")
        && symbol_at(tokens, at + 1, "<")
        && tokens.get(at + 2).is_some_and(Token::is_name)
        && symbol_at(tokens, at + 3, ">")
        && symbol_at(tokens, at + 4, ">");
    if is_label { at + 5 } else { at }
}

/// Returns true for a variable, a field or an element of it, and `:=` or `=`.
fn is_assignment(tokens: &[Token], at: usize) -> bool {
    let is_variable = tokens.get(at).is_some_and(|first| {
        first.is_name() && !first.is_one_of(&NOT_IN_READS)
            || first.kind == TokenKind::Number && first.text.starts_with('$')
    });
    let mut rest = tokens.iter().skip(at + 1).peekable();
    let mut depth = 0_usize;
    while let Some(token) = rest.next() {
        if token.is_symbol("[") {
            depth += 1;
        } else if token.is_symbol("]") && depth > 0 {
            depth -= 1;
        } else if depth == 0 && token.is_symbol(".") {
            if !rest.next().is_some_and(Token::is_name) {
                return false;
            }
        } else if depth == 0 {
            let is_equals = rest.peek().is_some_and(|next| next.is_symbol("="));
            return is_variable && (token.is_symbol("=") || token.is_symbol(":") && is_equals);
        } else if token.is_symbol(";") {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_of_reads_and_control_flow_is_recognised() {
        for body in [
            "BEGIN RETURN 1; END",
            "begin return query select a from t where b = $1; end;",
            "DECLARE n int := CASE WHEN $1 THEN 1 ELSE 2 END; r record; p t.a%TYPE; BEGIN \
             SELECT count(*) INTO n FROM t; IF n = 0 THEN RETURN TRUE; ELSIF n > 1 THEN n := n + 1; \
             ELSE NULL; END IF; RETURN FALSE; END",
            "<<outer>> DECLARE x int[]; BEGIN x[1] := 2; r.a.b = 3; $1 := 4; \
             <<each>> FOR i IN 1 .. 10 LOOP CONTINUE each WHEN i = 2; EXIT; END LOOP each; \
             FOREACH y IN ARRAY x LOOP PERFORM f(y); END LOOP; WHILE n < 3 LOOP n := n + 1; END LOOP; \
             CASE n WHEN 1, 2 THEN RETURN CASE WHEN a THEN b ELSE c END; ELSE RAISE NOTICE '%', n; END CASE; \
             RETURN NEXT n; END outer",
            "BEGIN BEGIN WITH a AS (SELECT 1) SELECT * INTO STRICT n FROM a; EXCEPTION WHEN no_data_found \
             OR others THEN GET STACKED DIAGNOSTICS m = MESSAGE_TEXT; RETURN 1; END; END",
            "BEGIN -- COPY; \n RETURN 'EXECUTE' || \"copy\" || $a$ DROP $a$; /* CALL */ END",
        ] {
            assert!(is_reading_body(body), "{body}");
        }
    }

    #[test]
    fn body_that_may_do_more_is_not_recognised() {
        for statement in [
            "EXECUTE 'SELECT hit()'",
            "RETURN QUERY EXECUTE 'SELECT hit()'",
            "FOR r IN EXECUTE q LOOP RETURN 1; END LOOP",
            "OPEN c FOR EXECUTE q",
            "OPEN c FOR SELECT 1",
            "FETCH c INTO x",
            "FETCH ALL FROM c",
            "MOVE c",
            "COPY t TO '/tmp/x'",
            "IF TRUE THEN COPY t TO '/tmp/x'; END IF",
            "IF x.case THEN COPY t TO '/tmp/x'; END IF",
            "IF TRUE THEN NULL; ELSE COPY t TO '/tmp/x'; END IF",
            "LOOP COPY t TO '/tmp/x'; END LOOP",
            "<<a>> COPY t TO '/tmp/x'",
            "WITH x AS (DELETE FROM t RETURNING a) SELECT a INTO y FROM x",
            "PERFORM a FROM t FOR UPDATE",
            "RETURN QUERY SELECT a INTO u FROM t",
            "CALL p()",
            "DO 'x'",
            "SET x = 1",
            "RESET x",
            "VACUUM t",
            "ANALYZE t",
            "EXPLAIN ANALYZE SELECT 1",
            "SHOW x",
            "CHECKPOINT",
            "REFRESH MATERIALIZED VIEW v",
            "SECURITY LABEL ON TABLE t IS 'x'",
            "IMPORT FOREIGN SCHEMA x FROM SERVER s INTO y",
            "COMMIT AND CHAIN",
            "ROLLBACK",
            "SAVEPOINT a",
            "x",
            "x.y",
            "x[1; COPY t TO '/tmp/x'; ] := 1",
            "(SELECT 1)",
            "END IF COPY t TO '/tmp/x'",
        ] {
            assert!(!is_reading_body(&format!("BEGIN {statement}; END")), "{statement}");
            let hidden = format!(
                "DECLARE a int := CASE 1 WHEN 1 THEN 2 END; BEGIN RETURN 1; {statement}; END"
            );
            assert!(!is_reading_body(&hidden), "{hidden}");
        }
        for body in [
            "#variable_conflict use_variable\nBEGIN RETURN 1; END",
            "DECLARE c CURSOR FOR SELECT 1; BEGIN RETURN 1; END",
            "DECLARE c refcursor := 'x'; BEGIN RETURN 1; END",
            "BEGIN RETURN CASE WHEN a; COPY t TO '/tmp/x'; END",
            "BEGIN RETURN (1; END",
            "BEGIN RETURN 'a; END",
            "SET x = 1",
        ] {
            assert!(!is_reading_body(body), "{body}");
        }
    }
}
