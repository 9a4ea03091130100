//! Checks which layers of the sandbox the processes have that read untrusted data.

use std::io;

use vademecum_core::config::{SandboxPolicy, Settings};
use vademecum_import::probe_sandbox;

use super::findings::CheckFindings;

const PLACE: &str = "import.sandbox";

/// Names the active layers. A missing one is an error if all are required, and a warning on Linux,
/// where it could be there.
pub(super) fn check_sandbox(settings: &Settings, findings: &mut CheckFindings) {
    let layers = match probe_sandbox() {
        Ok(layers) => layers,
        Err(error) => {
            let remedy = "start the program that is installed, not a copy that is being replaced";
            return findings.add_error(PLACE, &format!("no file can be read: {error}"), remedy);
        }
    };
    let (active, missing) = (layers.active(), layers.missing());
    let found = if active.is_empty() { "none".to_owned() } else { active.join(", ") };
    findings.add_ok(PLACE, &format!("active: {found}"));
    for layer in missing {
        let (name, remedy) = layer.split_once(": ").unwrap_or((&layer, ""));
        let what = format!("missing: {name}");
        if settings.import.sandbox == SandboxPolicy::Require {
            findings.add_error(PLACE, &what, remedy);
        } else if cfg!(target_os = "linux") {
            findings.add_warning(PLACE, &what, remedy);
        } else {
            findings.add_ok(PLACE, &what);
        }
    }
}

/// Fails if all layers are required and one is missing, with its name and a remedy.
pub fn require_sandbox(settings: &Settings) -> io::Result<()> {
    if settings.import.sandbox == SandboxPolicy::Available {
        return Ok(());
    }
    let missing = probe_sandbox()?.missing();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join("; ");
    Err(io::Error::other(format!("import.sandbox = \"require\", but this is missing: {missing}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_layer_counts_if_required() {
        // This process has no program for readers, and so no layer.
        let mut settings = Settings::default();
        let mut findings = CheckFindings::default();
        check_sandbox(&settings, &mut findings);
        assert!(findings.has_no_errors());
        assert!(findings.format_lines()[0].contains("active: none"));
        require_sandbox(&settings).unwrap();
        settings.import.sandbox = SandboxPolicy::Require;
        check_sandbox(&settings, &mut findings);
        assert!(!findings.has_no_errors());
        let error = require_sandbox(&settings).unwrap_err().to_string();
        assert!(error.contains("seccomp") && error.contains("Landlock"), "{error}");
    }
}
