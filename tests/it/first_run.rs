//! What commands say to a person who begins, and to one who mistypes.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, vademecum_command};

#[test]
fn empty_lists_say_what_to_do() {
    let library = Library::new();
    let run = |arguments: &[&str]| {
        let done = library.run(arguments);
        assert_eq!(done.code, 0, "{done:?}");
        done.stdout + &done.stderr
    };
    for command in [&["search", "bread"][..], &["list"], &["sources"]] {
        assert!(run(command).contains("`vademecum import FOLDER`"), "{command:?}");
    }
    assert!(run(&["user", "list"]).contains("`vademecum user add NAME`"));
    library.import_file("notes", "Bread.md", "Knead the dough.");
    for command in [&["search", "qqqq"][..], &["list", "--tag", "none"], &["sources"]] {
        assert!(!run(command).contains("`vademecum import FOLDER`"), "{command:?}");
    }
}

#[test]
fn list_takes_ages_and_dates() {
    let library = Library::with_notes([("Bread", "Knead the dough.")]);
    let total = |more: &[&str]| {
        library.run(&[&["list", "--json"], more].concat()).parse_json()["total"].clone()
    };
    assert_eq!(total(&["--after", "7d"]), 1);
    assert_eq!(total(&["--before", "7d"]), 0);
    assert_eq!(total(&["--before", "9000-01-01"]), 1);
    assert_eq!(library.run(&["list", "--after", "yesterday"]).code, 1);
}

#[test]
fn mistyped_user_gets_no_library() {
    let library = Library::with_notes([("Bread", "Knead the dough.")]);
    let file = library.write_file("more/Rolls.md", "Rolls.");
    let import =
        |user: &str| library.run(&["import", "notes", file.to_str().unwrap(), "--user", user]);
    let users = library.data_folder().join("users");
    let count = || users.read_dir().unwrap().count();
    let before = count();
    let refused = import("locall");
    assert!(refused.code == 1 && refused.stderr.contains("did you mean `local`?"), "{refused:?}");
    for command in [&["serve"][..], &["mcp"], &["open", "--print"]] {
        let refused = library.run(&[command, &["--user", "locall"]].concat());
        assert!(refused.code == 1 && refused.stderr.contains("no user locall"), "{refused:?}");
    }
    assert_eq!(count(), before);
    assert_eq!(import("local").code, 0);
    assert_eq!(library.run(&["user", "add", "ada"]).code, 0);
    assert_eq!(import("ada").code, 0);
    assert_eq!(count(), before + 1);
    // The first library may be that of any user.
    let empty = Library::new();
    let done = empty.run(&["import", "notes", file.to_str().unwrap(), "--user", "ada"]);
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn titles_name_items_everywhere() {
    let library = Library::with_notes([
        ("Rye bread", "Knead the rye dough. See [[Rolls]]."),
        ("Rolls", "Knead the rye dough for rolls."),
    ]);
    let done = library.run(&["get", "Rye bread"]);
    assert!(done.code == 0 && done.stdout.contains("Knead the rye dough"), "{done:?}");
    assert!(library.run(&["links", "Rye bread"]).stdout.contains("Rolls"));
    for wrong in [&["get", "Rye bred"][..], &["get", "recipes://1"], &["links", "Rye bred"]] {
        assert_eq!(library.run(wrong).code, 1, "{wrong:?}");
    }
    let server = library.serve();
    let client = server.client();
    let links = client.call_tool("knowledge.links", &json!({ "uri": "rye bread" }));
    assert_eq!(links["out"][0]["title"], "Rolls", "{links}");
    let related = client.call_tool("knowledge.related", &json!({ "uri": "Rye bread" }));
    assert_eq!(related["results"][0]["title"], "Rolls", "{related}");
    for tool in ["knowledge.links", "knowledge.related"] {
        client.expect_tool_error(tool, &json!({ "uri": "notes://nothing" }));
        for wrong in ["No such title", "", "recipes://1"] {
            let problem = client.expect_tool_error(tool, &json!({ "uri": wrong }));
            assert!(problem.contains("uri"), "{tool} {wrong}: {problem}");
        }
    }
}

#[test]
fn bundle_for_missing_folder_fails_at_once() {
    let library = Library::new();
    let target = library.file_path("none/it.mcpb");
    let refused = library.run(&["bundle", "-o", target.to_str().unwrap()]);
    assert!(refused.code == 1 && refused.stderr.contains("there is no folder"), "{refused:?}");
}

#[test]
fn listed_prompts_are_bounded_and_chosen() {
    let library = Library::new();
    let row = |number: usize| {
        format!(
            "Prompt {number:03},,,Do task {number}.,{}\n",
            if number == 99 { "command" } else { "" }
        )
    };
    let csv: String = (0..100).map(row).collect();
    let csv = format!("name,details,system_prompt,user_prompt,keywords\n{csv}");
    library.import_file("prompts", "prompts.csv", &csv);
    let names = |listed: &Value| -> Vec<String> {
        let prompts = listed["prompts"].as_array().unwrap().iter();
        let names = prompts.map(|prompt| prompt["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with("Prompt")).collect()
    };
    let server = library.serve();
    let listed = names(&server.client().call_method("prompts/list", &json!({})));
    assert_eq!(listed.len(), 20, "{listed:?}");
    assert_eq!(listed.last().unwrap(), "Prompt 099", "the one with the keyword");
    // The others are returned by name.
    let prompt = server.client().call_method("prompts/get", &json!({ "name": "Prompt 050" }));
    assert_eq!(prompt["messages"][0]["content"]["text"], "Do task 50.");
    drop(server);
    for (setting, count) in [(0, 0), (1, 1), (90, 90)] {
        let settings = format!("[tools]\nlisted_prompts = {setting}\n");
        let server = library.serve_with_settings(&settings);
        let listed = names(&server.client().call_method("prompts/list", &json!({})));
        assert_eq!(listed.len(), count);
    }
}

#[test]
fn help_of_options_fits_narrow_terminals() {
    for command in ["import", "search", "list"] {
        let help = vademecum_command().args([command, "--help"]).env("COLUMNS", "40").output();
        let help = String::from_utf8(help.unwrap().stdout).unwrap();
        let (_, options) = help.split_once("Options:\n").unwrap();
        let options = options.split("\nExamples:").next().unwrap();
        let longest = options.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= 40, "{command}: {longest}\n{options}");
    }
}
