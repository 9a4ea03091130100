//! End-to-end tests of `read_resource` and of the system information of each database.

use serde_json::{Value, json};
use vademecum_sql::ConnectionTarget;

use super::{
    ShopDatabases, TABLES_SQL, call_tool, execute_on_file, profile_settings, with_profile,
};
use crate::support::{Library, McpClient as _, TestDatabase};

const TOOL: &str = "read_resource";

/// Parses the text of a resource as JSON.
fn parse_system_info(contents: &Value) -> Value {
    serde_json::from_str(contents["text"].as_str().unwrap()).unwrap()
}

#[test]
fn system_info_of_each_database_is_readable() {
    let shops = ShopDatabases::start();
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
        let (text, structured) = call_tool(&client, TOOL, &json!({ "uri": uri }));
        let system_info = parse_system_info(&structured["contents"][0]);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), system_info);
        assert_eq!(system_info[product], version, "{system_info}");
        assert!(system_info["full_version"].as_str().unwrap().contains(&version), "{system_info}");
        for field in
            ["version_number", "operating_system", "architecture", "compiler", "bit_version"]
        {
            assert!(
                system_info[field].as_str().is_some_and(|text| !text.is_empty()),
                "{field}: {system_info}"
            );
        }
        assert_eq!(
            system_info.as_object().unwrap().len(),
            7,
            "unexpected fields, possibly host or user: {system_info}"
        );
        let read = client.call_method("resources/read", &json!({ "uri": uri }));
        assert_eq!(parse_system_info(&read["contents"][0]), system_info);
        assert_eq!(read["contents"][0]["mimeType"], "application/json");
    }
    let number = shops.postgres.query_value("SHOW server_version_num");
    let (_, structured) = call_tool(&client, TOOL, &json!({ "uri": "pg://system_info" }));
    assert_eq!(parse_system_info(&structured["contents"][0])["version_number"], number);
}

#[test]
fn readable_resources_are_listed() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    let (text, structured) = call_tool(&client, TOOL, &json!({ "list": true }));
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
    let mut others = uris(&listed["resources"]);
    others.retain(|uri| !uri.starts_with("skill://"));
    assert_eq!(others, expected);
    for uri in expected {
        assert!(text.contains(&format!("URI: {uri}\n")), "{text}");
        let (text, _) = call_tool(&client, TOOL, &json!({ "uri": uri }));
        assert!(serde_json::from_str::<Value>(&text).unwrap().is_object(), "{text}");
    }
    let error = client.expect_tool_error(TOOL, &json!({}));
    assert!(error.contains("uri: is missing") && error.contains("`list`"), "{error}");
}

#[test]
fn same_engine_databases_are_distinguished_by_profile() {
    let (postgres, library) = (TestDatabase::postgres(), Library::new());
    execute_on_file(&library.file_path("shop.db"), TABLES_SQL);
    let settings = [
        profile_settings("one", &postgres.target()),
        profile_settings("two", &postgres.target()),
        profile_settings("file", &ConnectionTarget::Sqlite(library.file_path("shop.db"))),
    ];
    let server = library.serve_with_settings(&settings.concat());
    let client = server.client();
    let (text, _) = call_tool(&client, TOOL, &json!({ "list": true }));
    for uri in ["pg://one/system_info", "pg://two/system_info", "sqlite://system_info"] {
        assert!(text.contains(&format!("URI: {uri}\n")), "{text}");
        let (_, structured) = call_tool(&client, TOOL, &json!({ "uri": uri }));
        assert_eq!(structured["contents"][0]["uri"], uri);
    }
    let error = client.expect_tool_error(TOOL, &json!({ "uri": "pg://system_info" }));
    assert!(error.contains("pg://one/system_info, pg://two/system_info"), "{error}");
    let named = with_profile("two", &json!({ "uri": "pg://system_info" }));
    call_tool(&client, TOOL, &named);
}

#[test]
fn missing_resource_is_a_protocol_error() {
    let shops = ShopDatabases::start();
    for uri in ["pg://nope", "pg://nobody/system_info", "nowhere"] {
        let call = json!({ "name": TOOL, "arguments": { "uri": uri } });
        let session = shops.server.open_session();
        let (code, message) = session.expect_error("tools/call", &call);
        assert_eq!(code, -32_002, "{message}");
        assert_eq!(session.expect_error("resources/read", &json!({ "uri": uri })), (code, message));
        let (code, message) = shops.server.stateless_client().expect_error("tools/call", &call);
        assert_eq!(code, -32_602, "{message}");
    }
}
