//! Prompts of the conformance suite.

use vademecum_mcp::{
    ContentBlock, Failure, GetPromptResult, Prompt, PromptArgument, PromptArguments, PromptMessage,
    RequestContext, ResourceContents, Role,
};

use crate::{PNG_BASE64, input_requests};

const SIMPLE_PROMPT: &str = "test_simple_prompt";
const PROMPT_WITH_ARGUMENTS: &str = "test_prompt_with_arguments";
const PROMPT_WITH_RESOURCE: &str = "test_prompt_with_embedded_resource";
const PROMPT_WITH_IMAGE: &str = "test_prompt_with_image";
const PROMPT_WITH_INPUT_REQUEST: &str = "test_input_required_result_prompt";

pub(crate) fn list_prompts() -> Vec<Prompt> {
    let prompt = |name: &str, arguments: &[&str]| Prompt {
        name: name.to_owned(),
        title: None,
        description: Some("A prompt of the suite.".to_owned()),
        arguments: arguments
            .iter()
            .map(|name| PromptArgument {
                name: (*name).to_owned(),
                description: None,
                required: true,
            })
            .collect(),
    };
    vec![
        prompt(SIMPLE_PROMPT, &[]),
        prompt(PROMPT_WITH_ARGUMENTS, &["arg1", "arg2"]),
        prompt(PROMPT_WITH_RESOURCE, &["resourceUri"]),
        prompt(PROMPT_WITH_IMAGE, &[]),
        prompt(PROMPT_WITH_INPUT_REQUEST, &[]),
    ]
}

pub(crate) async fn get_prompt(
    name: &str,
    arguments: &PromptArguments,
    call: &RequestContext,
) -> Result<GetPromptResult, Failure> {
    let argument = |name: &str| {
        arguments.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
    };
    let blocks = match name {
        SIMPLE_PROMPT => vec![ContentBlock::text("This is a simple prompt for testing.")],
        PROMPT_WITH_ARGUMENTS => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            vec![ContentBlock::text(format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        PROMPT_WITH_RESOURCE => {
            let text = "Embedded resource content for testing.".to_owned();
            let resource = ResourceContents::text(argument("resourceUri"), "text/plain", text);
            vec![
                ContentBlock::Resource { resource },
                ContentBlock::text("Please process the embedded resource above."),
            ]
        }
        PROMPT_WITH_IMAGE => vec![
            ContentBlock::Image { data: PNG_BASE64.to_owned(), mime_type: "image/png".to_owned() },
            ContentBlock::text("Please analyze the image above."),
        ],
        PROMPT_WITH_INPUT_REQUEST => {
            let context = input_requests::text_request("Which context is this for?", "context");
            call.request_input([("user_context".to_owned(), context)].into_iter().collect(), None)
                .await?;
            vec![ContentBlock::text("This prompt was filled with what was asked.")]
        }
        other => return Err(Failure::invalid_params(format!("unknown prompt `{other}`"))),
    };
    let messages =
        blocks.into_iter().map(|content| PromptMessage { role: Role::User, content }).collect();
    Ok(GetPromptResult { description: None, messages })
}
