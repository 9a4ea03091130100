//! The page that saves another page of the web, opened by the bookmarklet.

use maud::html;
use vademecum_services::clip::Clip;

use super::{FormContext, Page};

/// Path of the page, and of the endpoint for programs.
pub(crate) const CLIP_PATH: &str = "/clip";
/// Path of its form.
pub(crate) const SAVE_CLIP_PATH: &str = "/clip/save";

/// Returns the form, filled in with what the bookmarklet found.
pub(crate) fn clip_page(context: &FormContext, clip: &Clip, problem: Option<&str>) -> Page {
    let content = html! {
        h1 { "Save a page" }
        (super::fields::problem(problem))
        form.card method="post" action=(SAVE_CLIP_PATH) {
            (context.hidden_fields())
            div.field {
                label for="title" { "Title" }
                input #title type="text" name="title" value=(clip.title) maxlength="1000";
            }
            div.field {
                label for="url" { "Address" }
                input #url type="url" name="url" value=(clip.url) required maxlength="4000";
            }
            div.field {
                label for="text" { "Text" }
                textarea #text name="text" rows="12" required { "\n" (clip.text) }
            }
            div.actions { button type="submit" { "Save" } }
        }
    };
    Page::new("Save a page", content)
}
