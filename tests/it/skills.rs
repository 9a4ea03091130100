//! End-to-end tests of the extension Skills: manifests, files, directories, and what they never show.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{Library, McpClient};

const OWN_SKILL: &str = "skill://use-this-library/SKILL.md";

const BAKE: &str = "---\nname: bake\ndescription: Bakes bread as this family does.\n\
                    metadata:\n  version: \"2\"\n---\n# Bake\nUse `templates/rye.md`.\n";

/// Writes a folder with the skill `bake`, and returns settings that name it.
fn with_bake(library: &Library) -> String {
    library.write_file("skills/bake/SKILL.md", BAKE);
    library.write_file("skills/bake/templates/rye.md", "Rye, water, salt.\n");
    library.write_file("skills/bake/oven.bin", [0, 159, 146, 150]);
    library.write_file("skills/secret.txt", "not of a skill");
    let folder = library.file_path("skills");
    format!("[skills]\nfolders = [{:?}]\n", folder.to_str().unwrap())
}

fn list_skills(client: &impl McpClient) -> Vec<Value> {
    client.call_method("skills/list", &json!({}))["skills"].as_array().unwrap().clone()
}

fn skill_uris(client: &impl McpClient) -> Vec<String> {
    list_skills(client).iter().map(|skill| skill["uri"].as_str().unwrap().to_owned()).collect()
}

/// Returns the bytes of a resource.
fn read(client: &impl McpClient, uri: &str) -> Vec<u8> {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let contents = client.call_method("resources/read", &json!({ "uri": uri }))["contents"].clone();
    match contents[0]["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => BASE64_STANDARD.decode(contents[0]["blob"].as_str().unwrap()).unwrap(),
    }
}

#[test]
fn extension_is_declared_in_every_revision() {
    let server = Library::new().serve();
    let discovered = server.stateless_client().call_method("server/discover", &json!({}));
    let declared = &discovered["capabilities"]["extensions"]["io.modelcontextprotocol/skills"];
    assert_eq!(declared, &json!({ "directoryRead": true }));
    assert!(discovered["instructions"].as_str().unwrap().contains(OWN_SKILL));
    assert_eq!(skill_uris(&server.open_session()), [OWN_SKILL]);
    let listed = server.stateless_client().call_method("skills/list", &json!({}));
    assert_eq!(
        (&listed["cacheScope"], &listed["resultType"]),
        (&json!("private"), &json!("complete"))
    );
    assert!(listed["ttlMs"].is_u64());
}

#[test]
fn manifest_matches_every_file() {
    let library = Library::new();
    let settings = with_bake(&library);
    let server = library.serve_with_settings(&settings);
    let client = server.client();
    let skills = list_skills(&client);
    let bake = &skills[1];
    assert_eq!(bake["uri"], "skill://bake/SKILL.md");
    assert_eq!(
        bake["frontmatter"],
        json!({ "name": "bake", "description": "Bakes bread as this family does.",
            "metadata": { "version": "2" } })
    );
    let got = client.call_method("skills/get", &json!({ "uri": "skill://bake/SKILL.md" }));
    assert_eq!(&got["skill"], bake);
    let mut count = 0;
    for file in skills.iter().flat_map(|skill| skill["resources"].as_array().unwrap()) {
        let bytes = read(&client, file["uri"].as_str().unwrap());
        let hex = |text: &str| u8::from_str_radix(text, 16).unwrap();
        let digest = file["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let digest: Vec<u8> = (0..32).map(|at| hex(&digest[2 * at..2 * at + 2])).collect();
        assert_eq!(digest, Sha256::digest(&bytes).to_vec(), "{file}");
        assert_eq!(file["size"], bytes.len(), "{file}");
        count += 1;
    }
    assert_eq!(count, 4);
    assert_eq!(read(&client, "skill://bake/oven.bin"), [0, 159, 146, 150]);
    let listed = client.call_method("resources/list", &json!({}))["resources"].clone();
    let listed: Vec<&str> =
        listed.as_array().unwrap().iter().map(|it| it["uri"].as_str().unwrap()).collect();
    assert!(listed.contains(&"skill://bake/SKILL.md") && listed.contains(&OWN_SKILL));
}

#[test]
fn directories_of_skills_are_listed() {
    let library = Library::new();
    let settings = with_bake(&library);
    let server = library.serve_with_settings(&settings);
    let client = server.client();
    let names = |uri: &str| {
        let found = client.call_method("resources/directory/read", &json!({ "uri": uri }));
        let found = found["resources"].as_array().unwrap().clone();
        found
            .iter()
            .map(|it| {
                format!("{} {}", it["name"].as_str().unwrap(), it["mimeType"].as_str().unwrap())
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names("skill://bake"),
        [
            "SKILL.md text/markdown",
            "oven.bin application/octet-stream",
            "templates inode/directory"
        ]
    );
    assert_eq!(names("skill://bake/templates"), ["rye.md text/markdown"]);
    for uri in ["skill://bake/SKILL.md", "skill://bake/", "skill://", "skill://other", "notes://1"]
    {
        let (code, message) =
            client.expect_error("resources/directory/read", &json!({ "uri": uri }));
        assert_eq!(code, -32_602, "{uri}: {message}");
    }
}

#[test]
fn changed_skill_gets_new_digest() {
    let library = Library::new();
    let settings = with_bake(&library);
    let server = library.serve_with_settings(&settings);
    let client = server.client();
    let before = list_skills(&client);
    library.write_file("skills/bake/templates/rye.md", "Rye, water, malt.\n");
    let after = list_skills(&client);
    assert_ne!(before[1]["resources"], after[1]["resources"]);
    fs::remove_dir_all(library.file_path("skills/bake")).unwrap();
    assert_eq!(skill_uris(&client), [OWN_SKILL]);
}

#[test]
fn files_outside_of_skills_are_not_served() {
    let library = Library::new();
    let settings = with_bake(&library);
    library.write_file("outside/secret.txt", "secret");
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        let skill = library.file_path("skills/bake");
        symlink(library.file_path("outside/secret.txt"), skill.join("link.txt")).unwrap();
        symlink(library.file_path("outside"), skill.join("linked")).unwrap();
        symlink(&skill, library.file_path("skills/again")).unwrap();
    }
    let server = library.serve_with_settings(&settings);
    let client = server.client();
    assert_eq!(skill_uris(&client), [OWN_SKILL, "skill://bake/SKILL.md"]);
    for path in [
        "bake/link.txt",
        "bake/linked/secret.txt",
        "bake/../secret.txt",
        "bake/%2e%2e/secret.txt",
        "secret.txt",
        "../secret.txt",
        "bake/./SKILL.md",
        "bake//SKILL.md",
        "bake",
        "again/SKILL.md",
        "etc/passwd",
        "/etc/passwd",
    ] {
        let (code, message) =
            client.expect_error("resources/read", &json!({ "uri": format!("skill://{path}") }));
        assert_eq!(code, -32_002, "{path}: {message}");
        assert!(!message.contains(library.file_path("").to_str().unwrap()), "{message}");
    }
    let (code, _) = client.expect_error("skills/get", &json!({ "uri": "skill://bake/oven.bin" }));
    assert_eq!(code, -32_602);
}

#[test]
fn hostile_skills_do_not_hide_others() {
    let library = Library::new();
    let settings = with_bake(&library);
    let bomb: String = (1..10).fold("a0: &a0 [x]\n".to_owned(), |text, level| {
        text + &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(","))
    });
    for (name, text) in [
        ("bomb", format!("---\nname: bomb\ndescription: x\n{bomb}---\n")),
        ("wrong", "---\nname: other\ndescription: x\n---\n".to_owned()),
        ("none", "no front matter".to_owned()),
        ("use-this-library", "---\nname: use-this-library\ndescription: Evil.\n---\n".to_owned()),
    ] {
        library.write_file(&format!("skills/{name}/SKILL.md"), text);
    }
    // Invisible characters are removed, and the digest is that of what is served.
    let hidden = "---\nname: quiet\ndescription: Quiet.\n---\nText\u{e0041}\u{202e}.\n";
    library.write_file("skills/quiet/SKILL.md", hidden);
    let server = library.serve_with_settings(&settings);
    let client = server.client();
    let uris = skill_uris(&client);
    assert_eq!(uris, [OWN_SKILL, "skill://bake/SKILL.md", "skill://quiet/SKILL.md"]);
    let text = String::from_utf8(read(&client, "skill://quiet/SKILL.md")).unwrap();
    assert!(text.ends_with("Text.\n"), "{text:?}");
    let own = String::from_utf8(read(&client, OWN_SKILL)).unwrap();
    assert!(!own.contains("Evil"));
}

#[test]
fn users_see_their_own_skills_only() {
    let library = Library::new();
    with_bake(&library);
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    let narrow = library.create_key_with("ada", &["--tools", "knowledge.search"]);
    let tagged = library.create_key_with("ada", &["--tags", "work"]);
    let folder = library.file_path("skills");
    let settings = format!(
        "[skills]\nfolders = [\"/etc\"]\nusers = {{ ada = [{:?}] }}\n",
        folder.to_str().unwrap()
    );
    let server = library.serve_multi_user(&settings);
    let client = |key: &str| server.client().with_bearer_token(key);
    assert_eq!(skill_uris(&client(&ada)), [OWN_SKILL, "skill://bake/SKILL.md"]);
    for key in [&eve, &tagged] {
        assert_eq!(skill_uris(&client(key)), [OWN_SKILL]);
        let uri = json!({ "uri": "skill://bake/SKILL.md" });
        client(key).expect_error("resources/read", &uri);
        let (_, message) = client(key).expect_error("skills/get", &uri);
        assert!(message.contains("is not a skill"), "{message}");
    }
    // A key for one tool has no resources, and so no skills.
    assert_eq!(client(&narrow).call_method("skills/list", &json!({}))["skills"], json!([]));
    let (code, _) = client(&narrow).expect_error("skills/get", &json!({ "uri": OWN_SKILL }));
    assert_eq!(code, -32_601);
}

#[test]
fn built_in_skill_names_existing_tools() {
    let server = Library::new().serve_with_settings("[tools]\nwrite = true");
    let client = server.client();
    let text = String::from_utf8(read(&client, OWN_SKILL)).unwrap();
    let listed = client.call_method("tools/list", &json!({}))["tools"].clone();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let prefixes = ["knowledge.", "notes.", "media.", "chats."];
    let named = text.split('`').skip(1).step_by(2).filter(|word| {
        prefixes.iter().any(|prefix| word.starts_with(prefix)) && !word.contains(':')
    });
    let mut count = 0;
    for name in named {
        assert!(names.contains(&name), "{name}");
        count += 1;
    }
    assert!(count > 10);
}
