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

/// Object that the server itself defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ServerObject {
    /// Function or aggregate.
    Function(u32),
    /// Operator.
    Operator(u32),
    /// Table or view.
    Relation(u32),
}

/// Identifiers of the objects in one or more trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CalledObjects {
    pub(super) functions: BTreeSet<u32>,
    pub(super) operators: BTreeSet<u32>,
    pub(super) relations: BTreeSet<u32>,
    /// Types that are not part of the server, of values that the statement makes: from a text, or as
    /// the result of a function of a user or an extension.
    pub(super) types: BTreeSet<u32>,
    /// Types that are not part of the server, of values that exist already.
    pub(super) read_types: BTreeSet<u32>,
    /// Relations that the bodies of functions name. The policies of their owners may apply.
    pub(super) body_relations: BTreeSet<u32>,
    /// True if a tree contains a statement other than SELECT.
    pub(super) changes_data: bool,
}

impl CalledObjects {
    /// Adds the objects of a tree. Fails on a field that may name an object of an unknown class.
    pub(super) fn add_tree(&mut self, tree: &str) -> Result<(), SqlError> {
        let makes_columns = tree.contains("{TABLEFUNC");
        let mut label = None;
        // The field and the number that stand immediately before the current field.
        let (mut before, mut last) = (None, None);
        let mut is_client_parameter = true;
        for word in tree.split_ascii_whitespace() {
            if let Some(name) = word.strip_prefix(':').filter(|name| is_label(name)) {
                label = Some(name);
                before = last.take();
                continue;
            }
            last = None;
            let Some(name) = label else { continue };
            if word == "(o" {
                continue;
            }
            match word.trim_end_matches([')', '}']).parse() {
                Ok(object) => {
                    if name == "paramkind" {
                        is_client_parameter = object == 0;
                    }
                    let is_read = reads_value(name, before)
                        || name == "coltypes" && !makes_columns
                        || name == "paramtype" && !is_client_parameter;
                    self.add_object(name, object, is_read)?;
                    last = Some((name, object));
                }
                Err(_) => label = None,
            }
            if word.ends_with([')', '}']) {
                (label, last) = (None, None);
            }
        }
        Ok(())
    }

    /// Has every type count as one of values that the statement makes. Returns true if that changes
    /// anything.
    pub(super) fn make_read_types(&mut self) -> bool {
        let count = self.types.len();
        self.types.append(&mut self.read_types);
        self.types.len() > count
    }

    /// Returns the functions, operators and relations, if all objects are part of the server.
    pub(super) fn of_server_only(&self) -> Option<BTreeSet<ServerObject>> {
        let has_types = !self.types.is_empty() || !self.read_types.is_empty();
        let functions = self.functions.iter().copied().map(ServerObject::Function);
        let operators = self.operators.iter().copied().map(ServerObject::Operator);
        let relations = self.relations.iter().copied().map(ServerObject::Relation);
        let named = [&self.functions, &self.operators, &self.relations];
        let is_of_server = !has_types
            && self.body_relations.is_empty()
            && named.iter().all(|ids| ids.iter().all(|id| *id < FIRST_USER_OBJECT));
        is_of_server.then(|| functions.chain(operators).chain(relations).collect())
    }

    /// Adds the objects of a body of a function.
    pub(super) fn add_body(&mut self, tree: &str) -> Result<(), SqlError> {
        let mut body = Self::default();
        body.add_tree(tree)?;
        self.functions.append(&mut body.functions);
        self.operators.append(&mut body.operators);
        self.types.append(&mut body.types);
        self.read_types.append(&mut body.read_types);
        self.body_relations.append(&mut body.relations);
        self.changes_data |= body.changes_data;
        Ok(())
    }

    fn add_object(&mut self, label: &str, object: u32, is_read: bool) -> Result<(), SqlError> {
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
            _ if is_read => &mut self.read_types,
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

/// Returns true for the type of a value that exists already: a column, a constant (which parsing has
/// made), a part of a row or an array, and the result of a function of the server, which takes it
/// from its arguments; [`PostgresFunction::makes_values`] names those that do not.
///
/// [`PostgresFunction::makes_values`]: crate::guard::PostgresFunction::makes_values
fn reads_value(label: &str, before: Option<(&str, u32)>) -> bool {
    match label {
        "vartype" | "consttype" | "casetype" | "coalescetype" | "minmaxtype" | "array_typeid"
        | "element_typeid" | "row_typeid" | "aggargtypes" | "aggtranstype" | "colTypes"
        | "ctecoltypes" | "refrestype" | "refelemtype" | "refcontainertype" => true,
        "resulttype" => before.is_some_and(|(field, _)| field == "fieldnum"),
        "funcresulttype" | "opresulttype" | "aggtype" | "wintype" => {
            before.is_some_and(|(field, function)| {
                ["funcid", "opfuncid", "aggfnoid", "winfnoid"].contains(&field)
                    && (1..FIRST_USER_OBJECT).contains(&function)
            })
        }
        _ => false,
    }
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
        assert_eq!(objects.types, BTreeSet::new());
        assert_eq!(objects.read_types, BTreeSet::from([16_999]));
        assert!(!objects.changes_data);
        assert!(objects_of("{QUERY :commandType 5 :x 1}").changes_data);
    }

    #[test]
    fn made_values_differ_from_read_ones() {
        for (tree, is_made) in [
            ("{VAR :varno 1 :vartype 20000 :vartypmod -1}", false),
            ("{FIELDSELECT :arg {VAR :varno 1} :fieldnum 2 :resulttype 20000}", false),
            ("{COERCETODOMAIN :arg {VAR :location 7} :resulttype 20000}", true),
            ("{COERCETODOMAIN :arg {X :fieldnum 7} :resulttype 20000}", true),
            ("{FUNCEXPR :funcid 2331 :funcresulttype 20000}", false),
            ("{FUNCEXPR :funcid 16500 :funcresulttype 20000}", true),
            ("{AGGREF :aggfnoid 2335 :aggtype 20000 :aggargtypes (o 20000)}", false),
            ("{OPEXPR :opno 16400 :opfuncid 0 :opresulttype 20000}", true),
            ("{PARAM :paramkind 0 :paramid 1 :paramtype 20000}", true),
            ("{PARAM :paramkind 2 :paramid 1 :paramtype 20000}", false),
            ("{RTE :rtekind 6 :coltypes (o 23 20000)}", false),
            ("{RTE :tablefunc {TABLEFUNC :coltypes (o 23 20000)}}", true),
            ("{RANGETBLFUNCTION :funccoltypes (o 20000)}", true),
            ("{JSONRETURNING :typid 20000}", true),
        ] {
            let objects = objects_of(tree);
            let found = (objects.types.contains(&20_000), objects.read_types.contains(&20_000));
            assert_eq!(found, (is_made, !is_made), "{tree}");
        }
        let mut objects = objects_of("{VAR :vartype 20000}");
        assert!(objects.make_read_types() && !objects.make_read_types());
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
