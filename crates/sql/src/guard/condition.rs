//! Check of conditions for WHERE clauses of generated statements.

use super::{
    functions::called_functions,
    lexer::tokenize,
    read::single_statement,
    rejection::{reject, reject_at},
    relations, rules,
    statement::Condition,
    token::{Token, TokenKind, symbol_at},
    tree::{self, TreeError},
};
use crate::{Engine, SqlError};

/// Words that can follow an operand of a condition.
const OPERATOR_WORDS: [&str; 12] = [
    "and", "between", "collate", "ilike", "in", "is", "isnull", "like", "not", "notnull", "or",
    "similar",
];

/// Checks a condition. It may depend only on the current row: a sub-select could read other tables.
pub fn check_condition(engine: Engine, text: &str) -> Result<Condition, SqlError> {
    let lexed = tokenize(engine, text)?;
    if lexed.has_comments {
        return Err(reject("a condition has no comments; leave them out"));
    }
    if let Some(semicolon) = lexed.tokens.iter().find(|token| token.is_symbol(";")) {
        return Err(reject_at(
            text,
            semicolon.offset,
            "a condition has no semicolon; leave it out",
        ));
    }
    let lexed = single_statement(text, lexed)?;
    let Some(first) = lexed.tokens.first() else {
        return Err(reject("the condition is empty; leave the filter out or write one"));
    };
    rules::check_tokens(engine, text, &lexed.tokens)?;
    relations::check_relations(engine, text, &lexed.tokens)?;
    called_functions(engine, text, &lexed.tokens)?;
    let sub_select = lexed.tokens.iter().enumerate().find(|(at, token)| {
        let is_opened = *at == 0 || symbol_at(&lexed.tokens, at - 1, "(");
        token.is_word("select")
            || (is_opened && token.is_one_of(&["table", "with"]))
            || (is_opened && token.is_word("values") && !is_operand(&lexed.tokens, *at))
    });
    if let Some((_, word)) = sub_select {
        let message = "a condition must not contain sub-selects; compare columns instead";
        return Err(reject_at(text, word.offset, message));
    }
    match tree::check_condition_tree(engine, &lexed.masked, lexed.tokens.len()) {
        Ok(()) => {}
        Err(TreeError::Rejected(why)) => return Err(reject_at(text, first.offset, why)),
        // In parentheses, a text without SELECT can only be an expression.
        Err(TreeError::Unparsed) => rules::check_tokens_strictly(text, &lexed.tokens)?,
    }
    Ok(Condition { engine, text: lexed.without_comments.trim().to_owned() })
}

/// Returns true if the word `VALUES` at this place is the name of a column, which `PostgreSQL`
/// accepts. In a sub-select, a row follows it.
fn is_operand(tokens: &[Token], at: usize) -> bool {
    tokens.get(at + 1).is_none_or(|next| match next.kind {
        TokenKind::Symbol => !next.is_symbol("("),
        TokenKind::Word => next.is_one_of(&OPERATOR_WORDS),
        TokenKind::Name | TokenKind::Literal | TokenKind::Number | TokenKind::Place => false,
    })
}
