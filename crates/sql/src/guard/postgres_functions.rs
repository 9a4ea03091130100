//! Judgement of the functions that a statement of `PostgreSQL` calls, as the catalog describes them.

use super::{
    function_policy::{may_be_volatile, rejection_reason},
    object_functions,
    plpgsql::is_reading_body,
};
use crate::Engine;

const VOLATILE: &str = "is VOLATILE, so it may change something";
const TAKES_OBJECT: &str =
    "takes a type, relation or other object as a value, and may run what belongs to it";

/// Pseudo-types whose value has the type that the caller gives it.
const POLYMORPHIC: [&str; 12] = [
    "anyarray",
    "anycompatible",
    "anycompatiblearray",
    "anycompatiblemultirange",
    "anycompatiblenonarray",
    "anycompatiblerange",
    "anyelement",
    "anyenum",
    "anymultirange",
    "anynonarray",
    "anyrange",
    "record",
];

/// Function that running a statement can call, directly or through a view, operator, cast, type or
/// other function.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of the catalog")]
#[derive(Clone, Debug, Default)]
pub struct PostgresFunction {
    /// Schema of the function.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Language of the body: `internal`, `c`, `sql`, `plpgsql` or `other`.
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
    /// True for the input and output functions of a type, which the server calls with that type.
    pub is_type_function: bool,
    /// True if it changes settings while it runs.
    pub has_settings: bool,
    /// Value of the setting `search_path` while it runs, if it changes only that.
    pub search_path: Option<String>,
    /// True if the profile trusts it, and only roles that may do anything in the database can replace
    /// it.
    pub is_trusted: bool,
    /// Types of the arguments.
    pub argument_types: Vec<String>,
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
    /// It is harmless if all that has a name in its body is. The body is a text of `plpgsql` that consists
    /// of reads.
    NamesToCheck,
    /// It is rejected for this reason.
    Rejected(&'static str),
}

impl PostgresFunction {
    /// Judges the function. `allowed` are the functions that the profile allows, as `schema.name` or
    /// `name`.
    pub fn judge(&self, allowed: &[String]) -> FunctionVerdict {
        if is_allowed(&self.schema, &self.name, allowed)
            || self.is_trusted && !self.is_volatile && self.denial().is_none()
        {
            return FunctionVerdict::Allowed;
        }
        match self.language.as_str() {
            "internal" | "c" => self.judge_compiled(),
            "sql" if !self.is_user_defined => self.judge_declared(),
            "sql" | "plpgsql" if self.is_volatile => FunctionVerdict::Rejected(VOLATILE),
            "sql" | "plpgsql" if self.has_settings && self.search_path.is_none() => {
                FunctionVerdict::Rejected("changes settings while it runs")
            }
            "plpgsql" if self.is_polymorphic() => {
                FunctionVerdict::Rejected("takes values of any type, so its body cannot be checked")
            }
            "plpgsql" if is_reading_body(&self.source) => FunctionVerdict::NamesToCheck,
            "plpgsql" => FunctionVerdict::Rejected(
                "has a body with more than reads, a text that is run as a statement, or a cursor",
            ),
            "sql" if self.has_parsed_body => FunctionVerdict::Harmless,
            "sql" => FunctionVerdict::BodyToCheck,
            _ => FunctionVerdict::Rejected(
                "is not written in SQL or plpgsql, so its body cannot be checked",
            ),
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
        if let Some(reason) = self.denial() {
            FunctionVerdict::Rejected(reason)
        } else if self.takes_unknown_object() {
            FunctionVerdict::Rejected(TAKES_OBJECT)
        } else if self.is_volatile && !self.is_handler && !may_be_volatile(&self.schema, &self.name)
        {
            FunctionVerdict::Rejected(VOLATILE)
        } else {
            FunctionVerdict::Harmless
        }
    }

    /// Returns the reason why a function of its name or symbol is denied, if it is.
    fn denial(&self) -> Option<&'static str> {
        let names = [&self.name, &self.source];
        names.iter().find_map(|name| rejection_reason(Engine::Postgres, name, None))
    }

    /// Returns true if it decides by the value of an argument what it calls.
    fn takes_unknown_object(&self) -> bool {
        let is_called_by_server = self.is_type_function || self.is_handler || self.is_aggregate;
        !is_called_by_server
            && object_functions::takes_object(&self.argument_types)
            && !object_functions::is_harmless(!self.is_user_defined, &self.name)
    }

    /// Returns true if it may convert a text to the type that an argument has, and so make a value
    /// of that type or of a part of it.
    pub fn makes_values(&self) -> bool {
        let is_compiled = matches!(self.language.as_str(), "internal" | "c");
        is_compiled
            && (self.is_user_defined || self.name.contains("populate_record"))
            && self.is_polymorphic()
    }

    /// Returns true if the caller decides which type an argument has.
    fn is_polymorphic(&self) -> bool {
        self.argument_types.iter().any(|it| POLYMORPHIC.contains(&it.as_str()))
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
        for language in ["plpython3u", "c", "internal"] {
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
        let trusted = PostgresFunction { is_trusted: true, ..own("plpgsql") };
        assert_eq!(trusted.judge(&[]), FunctionVerdict::Allowed);
        assert!(is_rejected(&PostgresFunction { is_volatile: true, ..trusted.clone() }));
        assert!(is_rejected(&PostgresFunction { name: "dblink_exec".to_owned(), ..trusted }));
    }

    #[test]
    fn plpgsql_function_needs_reading_body() {
        let own = PostgresFunction {
            is_user_defined: true,
            source: "BEGIN RETURN lower($1); END".to_owned(),
            ..function("public", "total", "plpgsql")
        };
        assert_eq!(own.judge(&[]), FunctionVerdict::NamesToCheck);
        for argument in ["anyelement", "record", "anyarray"] {
            let argument_types = vec!["text".to_owned(), argument.to_owned()];
            assert!(is_rejected(&PostgresFunction { argument_types, ..own.clone() }), "{argument}");
        }
        assert!(is_rejected(&PostgresFunction { is_volatile: true, ..own.clone() }));
        assert!(is_rejected(&PostgresFunction { has_settings: true, ..own.clone() }));
        let source = "BEGIN EXECUTE $1; END".to_owned();
        assert!(is_rejected(&PostgresFunction { source, ..own }));
    }

    #[test]
    fn sql_function_may_set_only_search_path() {
        let own = PostgresFunction {
            is_user_defined: true,
            has_settings: true,
            ..function("public", "total", "sql")
        };
        assert!(is_rejected(&own));
        let with_path = PostgresFunction { search_path: Some("\"\"".to_owned()), ..own };
        assert_eq!(with_path.judge(&[]), FunctionVerdict::BodyToCheck);
    }

    /// Recorded functions with an argument that names an object, of the versions 13 to 18: one
    /// signature a line.
    const RECORDED: &str = include_str!("../../tests/fixtures/object_functions.txt");

    /// Returns the recorded functions.
    fn recorded_functions() -> impl Iterator<Item = PostgresFunction> {
        RECORDED.lines().filter(|line| !line.starts_with("--")).map(|line| {
            let (name, arguments) = line.trim_end_matches(')').split_once('(').unwrap();
            let argument_types = arguments.split(',').map(str::to_owned).collect();
            PostgresFunction { argument_types, ..function("pg_catalog", name, "internal") }
        })
    }

    #[test]
    fn function_that_converts_to_named_type_is_rejected() {
        let mut evaluating = 0;
        for function in recorded_functions() {
            let name = function.name.as_str();
            assert!(object_functions::takes_object(&function.argument_types), "{name}");
            let evaluates = [
                "array_in",
                "domain_in",
                "multirange_in",
                "range_in",
                "record_in",
                "satisfies_hash_partition",
                "pg_get_partition_constraintdef",
                "fmgr_sql_validator",
                "plpgsql_validator",
            ];
            if evaluates.contains(&name) {
                evaluating += 1;
                assert!(is_rejected(&function), "{name}");
                let by_server = PostgresFunction { is_type_function: true, ..function };
                assert!(!is_rejected(&by_server), "{}", by_server.name);
            }
        }
        assert_eq!(evaluating, 9);
    }

    #[test]
    fn each_recorded_function_is_rejected_or_has_reason() {
        let (rejected, harmless): (Vec<_>, Vec<_>) = recorded_functions().partition(is_rejected);
        assert!(harmless.iter().all(|it| object_functions::is_harmless(true, &it.name)));
        let names: std::collections::BTreeSet<_> = rejected.iter().map(|it| &it.name).collect();
        // The numbers change only with the lists; new functions of a server are rejected.
        assert_eq!((names.len(), harmless.len()), (86, 374));
        let unknown = PostgresFunction {
            argument_types: vec!["regtype[]".to_owned()],
            ..function("pg_catalog", "new_function", "internal")
        };
        assert!(is_rejected(&unknown));
    }
}
