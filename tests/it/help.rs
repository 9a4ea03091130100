//! End-to-end tests of completions, manual pages and topics of help.

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::support::{CommandOutput, TempHome};

fn run_ok(home: &TempHome, arguments: &[&str]) -> CommandOutput {
    let done = home.run(arguments);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    done
}

#[test]
fn topics_explain_commands_that_exist() {
    let home = TempHome::new();
    let help = run_ok(&home, &["--help"]).stdout;
    for topic in ["import", "search", "agents", "vault", "backup", "security"] {
        let text = run_ok(&home, &["help", topic]).stdout;
        assert!(text.lines().count() >= 10, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
        for line in text.lines().filter_map(|line| line.strip_prefix("  vademecum ")) {
            let command = line.split_whitespace().next().unwrap();
            assert!(help.contains(&format!("\n  {command} ")), "{topic}: {command}");
        }
    }
    // The topic of a command names its options, and `help` of others is their help.
    let links = run_ok(&home, &["help", "links"]).stdout;
    assert!(links.contains("Usage: vademecum links"), "{links}");
    let user = run_ok(&home, &["help", "user", "add"]).stdout;
    assert!(user.contains("Usage: vademecum user add"), "{user}");
    assert_eq!(run_ok(&home, &["help"]).stdout, help);
    let unknown = home.run(&["help", "cooking"]);
    assert_eq!(unknown.code, 1);
    for part in ["`cooking`", "import, search, agents, vault, backup, security"] {
        assert!(unknown.stderr.contains(part), "{unknown:?}");
    }
}

#[test]
fn completions_name_commands_and_options() {
    let home = TempHome::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = run_ok(&home, &["completions", shell]).stdout;
        let mut words = vec!["import", "disconnect", "two-way"];
        if ["bash", "zsh"].contains(&shell) {
            // The others complete options only.
            words.extend(["claude-desktop", "opencode"]);
        }
        for word in words {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // Commands that only the program itself starts.
        assert!(!script.contains("sqlite-reader"), "{shell}");
    }
    let unknown = home.run(&["completions", "tcsh"]);
    assert!(unknown.stderr.contains("bash, zsh, fish, powershell"), "{unknown:?}");
}

#[cfg(unix)]
#[test]
fn bash_completes_the_names_of_clients() {
    let home = TempHome::new();
    let script = run_ok(&home, &["completions", "bash"]).stdout;
    home.write_file("vademecum.bash", &script);
    let test = "source ./vademecum.bash; COMP_WORDS=(vademecum connect lm); COMP_CWORD=2; \
                _vademecum vademecum lm connect; echo \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    let done = home.isolate_command(&mut bash).args(["-c", test]).stdin(Stdio::null()).output();
    // Not every system has bash; the text is tested above.
    let Ok(done) = done else { return };
    assert_eq!(String::from_utf8_lossy(&done.stdout), "lm-studio\n", "{done:?}");
}

#[test]
fn manual_has_a_page_for_each_command() {
    let home = TempHome::new();
    run_ok(&home, &["man", "man/man1"]);
    let pages = home.list_folder("man/man1");
    for name in ["vademecum", "vademecum-import", "vademecum-user-add", "vademecum-connect"] {
        assert!(pages.contains(&format!("{name}.1")), "{pages:?}");
        let page = home.read_file(&format!("man/man1/{name}.1"));
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(pages.iter().all(|page| !page.contains("reader")), "{pages:?}");
    assert!(home.read_file("man/man1/vademecum.1").contains("vademecum 0.2.0"));
    home.write_file("file", "");
    let refused = home.run(&["man", "file"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("cannot write the manual pages to file"), "{refused:?}");
    assert_eq!(fs::read(home.file_path("file")).unwrap(), b"");
}
