//! Tools that request input from the client before they reply.

use serde_json::{Map, Value, json};
use vademecum_mcp::{CallToolResult, Failure, RequestContext};

/// Returns an elicitation request for one text field.
pub(crate) fn text_request(message: &str, field: &str) -> Value {
    let properties = json!({ field: { "type": "string" } });
    form_request(
        message,
        &json!({ "type": "object", "properties": properties, "required": [field] }),
    )
}

/// Returns an elicitation request with a form.
fn form_request(message: &str, schema: &Value) -> Value {
    json!({ "method": "elicitation/create", "params": {
        "mode": "form", "message": message, "requestedSchema": schema,
    }})
}

/// Returns a sampling request for the client's model.
fn sampling_request(prompt: &str) -> Value {
    json!({ "method": "sampling/createMessage", "params": {
        "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }],
        "maxTokens": 100,
    }})
}

fn roots_request() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

fn named_requests<const N: usize>(requests: [(&str, Value); N]) -> Map<String, Value> {
    requests.into_iter().map(|(name, request)| (name.to_owned(), request)).collect()
}

fn text_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult { text: Some(text.into()), ..CallToolResult::default() }
}

/// Returns the client's response to one input request. Fails if it is missing or not an object.
fn object_response<'a>(answers: &'a Map<String, Value>, name: &str) -> Result<&'a Value, Failure> {
    answers.get(name).filter(|answer| answer.is_object()).ok_or_else(|| {
        Failure::invalid_params(format!("inputResponses.{name}: expected an object"))
    })
}

/// Calls a tool that requests input. Returns `None` if there is no such tool.
pub(crate) async fn call_tool(
    tool: &str,
    arguments: &Value,
    call: &RequestContext,
) -> Option<Result<CallToolResult, Failure>> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    Some(match tool {
        "test_sampling" => sample(argument("prompt"), call).await,
        "test_elicitation" => elicit(argument("message"), &account_schema(), call).await,
        "test_elicitation_sep1034_defaults" => {
            elicit("Please review", &defaults_schema(), call).await
        }
        "test_elicitation_sep1330_enums" => elicit("Please choose", &choices_schema(), call).await,
        "test_streaming_elicitation" => elicit("Go on?", &account_schema(), call).await,
        "test_input_required_result_elicitation" => elicit_name(call).await,
        "test_input_required_result_sampling" => {
            let question = sampling_request("What is the capital of France?");
            request_inputs(
                call,
                named_requests([("capital_question", question)]),
                None,
                "It was answered.",
            )
            .await
        }
        "test_input_required_result_list_roots" => {
            request_inputs(
                call,
                named_requests([("client_roots", roots_request())]),
                None,
                "The roots are known.",
            )
            .await
        }
        "test_input_required_result_request_state" => {
            let confirm = named_requests([("confirm", confirm_request("Please confirm"))]);
            request_with_state(call, confirm, "state-ok").await
        }
        "test_input_required_result_tampered_state" => {
            let confirm = named_requests([("confirm", confirm_request("Please confirm"))]);
            request_with_state(call, confirm, "The state is what it was.").await
        }
        "test_input_required_result_multiple_inputs" => {
            let questions = named_requests([
                ("user_name", text_request("What is your name?", "name")),
                ("greeting", sampling_request("Write a greeting.")),
                ("client_roots", roots_request()),
            ]);
            request_with_state(call, questions, "All of it was answered.").await
        }
        "test_input_required_result_multi_round" => two_rounds(call).await,
        "test_input_required_result_capabilities" => request_by_capabilities(call).await,
        _ => return None,
    })
}

async fn request_inputs(
    call: &RequestContext,
    questions: Map<String, Value>,
    state: Option<Value>,
    done: &str,
) -> Result<CallToolResult, Failure> {
    call.request_input(questions, state).await?;
    Ok(text_result(done))
}

async fn request_with_state(
    call: &RequestContext,
    questions: Map<String, Value>,
    done: &str,
) -> Result<CallToolResult, Failure> {
    call.request_input(questions, Some(json!("asked"))).await?;
    if call.input.state == Some(json!("asked")) {
        Ok(text_result(done))
    } else {
        Err(Failure::invalid_params("requestState is missing"))
    }
}

async fn two_rounds(call: &RequestContext) -> Result<CallToolResult, Failure> {
    if call.input.state.is_none() {
        let first = text_request("Step 1: what is your name?", "name");
        call.request_input(named_requests([("step1", first)]), Some(json!("after step 1"))).await?;
    }
    let second = text_request("Step 2: what is your colour?", "color");
    call.request_input(named_requests([("step2", second)]), Some(json!("after step 2"))).await?;
    Ok(text_result("Both steps are done."))
}

async fn request_by_capabilities(call: &RequestContext) -> Result<CallToolResult, Failure> {
    let mut questions = Map::new();
    if call.capabilities.sampling {
        questions.insert("question".to_owned(), sampling_request("What is 2 + 2?"));
    }
    if call.capabilities.elicitation {
        questions.insert("name".to_owned(), text_request("What is your name?", "name"));
    }
    request_inputs(call, questions, None, "The client did what it can.").await
}

async fn elicit_name(call: &RequestContext) -> Result<CallToolResult, Failure> {
    let question = named_requests([("user_name", text_request("What is your name?", "name"))]);
    let answers = call.request_input(question, None).await?;
    let name =
        object_response(&answers, "user_name")?.pointer("/content/name").and_then(Value::as_str);
    Ok(text_result(name.map_or("Hello!".to_owned(), |name| format!("Hello, {name}!"))))
}

async fn sample(prompt: &str, call: &RequestContext) -> Result<CallToolResult, Failure> {
    let answers =
        call.request_input(named_requests([("sampling", sampling_request(prompt))]), None).await?;
    let text =
        object_response(&answers, "sampling")?.pointer("/content/text").and_then(Value::as_str);
    Ok(text_result(format!("LLM response: {}", text.unwrap_or("none"))))
}

async fn elicit(
    message: &str,
    schema: &Value,
    call: &RequestContext,
) -> Result<CallToolResult, Failure> {
    let answers =
        call.request_input(named_requests([("form", form_request(message, schema))]), None).await?;
    Ok(text_result(format!("User response: {}", object_response(&answers, "form")?)))
}

fn confirm_request(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } },
        "required": ["ok"] });
    form_request(message, &schema)
}

fn account_schema() -> Value {
    json!({ "type": "object", "properties": {
        "username": { "type": "string", "description": "User's response" },
        "email": { "type": "string", "description": "User's email address" },
    }, "required": ["username", "email"] })
}

fn defaults_schema() -> Value {
    json!({ "type": "object", "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"],
            "default": "active" },
        "verified": { "type": "boolean", "default": true },
    }, "required": [] })
}

fn choices_schema() -> Value {
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
