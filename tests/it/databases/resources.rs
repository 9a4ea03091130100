//! `read_resource`, and which program keeps a database.

use serde_json::{Value, json};
use vademecum_sql::ConnectionTarget;

use super::{Shops, TABLES, answer, of, profile, run};
use crate::support::{Library, McpClient as _, TestDatabase};

const TOOL: &str = "read_resource";

/// What a resource says, as JSON.
fn system(contents: &Value) -> Value {
    serde_json::from_str(contents["text"].as_str().unwrap()).unwrap()
}

#[test]
fn the_system_of_each_database_is_a_resource() {
    let shops = Shops::open();
    let client = shops.client();
    for (uri, product, version) in [
        (
            "pg://system_info",
            "postgresql_version",
            shops.postgres.query_value("SHOW server_version"),
        ),
        ("mysql://system_info", "mariadb_version", shops.mariadb.query_value("SELECT VERSION()")),
        ("sqlite://system_info", "sqlite_version", rusqlite::version().to_owned()),
    ] {
        let (text, structured) = answer(&client, TOOL, &json!({ "uri": uri }));
        let told = system(&structured["contents"][0]);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), told);
        assert_eq!(told[product], version, "{told}");
        assert!(told["full_version"].as_str().unwrap().contains(&version), "{told}");
        for field in
            ["version_number", "operating_system", "architecture", "compiler", "bit_version"]
        {
            assert!(told[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {told}");
        }
        assert_eq!(told.as_object().unwrap().len(), 7, "no host, no user: {told}");
        let read = client.call_method("resources/read", &json!({ "uri": uri }));
        assert_eq!(system(&read["contents"][0]), told);
        assert_eq!(read["contents"][0]["mimeType"], "application/json");
    }
    let number = shops.postgres.query_value("SHOW server_version_num");
    let (_, structured) = answer(&client, TOOL, &json!({ "uri": "pg://system_info" }));
    assert_eq!(system(&structured["contents"][0])["version_number"], number);
}

#[test]
fn what_can_be_read_is_listed() {
    let shops = Shops::open();
    let client = shops.client();
    let (text, structured) = answer(&client, TOOL, &json!({ "list": true }));
    let listed = client.call_method("resources/list", &json!({}));
    let uris = |list: &Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|resource| resource["uri"].as_str().unwrap().to_owned()).collect()
    };
    let expected = [
        "media://types",
        "knowledge://stats",
        "mysql://system_info",
        "pg://system_info",
        "sqlite://system_info",
    ];
    assert_eq!(uris(&structured["resources"]), expected);
    assert_eq!(uris(&listed["resources"]), expected);
    for uri in expected {
        assert!(text.contains(&format!("URI: {uri}\n")), "{text}");
        let (text, _) = answer(&client, TOOL, &json!({ "uri": uri }));
        assert!(serde_json::from_str::<Value>(&text).unwrap().is_object(), "{text}");
    }
    let said = client.expect_tool_error(TOOL, &json!({}));
    assert!(said.contains("uri: is missing") && said.contains("`list`"), "{said}");
}

#[test]
fn several_databases_of_one_engine_are_told_apart_by_their_profiles() {
    let (postgres, library) = (TestDatabase::postgres(), Library::new());
    run(&library.file_path("shop.db"), TABLES);
    let settings = [
        profile("one", &postgres.target()),
        profile("two", &postgres.target()),
        profile("file", &ConnectionTarget::Sqlite(library.file_path("shop.db"))),
    ];
    let server = library.serve_with_settings(&settings.concat());
    let client = server.client();
    let (text, _) = answer(&client, TOOL, &json!({ "list": true }));
    for uri in ["pg://one/system_info", "pg://two/system_info", "sqlite://system_info"] {
        assert!(text.contains(&format!("URI: {uri}\n")), "{text}");
        let (_, structured) = answer(&client, TOOL, &json!({ "uri": uri }));
        assert_eq!(structured["contents"][0]["uri"], uri);
    }
    let said = client.expect_tool_error(TOOL, &json!({ "uri": "pg://system_info" }));
    assert!(said.contains("pg://one/system_info, pg://two/system_info"), "{said}");
    let named = of("two", &json!({ "uri": "pg://system_info" }));
    answer(&client, TOOL, &named);
}

#[test]
fn what_is_not_there_is_a_failure_of_the_request() {
    let shops = Shops::open();
    for uri in ["pg://nope", "pg://nobody/system_info", "nowhere"] {
        let call = json!({ "name": TOOL, "arguments": { "uri": uri } });
        let session = shops.server.open_session();
        let (code, said) = session.expect_error("tools/call", &call);
        assert_eq!(code, -32_002, "{said}");
        assert_eq!(session.expect_error("resources/read", &json!({ "uri": uri })), (code, said));
        let (code, said) = shops.server.stateless_client().expect_error("tools/call", &call);
        assert_eq!(code, -32_602, "{said}");
    }
}
