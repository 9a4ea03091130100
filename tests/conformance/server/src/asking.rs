//! Tools that ask the client before they answer.

use serde_json::{Map, Value, json};
use vademecum_mcp::{CallToolResult, Failure, RequestContext};

/// Asks for one text.
pub(crate) fn text(message: &str, field: &str) -> Value {
    let properties = json!({ field: { "type": "string" } });
    form(message, &json!({ "type": "object", "properties": properties, "required": [field] }))
}

/// Asks to fill a form.
fn form(message: &str, schema: &Value) -> Value {
    json!({ "method": "elicitation/create", "params": {
        "mode": "form", "message": message, "requestedSchema": schema,
    }})
}

/// Asks the client's model.
fn sampling(prompt: &str) -> Value {
    json!({ "method": "sampling/createMessage", "params": {
        "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }],
        "maxTokens": 100,
    }})
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

fn named<const N: usize>(requests: [(&str, Value); N]) -> Map<String, Value> {
    requests.into_iter().map(|(name, request)| (name.to_owned(), request)).collect()
}

fn say(text: impl Into<String>) -> CallToolResult {
    CallToolResult { text: Some(text.into()), ..CallToolResult::default() }
}

/// What the client answered to one question.
fn object<'a>(answers: &'a Map<String, Value>, name: &str) -> Result<&'a Value, Failure> {
    answers.get(name).filter(|answer| answer.is_object()).ok_or_else(|| {
        Failure::invalid_params(format!("inputResponses.{name}: expected an object"))
    })
}

/// Calls a tool that asks; nothing if there is none of this name.
pub(crate) async fn call(
    tool: &str,
    arguments: &Value,
    call: &RequestContext,
) -> Option<Result<CallToolResult, Failure>> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    Some(match tool {
        "test_sampling" => sample(argument("prompt"), call).await,
        "test_elicitation" => elicit(argument("message"), &account(), call).await,
        "test_elicitation_sep1034_defaults" => elicit("Please review", &defaults(), call).await,
        "test_elicitation_sep1330_enums" => elicit("Please choose", &choices(), call).await,
        "test_streaming_elicitation" => elicit("Go on?", &account(), call).await,
        "test_input_required_result_elicitation" => greet(call).await,
        "test_input_required_result_sampling" => {
            let question = sampling("What is the capital of France?");
            ask(call, named([("capital_question", question)]), None, "It was answered.").await
        }
        "test_input_required_result_list_roots" => {
            ask(call, named([("client_roots", roots())]), None, "The roots are known.").await
        }
        "test_input_required_result_request_state" => {
            let confirm = named([("confirm", confirm("Please confirm"))]);
            with_state(call, confirm, "state-ok").await
        }
        "test_input_required_result_tampered_state" => {
            let confirm = named([("confirm", confirm("Please confirm"))]);
            with_state(call, confirm, "The state is what it was.").await
        }
        "test_input_required_result_multiple_inputs" => {
            let questions = named([
                ("user_name", text("What is your name?", "name")),
                ("greeting", sampling("Write a greeting.")),
                ("client_roots", roots()),
            ]);
            with_state(call, questions, "All of it was answered.").await
        }
        "test_input_required_result_multi_round" => rounds(call).await,
        "test_input_required_result_capabilities" => what_it_can(call).await,
        _ => return None,
    })
}

async fn ask(
    call: &RequestContext,
    questions: Map<String, Value>,
    state: Option<Value>,
    done: &str,
) -> Result<CallToolResult, Failure> {
    call.request_input(questions, state).await?;
    Ok(say(done))
}

async fn with_state(
    call: &RequestContext,
    questions: Map<String, Value>,
    done: &str,
) -> Result<CallToolResult, Failure> {
    call.request_input(questions, Some(json!("asked"))).await?;
    if call.input.state == Some(json!("asked")) {
        Ok(say(done))
    } else {
        Err(Failure::invalid_params("requestState is missing"))
    }
}

async fn rounds(call: &RequestContext) -> Result<CallToolResult, Failure> {
    if call.input.state.is_none() {
        let first = text("Step 1: what is your name?", "name");
        call.request_input(named([("step1", first)]), Some(json!("after step 1"))).await?;
    }
    let second = text("Step 2: what is your colour?", "color");
    call.request_input(named([("step2", second)]), Some(json!("after step 2"))).await?;
    Ok(say("Both steps are done."))
}

async fn what_it_can(call: &RequestContext) -> Result<CallToolResult, Failure> {
    let mut questions = Map::new();
    if call.capabilities.sampling {
        questions.insert("question".to_owned(), sampling("What is 2 + 2?"));
    }
    if call.capabilities.elicitation {
        questions.insert("name".to_owned(), text("What is your name?", "name"));
    }
    ask(call, questions, None, "The client did what it can.").await
}

async fn greet(call: &RequestContext) -> Result<CallToolResult, Failure> {
    let question = named([("user_name", text("What is your name?", "name"))]);
    let answers = call.request_input(question, None).await?;
    let name = object(&answers, "user_name")?.pointer("/content/name").and_then(Value::as_str);
    Ok(say(name.map_or("Hello!".to_owned(), |name| format!("Hello, {name}!"))))
}

async fn sample(prompt: &str, call: &RequestContext) -> Result<CallToolResult, Failure> {
    let answers = call.request_input(named([("sampling", sampling(prompt))]), None).await?;
    let text = object(&answers, "sampling")?.pointer("/content/text").and_then(Value::as_str);
    Ok(say(format!("LLM response: {}", text.unwrap_or("none"))))
}

async fn elicit(
    message: &str,
    schema: &Value,
    call: &RequestContext,
) -> Result<CallToolResult, Failure> {
    let answers = call.request_input(named([("form", form(message, schema))]), None).await?;
    Ok(say(format!("User response: {}", object(&answers, "form")?)))
}

fn confirm(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } },
        "required": ["ok"] });
    form(message, &schema)
}

fn account() -> Value {
    json!({ "type": "object", "properties": {
        "username": { "type": "string", "description": "User's response" },
        "email": { "type": "string", "description": "User's email address" },
    }, "required": ["username", "email"] })
}

fn defaults() -> Value {
    json!({ "type": "object", "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"],
            "default": "active" },
        "verified": { "type": "boolean", "default": true },
    }, "required": [] })
}

fn choices() -> Value {
    let titled = json!([
        { "const": "value1", "title": "First Option" },
        { "const": "value2", "title": "Second Option" },
        { "const": "value3", "title": "Third Option" },
    ]);
    let plain = json!(["option1", "option2", "option3"]);
    json!({ "type": "object", "properties": {
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"] },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } },
    }, "required": [] })
}
