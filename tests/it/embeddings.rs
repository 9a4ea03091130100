//! End-to-end tests of embedding providers: each is called in its own request format, and every
//! reply yields a valid vector or a clear error.

use std::{num::NonZeroU32, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;
use vademecum_core::config::{ApiBase, EmbeddingProvider as Kind, Embeddings as Settings};
use vademecum_embed::{EmbedError, Embeddings};

use crate::support::{
    FakeProvider, Library, McpClient, ProviderReply, ProviderRequest, Server, vademecum_command,
};

const TOOL: &str = "generate_embedding";

/// Returns settings for a provider whose key is in a file of the library, with `more` appended.
fn provider_settings(library: &Library, kind: &str, base: &str, more: &str) -> String {
    let key = library.write_private_file("provider.key", "sk-s3cret\n");
    format!(
        "[embeddings]\nprovider = \"{kind}\"\napi_base = \"{base}\"\napi_key = \"file:{}\"\n{more}",
        key.display()
    )
}

/// Starts a server that uses the embedding provider at this base URL.
fn serve_with_provider(kind: &str, base: &str, more: &str) -> Server {
    let library = Library::new();
    library.serve_with_settings(&provider_settings(&library, kind, base, more))
}

fn embed_text(server: &Server, text: &str) -> Value {
    server.client().call_tool(TOOL, &json!({ "text": text }))
}

fn refusal_message(server: &Server, text: &str) -> String {
    server.client().expect_tool_error(TOOL, &json!({ "text": text }))
}

/// Returns a vector for each text of a request; its first value is the length of the text in bytes.
fn length_vectors(question: &ProviderRequest) -> Vec<Vec<f32>> {
    let vector = |text: &&str| vec![f32::from(u8::try_from(text.len()).unwrap()), 1.0];
    question.input_texts().iter().map(vector).collect()
}

fn json_reply(status: u16, body: &Value) -> ProviderReply {
    ProviderReply::Respond(status, "", body.to_string())
}

/// Opens cached embeddings of this provider, with the cache in `folder`.
fn open_embeddings(
    provider: &FakeProvider,
    folder: &Path,
    change: impl FnOnce(&mut Settings),
) -> Embeddings {
    let mut settings = Settings {
        provider: Kind::OpenAi,
        api_base: Some(ApiBase::from(provider.url("/v1").as_str())),
        ..Settings::default()
    };
    change(&mut settings);
    Embeddings::open(&settings, folder).unwrap().unwrap()
}

fn owned_texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn temp_folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn tool_is_not_listed_without_provider() {
    let server = Library::new().serve();
    let client = server.client();
    assert!(!client.call_method("tools/list", &json!({})).to_string().contains(TOOL));
    let call = json!({ "name": TOOL, "arguments": { "text": "bread" } });
    let (code, message) = client.expect_error("tools/call", &call);
    assert!(code == -32_602 && message.contains("not enabled"), "{message}");
    assert!(message.contains("embeddings.provider"), "{message}");
}

#[test]
fn result_contains_vector_and_text_summary() {
    let server = Library::new().serve_with_settings(
        "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 12",
    );
    let client = server.client();
    assert!(client.call_method("tools/list", &json!({})).to_string().contains(TOOL));
    let arguments = json!({ "text": "What is vector similarity search?" });
    let made = client.call_tool(TOOL, &arguments);
    assert_eq!((&made["provider"], &made["model"]), (&json!("stub"), &json!("stub")));
    assert_eq!((&made["dimensions"], &made["text_length"]), (&json!(12), &json!(33)));
    let vector: Vec<f64> = serde_json::from_value(made["embedding"].clone()).unwrap();
    let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    assert!(vector.len() == 12 && (length - 1.0).abs() < 1e-6, "{made}");
    let text = client.call_tool_text(TOOL, &arguments);
    let head = "Generated Embedding:\nProvider: stub\nModel: stub\nDimensions: 12\n\
                Text Length: 33 characters\n\nEmbedding Vector (first 10 dimensions):\n[";
    assert!(text.starts_with(head), "{text}");
    assert!(
        text.ends_with(", ...]\n\nFull embedding vector returned with 12 dimensions."),
        "{text}"
    );
}

#[test]
fn blank_or_missing_text_is_rejected() {
    let server =
        Library::new().serve_with_settings("[embeddings]\nprovider = \"stub\"\nallow_stub = true");
    let client = server.client();
    for arguments in [json!({ "text": "" }), json!({ "text": " \n " }), json!({})] {
        let message = client.expect_tool_error(TOOL, &arguments);
        assert!(message.contains("text"), "{arguments}: {message}");
    }
}

#[test]
fn openai_request_has_expected_format() {
    let provider =
        FakeProvider::new(|question| ProviderReply::indexed_embeddings(&length_vectors(question)));
    let more = "model = \"mine\"\ndimensions = 2";
    let server = serve_with_provider("openai", &provider.url("/v1"), more);
    let made = embed_text(&server, "bread");
    assert_eq!((&made["provider"], &made["model"]), (&json!("openai"), &json!("mine")));
    let request = &provider.requests()[0];
    assert_eq!(request.path, "/v1/embeddings");
    assert_eq!(request.authorization.as_deref(), Some("Bearer sk-s3cret"));
    assert_eq!(
        request.body,
        json!({ "model": "mine", "input": ["bread"], "dimensions": 2, "encoding_format": "float" })
    );
}

#[test]
fn voyage_request_has_expected_format() {
    let provider =
        FakeProvider::new(|question| ProviderReply::indexed_embeddings(&length_vectors(question)));
    let server =
        serve_with_provider("voyage", &provider.url(""), "model = \"mine\"\ndimensions = 2");
    assert_eq!(embed_text(&server, "bread")["provider"], "voyage");
    let request = &provider.requests()[0];
    assert_eq!(request.path, "/v1/embeddings");
    assert_eq!(request.authorization.as_deref(), Some("Bearer sk-s3cret"));
    assert_eq!(
        request.body,
        json!({
            "model": "mine", "input": ["bread"], "input_type": "query", "truncation": true,
            "output_dimension": 2,
        })
    );
    let embeddings = open_embeddings(&provider, temp_folder().path(), |settings| {
        settings.provider = Kind::Voyage;
        settings.model = Some("mine".to_owned());
        settings.api_base = Some(ApiBase::from(provider.url("").as_str()));
    });
    embeddings.embed_documents(&owned_texts(&["bread"])).unwrap();
    assert_eq!(provider.requests()[1].body["input_type"], "document");
}

#[test]
fn ollama_request_has_expected_format_without_key() {
    let provider = FakeProvider::new(|question| {
        ProviderReply::ok(&json!({ "embeddings": length_vectors(question) }))
    });
    let library = Library::new();
    let settings = format!(
        "[embeddings]\nprovider = \"ollama\"\nmodel = \"mine\"\napi_base = \"{}\"",
        provider.url("/")
    );
    let server = library.serve_with_settings(&settings);
    assert_eq!(embed_text(&server, "bread")["provider"], "ollama");
    let request = &provider.requests()[0];
    assert_eq!((request.path.as_str(), &request.authorization), ("/api/embed", &None));
    assert_eq!(request.body, json!({ "model": "mine", "input": ["bread"], "truncate": true }));
}

#[test]
fn missing_ollama_model_is_named() {
    let replies = [
        json_reply(200, &json!({ "embeddings": [] })),
        json_reply(404, &json!({ "error": "model \"mine\" not found, try pulling it first" })),
    ];
    let provider = FakeProvider::with_replies(replies);
    let server = serve_with_provider("ollama", &provider.url(""), "model = \"mine\"");
    let message = refusal_message(&server, "bread");
    assert!(message.contains("ollama pull mine"), "{message}");
    let message = refusal_message(&server, "bread");
    assert!(message.contains("404") && message.contains("try pulling it first"), "{message}");
}

#[test]
fn vectors_are_matched_to_texts_by_index() {
    let provider =
        FakeProvider::new(|question| ProviderReply::indexed_embeddings(&length_vectors(question)));
    let folder = temp_folder();
    let embeddings = open_embeddings(&provider, folder.path(), |settings| {
        settings.model = Some("mine".to_owned());
        settings.batch_size = std::num::NonZeroUsize::MIN.saturating_add(1);
    });
    let made = embeddings.embed_documents(&owned_texts(&["a", "bbb", "a", "bb"])).unwrap();
    let unit = |length: f32| {
        let norm = (length * length + 1.0).sqrt();
        [length / norm, 1.0 / norm]
    };
    for (vector, length) in made.iter().zip([1.0, 3.0, 1.0, 2.0]) {
        let expected = unit(length);
        assert!(vector.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{made:?}");
    }
    assert_eq!(made.len(), 4);
    let requests = provider.requests();
    let batches: Vec<_> = requests.iter().map(ProviderRequest::input_texts).collect();
    assert_eq!(batches, [vec!["a", "bbb"], vec!["bb"]], "identical texts are requested once");
}

#[test]
fn cached_vectors_are_reused_by_next_process() {
    let provider =
        FakeProvider::new(|question| ProviderReply::indexed_embeddings(&length_vectors(question)));
    let folder = temp_folder();
    let mine = |settings: &mut Settings| settings.model = Some("mine".to_owned());
    let first = open_embeddings(&provider, folder.path(), mine);
    let made = first.embed_documents(&owned_texts(&["a", "bb"])).unwrap();
    assert_eq!(
        first.embed_documents(&owned_texts(&["bb", "a"])).unwrap(),
        [made[1].clone(), made[0].clone()]
    );
    drop(first);
    let next = open_embeddings(&provider, folder.path(), mine);
    assert_eq!(next.embed_documents(&owned_texts(&["a", "bb"])).unwrap(), made);
    assert_eq!(next.dimensions(), Some(2));
    assert_eq!(provider.requests().len(), 1);
    next.embed_documents(&owned_texts(&["a", "ccc"])).unwrap();
    assert_eq!(provider.requests()[1].input_texts(), ["ccc"]);
    let other = open_embeddings(&provider, folder.path(), |settings| {
        settings.model = Some("other".to_owned());
    });
    other.embed_documents(&owned_texts(&["a"])).unwrap();
    assert_eq!(provider.requests().len(), 3, "the cache is separate for each model");
    let forgetful = open_embeddings(&provider, folder.path(), |settings| {
        mine(settings);
        settings.cache_mb = 0;
    });
    forgetful.embed_documents(&owned_texts(&["a"])).unwrap();
    assert_eq!(provider.requests().len(), 4);
}

#[test]
fn vectors_before_a_failure_are_cached() {
    let provider = FakeProvider::new(|question| match question.input_texts()[..] {
        ["bb"] => json_reply(400, &json!({ "error": { "message": "too long" } })),
        _ => ProviderReply::indexed_embeddings(&length_vectors(question)),
    });
    let folder = temp_folder();
    let embeddings = open_embeddings(&provider, folder.path(), |settings| {
        settings.model = Some("mine".to_owned());
        settings.batch_size = std::num::NonZeroUsize::MIN;
    });
    let error = embeddings.embed_documents(&owned_texts(&["a", "bb", "ccc"])).unwrap_err();
    assert!(matches!(error, EmbedError::Refused { status: 400, .. }), "{error}");
    embeddings.embed_documents(&owned_texts(&["a", "ccc"])).unwrap();
    let requests = provider.requests();
    let batches: Vec<_> = requests.iter().map(ProviderRequest::input_texts).collect();
    assert_eq!(batches, [["a"], ["bb"], ["ccc"]]);
}

#[test]
fn repeated_query_is_answered_from_cache() {
    let provider =
        FakeProvider::new(|question| ProviderReply::indexed_embeddings(&length_vectors(question)));
    let server = serve_with_provider("openai", &provider.url("/v1"), "model = \"mine\"");
    let first = embed_text(&server, "bread");
    assert_eq!(embed_text(&server, "bread"), first);
    assert_eq!(provider.requests().len(), 1);
    embed_text(&server, "Bread");
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn busy_provider_is_retried_after_its_delay() {
    let again = ProviderReply::Respond(429, "retry-after: 0\r\n", String::new());
    let broken = ProviderReply::Respond(503, "retry-after: 0\r\n", String::new());
    let provider = FakeProvider::with_replies([
        again,
        broken,
        ProviderReply::indexed_embeddings(&[vec![1.0, 0.0]]),
    ]);
    let server = serve_with_provider("openai", &provider.url("/v1"), "model = \"mine\"");
    assert_eq!(embed_text(&server, "bread")["embedding"], json!([1.0, 0.0]));
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn retry_delay_above_limit_is_an_error() {
    let provider = FakeProvider::with_replies([ProviderReply::Respond(
        429,
        "retry-after: 3600\r\n",
        String::new(),
    )]);
    let server = serve_with_provider("openai", &provider.url("/v1"), "model = \"mine\"");
    let message = refusal_message(&server, "bread");
    assert!(message.contains("429"), "{message}");
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn rejected_key_is_not_retried_or_disclosed() {
    let reply = json!({ "error": { "message": "Incorrect API key provided: sk-s3cret" } });
    let provider = FakeProvider::with_replies([json_reply(401, &reply), json_reply(400, &reply)]);
    let server = serve_with_provider("openai", &provider.url("/v1"), "model = \"mine\"");
    let message = refusal_message(&server, "bread");
    assert!(message.contains("401") && message.contains("embeddings.api_key"), "{message}");
    assert_eq!(provider.requests().len(), 1);
    let repeated = refusal_message(&server, "bread");
    assert!(repeated.contains("Incorrect API key provided: ***"), "{repeated}");
    let log = server.kill_and_read_log();
    for output in [message, repeated, log] {
        assert!(!output.contains("s3cret") && !output.contains("127.0.0.1"), "{output}");
    }
}

#[test]
fn redirects_are_not_followed() {
    let other = FakeProvider::with_replies([ProviderReply::indexed_embeddings(&[vec![1.0]])]);
    for status in [302, 307] {
        let headers = format!("location: {}\r\n", other.url("/v1/embeddings"));
        let provider = FakeProvider::with_replies([ProviderReply::Respond(
            status,
            headers.leak(),
            String::new(),
        )]);
        let server = serve_with_provider("openai", &provider.url("/v1"), "model = \"mine\"");
        let message = refusal_message(&server, "bread");
        assert!(message.contains("embeddings.api_base"), "{message}");
        assert_eq!((provider.requests().len(), other.requests().len()), (1, 0));
    }
}

#[test]
fn silent_provider_causes_timeout() {
    let provider = FakeProvider::with_replies([ProviderReply::NoResponse]);
    let more = "query_timeout_ms = 50\nmodel = \"mine\"";
    let server = serve_with_provider("openai", &provider.url("/v1"), more);
    let message = refusal_message(&server, "bread");
    assert!(message.contains("openai did not answer within 50 ms"), "{message}");
}

#[test]
fn unreachable_provider_error_omits_address() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server =
        serve_with_provider("openai", &format!("http://ada:pa55word@{unused}"), "retries = 0");
    let message = refusal_message(&server, "bread");
    assert!(message.contains("openai cannot be reached"), "{message}");
    assert!(!message.contains("pa55word") && !message.contains("127.0.0.1"), "{message}");
}

#[test]
fn vector_with_wrong_dimensions_is_rejected() {
    let provider =
        FakeProvider::with_replies([ProviderReply::indexed_embeddings(&[vec![1.0, 0.0, 0.0]])]);
    let server =
        serve_with_provider("openai", &provider.url("/v1"), "model = \"mine\"\ndimensions = 2");
    let message = refusal_message(&server, "bread");
    assert!(message.contains("3 dimensions") && message.contains("`mine`"), "{message}");
    // The default model has 1536 dimensions.
    let server = serve_with_provider("openai", &provider.url("/v1"), "");
    assert!(refusal_message(&server, "bread").contains("is to have 1536"));
}

#[test]
fn reply_without_valid_vector_is_rejected() {
    let entry = |vector: &str| format!("{{\"data\":[{{\"index\":0,\"embedding\":{vector}}}]}}");
    let bodies = [
        entry("[NaN, 1.0]"),
        entry("[1e39, 1.0]"),
        entry("[null, 1.0]"),
        entry("[0.0, 0.0]"),
        entry("[]"),
        entry("\"s3cret words of the answer\""),
        "{\"data\":[]}".to_owned(),
        "{\"data\":[{\"index\":1,\"embedding\":[1.0]}]}".to_owned(),
        "<html>".to_owned(),
    ];
    for body in bodies {
        let provider = FakeProvider::with_replies([ProviderReply::Respond(200, "", body.clone())]);
        let server = serve_with_provider("openai", &provider.url("/v1"), "model = \"mine\"");
        let message = refusal_message(&server, "bread");
        assert!(message.contains("the answer of openai cannot be used"), "{body}: {message}");
        assert!(!message.contains("s3cret"), "{message}");
        assert_eq!(provider.requests().len(), 1, "{body}");
    }
}

#[test]
fn circuit_breaker_opens_after_repeated_failures() {
    let provider = FakeProvider::with_replies([json_reply(500, &json!({}))]);
    let more = "model = \"mine\"\nretries = 0\nbreaker_failures = 2";
    let server = serve_with_provider("openai", &provider.url("/v1"), more);
    for _ in 0..2 {
        assert!(refusal_message(&server, "bread").contains("500"));
    }
    let message = refusal_message(&server, "bread");
    assert!(
        message.contains("2 times in a row") && message.contains("next attempt in 30 s"),
        "{message}"
    );
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn circuit_breaker_closes_after_pause() {
    let broken = json_reply(500, &json!({}));
    let good = ProviderReply::indexed_embeddings(&[vec![1.0]]);
    let provider = FakeProvider::with_replies([broken.clone(), broken, good]);
    let more = "model = \"mine\"\nretries = 0\nbreaker_failures = 1\nbreaker_pause_ms = 1";
    let server = serve_with_provider("openai", &provider.url("/v1"), more);
    let client = server.client();
    let answered = (0..10_000).any(|_| {
        let result = client.tool_result(TOOL, &json!({ "text": "bread" }));
        result["isError"] == false
    });
    assert!(answered);
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn circuit_breaker_applies_to_documents() {
    let provider = FakeProvider::with_replies([json_reply(500, &json!({}))]);
    let folder = temp_folder();
    let embeddings = open_embeddings(&provider, folder.path(), |settings| {
        settings.retries = 0;
        settings.breaker_failures = NonZeroU32::MIN;
    });
    let request = || embeddings.embed_documents(&owned_texts(&["a"])).unwrap_err();
    assert!(matches!(request(), EmbedError::Busy { status: 500, .. }));
    assert!(matches!(request(), EmbedError::CircuitOpen { .. }));
}

#[test]
fn invalid_provider_settings_prevent_start() {
    for (settings, problem) in [
        ("provider = \"openai\"", "OPENAI_API_KEY"),
        ("provider = \"voyage\"", "VOYAGE_API_KEY"),
        ("provider = \"openai\"\napi_key = \"sk-s3cret\"", "env:NAME"),
        ("provider = \"openai\"\napi_key = \"env:VADEMECUM_UNSET\"", "VADEMECUM_UNSET"),
        ("provider = \"ollama\"\napi_base = \"http://ada:s3cret@ollama.example\"", "allow_http"),
        ("provider = \"ollama\"\napi_base = \"nowhere\"", "embeddings.api_base"),
        ("provider = \"local\"", "embeddings.folder"),
    ] {
        let library = Library::new();
        let file = library.write_file("settings.toml", format!("[embeddings]\n{settings}"));
        let done = vademecum_command()
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(file)
            .arg("--data")
            .arg(library.data_folder())
            .env_remove("OPENAI_API_KEY")
            .env_remove("VOYAGE_API_KEY")
            .output()
            .unwrap();
        let error = String::from_utf8(done.stderr).unwrap();
        assert!(!done.status.success() && error.contains(problem), "{settings}: {error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}
