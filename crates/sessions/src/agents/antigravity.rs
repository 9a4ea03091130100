//! Antigravity: a transcript of JSON lines, with the data of the program inside the person's text.

use serde_json::Value;

use super::format::{AgentFormat, has_all, has_extension};
use crate::{
    Role, Session, SessionFile,
    session_builder::SessionBuilder,
    session_file::for_each_line,
    text::{block_content, cut_blocks, text, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "antigravity",
    label: "Antigravity",
    detect: |path, head| {
        let says_so = has_all(head, &["\"source\":\"", "\"created_at\":", "\"content\":"])
            && (has_all(head, &["\"USER_EXPLICIT\""]) || has_all(head, &["\"MODEL\""]));
        (has_extension(path, &["jsonl"]) && says_so).into()
    },
    parse: |file| Ok(parse(file)),
    follow: None,
};

fn parse(file: &SessionFile<'_>) -> Vec<Session> {
    let mut builder = SessionBuilder::default();
    builder.session.unread = for_each_line(
        file.bytes,
        |_| false,
        |line| {
            let at = time(line.get("created_at"));
            let content = text(&line, "content").unwrap_or_default();
            match text(&line, "source") {
                Some("USER_EXPLICIT") => {
                    let about = block_content(content, "ADDITIONAL_METADATA");
                    let about: Option<Value> = about.and_then(|it| serde_json::from_str(it).ok());
                    let folder = about.as_ref().and_then(|about| text(about, "cwd"));
                    let session = &mut builder.session;
                    session.folder = session.folder.take().or_else(|| folder.map(str::to_owned));
                    let said = cut_blocks(content, "ADDITIONAL_METADATA");
                    let said = cut_blocks(&said, "USER_SETTINGS_CHANGE");
                    let said = said.replace("<USER_REQUEST>", "").replace("</USER_REQUEST>", "");
                    builder.say(Role::User, None, at, &said);
                }
                Some("MODEL") => builder.say(Role::Assistant, None, at, content),
                _ => {}
            }
        },
    );
    // The path is `brain/<id>/.system_generated/logs/transcript.jsonl`.
    let id = file.folder_name(3).filter(|_| file.folder_name(1).as_deref() == Some("logs"));
    builder.session.id = id.unwrap_or_else(|| file.stem());
    builder.finish().into_iter().collect()
}
