//! Objects that a rewritten parse tree of `PostgreSQL` names.
//!
//! With `debug_print_rewritten` the server prints the tree of a statement after it has resolved all
//! names, expanded views at every level and added row security, and before it plans or runs
//! anything. Fields are printed as a label and a value: `:funcid 3826`, `:opnos (o 96 97)`.
//!
//! The text is split at whitespace, without regard to quotes and escapes. Names chosen by the author
//! of a statement may thereby add objects, but never hide one: a label and its value are always
//! words of their own.

use std::collections::BTreeSet;

use crate::{ErrorCode, SqlError};

/// Lowest identifier of objects that are not part of the server.
pub(super) const FIRST_USER_OBJECT: u32 = 16_384;

/// Identifiers of the objects in one or more trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CalledObjects {
    pub(super) functions: BTreeSet<u32>,
    pub(super) operators: BTreeSet<u32>,
    pub(super) relations: BTreeSet<u32>,
    /// Types that are not part of the server.
    pub(super) types: BTreeSet<u32>,
    /// True if a tree contains a statement other than SELECT.
    pub(super) changes_data: bool,
}

impl CalledObjects {
    /// Adds the objects of a tree. Fails on a field that may name an object of an unknown class.
    pub(super) fn add_tree(&mut self, tree: &str) -> Result<(), SqlError> {
        let mut label = None;
        for word in tree.split_ascii_whitespace() {
            if let Some(name) = word.strip_prefix(':').filter(|name| is_label(name)) {
                label = Some(name);
                continue;
            }
            let Some(name) = label else { continue };
            if word == "(o" {
                continue;
            }
            match word.trim_end_matches([')', '}']).parse() {
                Ok(object) => self.add_object(name, object)?,
                Err(_) => label = None,
            }
            if word.ends_with([')', '}']) {
                label = None;
            }
        }
        Ok(())
    }

    fn add_object(&mut self, label: &str, object: u32) -> Result<(), SqlError> {
        let objects = match label {
            "commandType" => {
                self.changes_data |= object != 1;
                return Ok(());
            }
            "funcid" | "opfuncid" | "hashfuncid" | "negfuncid" | "aggfnoid" | "winfnoid"
            | "tsmhandler" | "startInRangeFunc" | "endInRangeFunc" => &mut self.functions,
            "opno" | "opnos" | "eqop" | "sortop" | "cycle_mark_neop" => &mut self.operators,
            "relid" | "resorigtbl" => &mut self.relations,
            _ if object < FIRST_USER_OBJECT => return Ok(()),
            _ if names_type(label) => &mut self.types,
            _ if is_no_called_object(label) => return Ok(()),
            _ => {
                let message = format!(
                    "the server's parse tree of this statement has the unknown field `{label}`, so \
                     what the statement calls cannot be checked"
                );
                return Err(SqlError::new(ErrorCode::XsqlRoBlocked, message));
            }
        };
        if object != 0 {
            objects.insert(object);
        }
        Ok(())
    }
}

fn is_label(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

fn names_type(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    ["type", "types", "typeid", "type_id", "typid", "typeoid"].iter().any(|it| label.ends_with(it))
}

/// Returns true for fields with large numbers that are not called: positions, lengths, constants,
/// flags, roles, constraints, collations, and operator families, whose functions are found by type.
fn is_no_called_object(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    let parts = ["coll", "typmod", "typemod", "location", "opfamil"];
    let endings = ["len", "val", "value", "options", "_start", "_end", "min", "max", "deps"];
    label == "checkasuser"
        || parts.iter().any(|part| label.contains(part))
        || endings.iter().any(|ending| label.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects_of(tree: &str) -> CalledObjects {
        let mut objects = CalledObjects::default();
        objects.add_tree(tree).unwrap();
        objects
    }

    #[test]
    fn tree_names_functions_operators_relations_and_types() {
        let objects = objects_of(
            "({QUERY :commandType 1 :rtable ({RTE :alias <> :rtekind 0 :relid 16500 :relkind r}) \
             :targetList ({TARGETENTRY :expr {FUNCEXPR :funcid 3826 :funcresulttype 25\n:args ({OPEXPR \
             :opno 96 :opfuncid 0 :args ({CONST :consttype 16999 :constvalue 4 [ 99 0 0 0 ]})})}}) \
             :constraintDeps (o 17000) :rowcompare {ROWCOMPAREEXPR :opnos (o 97 521)} :stmt_len 99999})",
        );
        assert_eq!(objects.functions, BTreeSet::from([3826]));
        assert_eq!(objects.operators, BTreeSet::from([96, 97, 521]));
        assert_eq!(objects.relations, BTreeSet::from([16_500]));
        assert_eq!(objects.types, BTreeSet::from([16_999]));
        assert!(!objects.changes_data);
        assert!(objects_of("{QUERY :commandType 5 :x 1}").changes_data);
    }

    #[test]
    fn names_in_tree_cannot_hide_objects() {
        for name in
            [":funcid", "a\\ :funcid\\", "\\\\", "(", "\"x\\", "x\n:funcid", "[ 1", ":relid"]
        {
            let tree =
                format!("{{ALIAS :aliasname {name} :colnames (\"{name}\")}} :funcid 4711 :y 1");
            assert!(objects_of(&tree).functions.contains(&4711), "{name}");
        }
    }

    #[test]
    fn unknown_field_with_user_object_is_rejected() {
        let mut objects = CalledObjects::default();
        assert_eq!(objects.add_tree("{NODE :flags 7 :newfield 12}"), Ok(()));
        let error = objects.add_tree("{NODE :newfield 20000}").unwrap_err();
        assert!(error.message.contains("`newfield`"), "{error}");
    }
}
