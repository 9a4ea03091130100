//! Progress bars on standard error.

use std::{fmt::Write, sync::Arc};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use vademecum_services::progress::{Progress, ProgressCallback};

/// Creates a progress bar. It is visible only if standard error is a terminal.
pub(super) fn progress_bar(count: usize, things: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(count).unwrap_or(0)).with_message(things);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg} {rate} {eta}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style.with_key("rate", |state: &ProgressState, line: &mut dyn Write| {
        // A line that cannot be written is not shown.
        line.write_str(&format_rate(state.per_sec())).ok();
    }))
}

/// Returns a callback that shows the progress of one operation after the other as a bar.
pub(super) fn progress_callback() -> ProgressCallback {
    let bar = progress_bar(0, "");
    bar.finish_and_clear();
    Arc::new(move |Progress { things, done, total }| {
        if bar.is_finished() {
            bar.reset();
            bar.set_message(things);
        }
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        if done == total {
            bar.finish_and_clear();
        }
    })
}

/// Formats a rate per second: with one decimal place below 10, without above.
fn format_rate(per_second: f64) -> String {
    if per_second < 10.0 { format!("{per_second:.1}/s") } else { format!("{per_second:.0}/s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_rounded() {
        assert_eq!(
            [0.0, 4.26, 92.9004, 1234.5].map(format_rate),
            ["0.0/s", "4.3/s", "93/s", "1234/s"]
        );
    }
}
