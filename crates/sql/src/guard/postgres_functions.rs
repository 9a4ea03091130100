//! Judgement of the functions that a statement of `PostgreSQL` calls, as the catalog describes them.

use super::function_policy::{may_be_volatile, rejection_reason};
use crate::Engine;

const VOLATILE: &str = "is VOLATILE, so it may change something";

/// Function that running a statement can call, directly or through a view, operator, cast, type or
/// other function.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of the catalog")]
#[derive(Clone, Debug, Default)]
pub struct PostgresFunction {
    /// Schema of the function.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Language of the body: `internal`, `c`, `sql` or `other`.
    pub language: String,
    /// Body, or the symbol of a C function.
    pub source: String,
    /// True if it is declared VOLATILE.
    pub is_volatile: bool,
    /// True for aggregates, whose parts are functions of their own.
    pub is_aggregate: bool,
    /// True for the handler of an access method and support functions of indexes, which only the
    /// server calls.
    pub is_handler: bool,
    /// True if it is not part of the server.
    pub is_user_defined: bool,
    /// True if it is part of an extension and owned by a superuser.
    pub is_extension: bool,
    /// True if it changes settings while it runs.
    pub has_settings: bool,
    /// True if the catalog holds its body as a parse tree.
    pub has_parsed_body: bool,
}

/// Result of judging a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionVerdict {
    /// It only reads.
    Harmless,
    /// The profile allows it. It may leave state in the session.
    Allowed,
    /// It is harmless if all that its body calls is. The body is the text of an SQL statement.
    BodyToCheck,
    /// It is rejected for this reason.
    Rejected(&'static str),
}

impl PostgresFunction {
    /// Judges the function. `allowed` are the functions that the profile allows, as `schema.name` or
    /// `name`.
    pub fn judge(&self, allowed: &[String]) -> FunctionVerdict {
        if is_allowed(&self.schema, &self.name, allowed) {
            return FunctionVerdict::Allowed;
        }
        match self.language.as_str() {
            "internal" | "c" => self.judge_compiled(),
            "sql" if !self.is_user_defined => self.judge_declared(),
            "sql" if self.is_volatile => FunctionVerdict::Rejected(VOLATILE),
            "sql" if self.has_settings => {
                FunctionVerdict::Rejected("changes settings while it runs")
            }
            "sql" if self.has_parsed_body => FunctionVerdict::Harmless,
            "sql" => FunctionVerdict::BodyToCheck,
            _ => FunctionVerdict::Rejected("is not written in SQL, so its body cannot be checked"),
        }
    }

    /// Judges a compiled function: only those of the server and of extensions are trusted to be what
    /// they are declared.
    fn judge_compiled(&self) -> FunctionVerdict {
        if self.is_aggregate {
            FunctionVerdict::Harmless
        } else if self.is_user_defined && !self.is_extension {
            FunctionVerdict::Rejected(
                "is compiled code that belongs to no extension of a superuser",
            )
        } else {
            self.judge_declared()
        }
    }

    /// Judges a function of the server or of an extension by its name, symbol and volatility.
    fn judge_declared(&self) -> FunctionVerdict {
        let names = [&self.name, &self.source];
        let reason = names.iter().find_map(|name| rejection_reason(Engine::Postgres, name, None));
        if let Some(reason) = reason {
            FunctionVerdict::Rejected(reason)
        } else if self.is_volatile && !self.is_handler && !may_be_volatile(&self.schema, &self.name)
        {
            FunctionVerdict::Rejected(VOLATILE)
        } else {
            FunctionVerdict::Harmless
        }
    }
}

/// Returns true if a list of `schema.name` or `name` contains the function.
pub fn is_allowed(schema: &str, name: &str, allowed: &[String]) -> bool {
    allowed.iter().any(|entry| match entry.strip_suffix(name) {
        Some("") => true,
        Some(qualifier) => qualifier.strip_suffix('.') == Some(schema),
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(schema: &str, name: &str, language: &str) -> PostgresFunction {
        let (schema, name, language) = (schema.to_owned(), name.to_owned(), language.to_owned());
        PostgresFunction { schema, source: name.clone(), name, language, ..Default::default() }
    }

    fn is_rejected(function: &PostgresFunction) -> bool {
        matches!(function.judge(&[]), FunctionVerdict::Rejected(_))
    }

    #[test]
    fn server_function_is_judged_by_name_and_volatility() {
        let lower = function("pg_catalog", "lower", "internal");
        assert_eq!(lower.judge(&[]), FunctionVerdict::Harmless);
        let random =
            PostgresFunction { is_volatile: true, ..function("pg_catalog", "random", "internal") };
        assert_eq!(random.judge(&[]), FunctionVerdict::Harmless);
        assert!(is_rejected(&PostgresFunction { name: "other".to_owned(), ..random.clone() }));
        assert!(is_rejected(&function("pg_catalog", "table_to_xml", "internal")));
        let handler = PostgresFunction { is_handler: true, name: "bthandler".to_owned(), ..random };
        assert_eq!(handler.judge(&[]), FunctionVerdict::Harmless);
    }

    #[test]
    fn user_function_needs_provable_body_or_permission() {
        let own = |language| PostgresFunction {
            is_user_defined: true,
            ..function("public", "total", language)
        };
        assert_eq!(own("sql").judge(&[]), FunctionVerdict::BodyToCheck);
        let parsed = PostgresFunction { has_parsed_body: true, ..own("sql") };
        assert_eq!(parsed.judge(&[]), FunctionVerdict::Harmless);
        for language in ["plpgsql", "plpython3u", "c", "internal"] {
            assert!(is_rejected(&own(language)), "{language}");
            assert_eq!(own(language).judge(&["total".to_owned()]), FunctionVerdict::Allowed);
            assert_eq!(own(language).judge(&["public.total".to_owned()]), FunctionVerdict::Allowed);
            for other in ["other.total", "subtotal", "otal", ".total"] {
                assert_ne!(own(language).judge(&[other.to_owned()]), FunctionVerdict::Allowed);
            }
        }
        let disguised =
            PostgresFunction { is_extension: true, source: "dblink_exec".to_owned(), ..own("c") };
        assert!(is_rejected(&disguised));
        assert!(is_rejected(&PostgresFunction { is_extension: true, ..own("plpgsql") }));
    }
}
