//! The transcript of a recording: each time is a link to that place of the recording, or to its line.

use maud::{Markup, html};
use url::Url;
use vademecum_model::Cue;

use super::parts::{clock, count, is_web_address};

/// Maximum number of lines.
const MAX_LINES: usize = 2_000;
/// Hosts whose pages play a video from the second in the parameter `t`.
const VIDEO_HOSTS: [&str; 4] = ["youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be"];

/// Returns the lines of a transcript with their times. `address` is that of the recording.
pub(super) fn transcript(cues: &[Cue], address: Option<&str>) -> Markup {
    let address = address.filter(|address| is_web_address(address));
    let address = address.and_then(|address| Url::parse(address).ok());
    let mut speaker = None;
    let mut before = None;
    html! {
        @if !cues.is_empty() {
            details.transcript {
                summary { "Transcript with times (" (count(cues.len())) ")" }
                ol {
                    @for cue in cues.iter().take(MAX_LINES) {
                        @let is_new_time = before.replace(cue.start_ms) != Some(cue.start_ms);
                        @let is_new_speaker = speaker.replace(&cue.speaker) != Some(&cue.speaker);
                        li id=[is_new_time.then(|| anchor(cue.start_ms))] dir="auto" {
                            a href=(link(address.as_ref(), cue.start_ms)) rel="noreferrer" {
                                (clock(cue.start_ms))
                            }
                            " "
                            @if let (true, Some(name)) = (is_new_speaker, &cue.speaker) {
                                strong { (name) ":" } " "
                            }
                            (cue.text)
                        }
                    }
                }
                @if cues.len() > MAX_LINES { p.muted { "The first " (count(MAX_LINES)) " lines." } }
            }
        }
    }
}

fn anchor(start_ms: u64) -> String {
    format!("t-{start_ms}")
}

/// Returns the address of a recording at a time; without one, that of the line.
fn link(address: Option<&Url>, start_ms: u64) -> String {
    let Some(mut address) = address.cloned() else { return format!("#{}", anchor(start_ms)) };
    let seconds = start_ms / 1_000;
    if address.host_str().is_some_and(|host| VIDEO_HOSTS.contains(&host)) {
        let others: Vec<(String, String)> =
            address.query_pairs().into_owned().filter(|(name, _)| name != "t").collect();
        let time = ("t".to_owned(), format!("{seconds}s"));
        address.query_pairs_mut().clear().extend_pairs(others).extend_pairs([time]);
    } else {
        address.set_fragment(Some(&format!("t={seconds}")));
    }
    address.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lead_to_the_recording() {
        let cue = |start_ms, speaker: &str, text: &str| Cue {
            start_ms,
            speaker: Some(speaker.to_owned()),
            text: text.to_owned(),
            ..Cue::default()
        };
        let cues = [cue(500, "Ada", "Hello."), cue(500, "Ada", "<b>"), cue(83_000, "Bob", "Bye.")];
        let shown = transcript(&cues, None).into_string();
        assert_eq!(shown.matches("id=\"t-500\"").count(), 1, "{shown}");
        assert!(shown.contains("<a href=\"#t-83000\" rel=\"noreferrer\">1:23</a>"), "{shown}");
        assert_eq!(shown.matches("Ada:").count(), 1, "{shown}");
        assert!(shown.contains("&lt;b&gt;") && shown.contains("<strong>Bob:</strong> Bye."));
        for (address, expected) in [
            ("https://youtu.be/x?t=4&a=1", "https://youtu.be/x?a=1&amp;t=83s"),
            ("https://a.example/b.mp3", "https://a.example/b.mp3#t=83"),
            ("javascript:alert(1)", "#t-83000"),
        ] {
            let shown = transcript(&cues, Some(address)).into_string();
            assert!(shown.contains(&format!("href=\"{expected}\"")), "{shown}");
        }
        assert!(transcript(&[], None).into_string().is_empty());
    }
}
