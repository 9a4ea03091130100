//! Pictures of texts that cameras read (QR codes), as SVG.

use std::fmt::Write as _;

use maud::{Markup, html};
use qrcodegen::{QrCode, QrCodeEcc};

/// Width of the light margin that readers need, in modules.
const MARGIN: i32 = 4;

/// Renders a text as a QR code, dark on light also in dark colours. A text that is too long for one
/// has no picture.
pub(super) fn qr_picture(text: &str, description: &str) -> Markup {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok();
    html! {
        @if let Some(code) = code {
            @let size = code.size() + 2 * MARGIN;
            svg.qr role="img" aria-label=(description) viewBox={ "0 0 " (size) " " (size) }
                width="240" height="240" shape-rendering="crispEdges" {
                rect width=(size) height=(size) fill="#ffffff" {}
                path d=(dark_modules(&code)) fill="#000000" {}
            }
        }
    }
}

/// Returns the path of all dark modules, each row as rectangles.
fn dark_modules(code: &QrCode) -> String {
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let begin = x;
            while x < code.size() && code.get_module(x, y) {
                x += 1;
            }
            if x > begin {
                let (left, top, width) = (begin + MARGIN, y + MARGIN, x - begin);
                // Writing to a string does not fail.
                write!(path, "M{left} {top}h{width}v1h-{width}z").ok();
            }
            x += 1;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_has_finder_patterns_and_margin() {
        let picture = qr_picture("otpauth://totp/a:b?secret=C", "Secret").into_string();
        // The upper edges of the two upper finder patterns, 7 modules wide, behind the margin.
        assert!(picture.contains("d=\"M4 4h7v1h-7z"), "{picture}");
        assert!(picture.contains("aria-label=\"Secret\""), "{picture}");
        assert_eq!(qr_picture(&"x".repeat(5_000), "Secret").into_string(), "");
    }
}
