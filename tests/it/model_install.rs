//! `vademecum model`: models from a repository, a web folder and a folder, against a site on this machine.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{TempHome, WebReply, WebSite, web_site::WebRequest};

const CONFIG: &str = r#"{"model_type": "model2vec", "architectures": ["StaticModel"]}"#;
/// Digest that git gives to `CONFIG`.
const CONFIG_BLOB: &str = "900a91a0d8958d0fa865ed7a5f76c89453b1c851";
const COMMIT: &str = "0a1b2c3d";

/// Returns a tokenizer of three words.
fn tokenizer() -> String {
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": { "type": "Lowercase" }, "pre_tokenizer": { "type": "Whitespace" },
        "post_processor": null, "decoder": null,
        "model": {
            "type": "WordLevel", "vocab": { "[UNK]": 0, "bread": 1, "stone": 2 }, "unk_token": "[UNK]",
        },
    })
    .to_string()
}

/// Returns the weights of a static model: a row of two numbers for each word. All bytes are ASCII, because
/// the site answers with texts.
fn weights() -> String {
    let header = r#"{"embeddings":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]}}"#;
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    let numbers = [0.5_f32, 2.0, 2.0, 0.5, 0.5, 0.5].map(f32::to_le_bytes).concat();
    String::from_utf8([&length[..], header.as_bytes(), &numbers].concat()).unwrap()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn text(body: &str) -> WebReply {
    WebReply(200, String::new(), body.to_owned())
}

/// Answers like a model repository with the model `ada/bread`.
fn answer_as_repository(request: &WebRequest, weights: &str) -> WebReply {
    let resolve = format!("/ada/bread/resolve/{COMMIT}");
    let Some(file) = request.path.strip_prefix(&resolve) else {
        if request.path != "/api/models/ada/bread/revision/main?blobs=true" {
            return WebReply(404, String::new(), String::new());
        }
        let large = |text: &str| json!({ "sha256": sha256(text), "size": text.len() });
        return WebReply::json(&json!({
            "sha": COMMIT,
            "siblings": [
                { "rfilename": "README.md", "size": 9 },
                { "rfilename": "onnx/model.safetensors", "size": 9 },
                { "rfilename": "config.json", "size": CONFIG.len(), "blobId": CONFIG_BLOB },
                { "rfilename": "tokenizer.json", "lfs": large(&tokenizer()) },
                { "rfilename": "model.safetensors", "lfs": large(&self::weights()) },
            ],
        }));
    };
    let body = match file {
        "/config.json" => CONFIG.to_owned(),
        "/tokenizer.json" => tokenizer(),
        "/model.safetensors" => weights.to_owned(),
        _ => return WebReply(404, String::new(), String::new()),
    };
    match &request.range {
        Some(range) => {
            let start: usize = range["bytes=".len()..range.len() - 1].parse().unwrap();
            let last = body.len() - 1;
            let header = format!("content-range: bytes {start}-{last}/{}\r\n", body.len());
            WebReply(206, header, body[start..].to_owned())
        }
        None => text(&body),
    }
}

/// Creates a home whose settings name a repository with the model.
fn home_with_repository(weights: String) -> (TempHome, WebSite) {
    let site = WebSite::new(move |_, request| answer_as_repository(request, &weights));
    let home = TempHome::new();
    home.write_file("data/config.toml", &format!("[embeddings]\nmirror = \"{}\"\n", site.url("")));
    (home, site)
}

fn install(home: &TempHome, source: &str) -> (bool, String) {
    let output = home.run(&["--data", "data", "model", "install", source]);
    (output.code == 0, output.stdout + &output.stderr)
}

fn installed(home: &TempHome) -> Value {
    home.run(&["--data", "data", "model", "list", "--json"]).parse_json()
}

#[test]
fn model_of_repository_is_installed_and_used() {
    let (home, site) = home_with_repository(weights());
    assert!(installed(&home).as_array().unwrap().is_empty());
    let (succeeded, said) = install(&home, "ada/bread");
    assert!(succeeded && said.contains("vectors of 2 numbers"), "{said}");
    let models = installed(&home);
    assert_eq!(models[0]["name"], "bread");
    assert_eq!(models[0]["revision"], COMMIT);
    assert_eq!(models[0]["in_use"], true);
    let folder = models[0]["folder"].as_str().unwrap();
    assert_eq!(std::path::Path::new(folder), home.file_path("data/models/bread"));
    let settings = home.read_file("data/config.toml");
    assert!(settings.contains("provider = \"local\"") && settings.contains("mirror"), "{settings}");
    let files = home.list_folder("data/models/bread");
    let expected = ["config.json", "model.safetensors", "tokenizer.json", "vademecum-model.json"];
    assert_eq!(files, expected);
    let asked = site.received().iter().filter(|request| request.path.contains("onnx")).count();
    assert_eq!(asked, 0);
    // A second time nothing is lost; the model in use cannot be removed.
    assert!(install(&home, "ada/bread").0);
    let refused = home.run(&["--data", "data", "model", "remove", "bread"]);
    assert!(refused.code != 0 && refused.stderr.contains("the settings use"), "{refused:?}");
    home.run(&["--data", "data", "config", "set", "embeddings.provider", ""]);
    assert_eq!(home.run(&["--data", "data", "model", "remove", "bread"]).code, 0);
    assert!(installed(&home).as_array().unwrap().is_empty());
}

#[test]
fn download_goes_on_where_it_stopped() {
    let (home, site) = home_with_repository(weights());
    home.write_file("data/models/.bread.part/config.json", CONFIG);
    home.write_file("data/models/.bread.part/model.safetensors.part", &weights()[..40]);
    let (succeeded, said) = install(&home, "ada/bread");
    assert!(succeeded, "{said}");
    let received = site.received();
    let paths: Vec<&str> = received.iter().filter_map(|it| it.path.rsplit('/').next()).collect();
    assert_eq!(paths, ["main?blobs=true", "tokenizer.json", "model.safetensors"]);
    assert_eq!(received[2].range.as_deref(), Some("bytes=40-"));
    assert_eq!(home.read_file("data/models/bread/model.safetensors"), weights());
}

#[test]
fn damaged_file_is_refused_and_nothing_is_installed() {
    for damaged in [weights().replace("F32", "F16"), weights()[..70].to_owned()] {
        let (home, _site) = home_with_repository(damaged);
        let (succeeded, said) = install(&home, "ada/bread");
        assert!(!succeeded && said.contains("its digest is"), "{said}");
        assert!(installed(&home).as_array().unwrap().is_empty());
        assert!(!home.read_file("data/config.toml").contains("provider"));
        // The next attempt reads the file again.
        let left = home.list_folder("data/models/.bread.part");
        assert!(!left.iter().any(|name| name.starts_with("model.safetensors")), "{left:?}");
    }
    // A part that does not belong to the file gives a wrong digest, and is then read anew.
    let (home, _site) = home_with_repository(weights());
    home.write_file("data/models/.bread.part/model.safetensors.part", &"x".repeat(40));
    assert!(!install(&home, "ada/bread").0);
    assert!(install(&home, "ada/bread").0);
}

#[test]
fn address_needs_checksums_of_its_files() {
    let files = [("config.json", CONFIG.to_owned()), ("tokenizer.json", tokenizer())];
    let files: Vec<_> = files.into_iter().chain([("model.safetensors", weights())]).collect();
    let sums = files
        .iter()
        .fold(String::new(), |sums, (name, text)| format!("{sums}{}  {name}\n", sha256(text)));
    let site = WebSite::new(move |_, request| {
        let known = files.iter().find(|(name, _)| request.path == format!("/models/mine/{name}"));
        match (known, request.path.as_str()) {
            (Some((_, body)), _) => text(body),
            (None, "/models/mine/SHA256SUMS") => text(&sums),
            _ => WebReply(404, String::new(), String::new()),
        }
    });
    let home = TempHome::new();
    let (succeeded, said) = install(&home, &site.url("/models/mine/"));
    assert!(succeeded, "{said}");
    assert_eq!(installed(&home)[0]["name"], "mine");
    let (succeeded, said) = install(&home, &site.url("/models/other"));
    assert!(!succeeded && said.contains("HTTP 404"), "{said}");
}

#[test]
fn folder_is_copied_if_it_holds_a_model() {
    let home = TempHome::new();
    home.write_file("Downloads/Mine/config.json", CONFIG);
    home.write_file("Downloads/Mine/tokenizer.json", &tokenizer());
    let (succeeded, said) = install(&home, "Downloads/Mine");
    assert!(!succeeded && said.contains("`model.safetensors` is missing"), "{said}");
    home.write_file("Downloads/Mine/model.safetensors", &weights());
    home.write_file("Downloads/Mine/notes.txt", "mine");
    let (succeeded, said) = install(&home, "Downloads/Mine");
    assert!(succeeded, "{said}");
    fs::remove_dir_all(home.file_path("Downloads")).unwrap();
    assert_eq!(home.list_folder("data/models/mine").len(), 4);
    let (succeeded, said) = install(&home, "no-such-model");
    assert!(!succeeded && said.contains("model list"), "{said}");
}
