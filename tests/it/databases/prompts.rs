//! End-to-end tests of the prompts about databases.

use serde_json::{Value, json};

use super::{execute_on_file, profile_settings};
use crate::support::{Library, McpClient as _};

fn prompt_names(listed: &Value) -> Vec<&str> {
    let prompts = listed["prompts"].as_array().unwrap();
    prompts.iter().map(|prompt| prompt["name"].as_str().unwrap()).collect()
}

#[test]
fn database_prompts_need_database() {
    let without = Library::new().serve();
    let listed = without.client().call_method("prompts/list", &json!({}));
    assert_eq!(prompt_names(&listed), ["research", "summarize_conversation"]);
    let library = Library::new();
    let mut settings = String::new();
    for name in ["attic", "shop"] {
        let file = library.file_path(&format!("{name}.db"));
        execute_on_file(&file, "CREATE TABLE t (a)");
        settings += &profile_settings(name, &vademecum_sql::ConnectionTarget::Sqlite(file));
    }
    let server = library.serve_with_settings(&settings);
    let client = server.client();
    let listed = client.call_method("prompts/list", &json!({}));
    let names = prompt_names(&listed);
    assert_eq!(names[2..], ["explore_database", "diagnose_database", "design_schema"]);
    let prompt_request =
        |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let task = client.call_method(
        "prompts/get",
        &prompt_request(
            "diagnose_database",
            json!({ "profile": "shop", "symptom": "late orders" }),
        ),
    );
    let text = task["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("late orders") && text.contains("profile \"shop\""), "{text}");
    assert!(text.contains("database_health") && text.contains("advise_indexes"), "{text}");
    for (name, arguments, expected) in [
        ("explore_database", json!({}), "name one of attic, shop"),
        ("explore_database", json!({ "profile": "cellar" }), "no database `cellar`"),
        ("design_schema", json!({ "profile": "shop" }), "`purpose` is missing"),
        ("design_schema", json!({ "profile": "shop", "purpose": " " }), "purpose: is empty"),
    ] {
        let (code, error) = client.expect_error("prompts/get", &prompt_request(name, arguments));
        assert!(code == -32_602 && error.contains(expected), "{error}");
    }
    let unknown = json!({ "name": "explore_database", "arguments": {} });
    let (_, error) = without.client().expect_error("prompts/get", &unknown);
    assert!(error.contains("unknown prompt `explore_database`"), "{error}");
}
