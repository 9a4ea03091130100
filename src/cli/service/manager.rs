//! The service managers of the platforms: systemd, launchd and the task scheduler of Windows.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Text in each file that the command writes. Other files are not replaced.
pub(super) const MARK: &str = "Written by `vademecum service install`";
/// Name of the service.
const NAME: &str = "vademecum";
/// Name of the systemd unit.
const UNIT: &str = "vademecum.service";

/// A service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServiceManager {
    /// The instance of systemd of a user.
    Systemd,
    /// The launch agents of a user.
    Launchd,
    /// The task scheduler of Windows.
    TaskScheduler,
}

impl ServiceManager {
    /// The service manager of this platform.
    pub(super) const CURRENT: Self = if cfg!(windows) {
        Self::TaskScheduler
    } else if cfg!(target_os = "macos") {
        Self::Launchd
    } else {
        Self::Systemd
    };

    /// Returns the path of the file that describes the service.
    pub(super) fn path(self) -> Result<PathBuf> {
        let path = match self {
            Self::Systemd => dirs::config_dir().map(|it| it.join("systemd/user").join(UNIT)),
            Self::Launchd => {
                dirs::home_dir().map(|it| it.join("Library/LaunchAgents/vademecum.plist"))
            }
            Self::TaskScheduler => dirs::data_local_dir().map(|it| it.join("vademecum/task.xml")),
        };
        path.context("this account has no home folder")
    }

    /// Returns the text of the file. Fails for arguments that it cannot hold.
    pub(super) fn text(self, program: &str, arguments: &[String]) -> Result<String> {
        let mut all = arguments.iter().map(String::as_str).chain([program]);
        if all.any(|text| text.chars().any(char::is_control)) {
            bail!("a path with control characters cannot be that of a service");
        }
        Ok(match self {
            Self::Systemd => systemd_unit(program, arguments),
            Self::Launchd => launch_agent(program, arguments),
            Self::TaskScheduler => task(program, arguments),
        })
    }

    /// Returns the content of a file with this text.
    pub(super) fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Systemd | Self::Launchd => text.as_bytes().to_vec(),
            // The task scheduler reads UTF-16 with a byte order mark.
            Self::TaskScheduler => ['\u{feff}']
                .into_iter()
                .chain(text.chars())
                .collect::<String>()
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect(),
        }
    }

    /// Returns the text of a file with this content.
    pub(super) fn decode(self, content: &[u8]) -> String {
        match self {
            Self::Systemd | Self::Launchd => String::from_utf8_lossy(content).into_owned(),
            Self::TaskScheduler => {
                let units = content.chunks_exact(2).map(|it| u16::from_le_bytes([it[0], it[1]]));
                let text = String::from_utf16_lossy(&units.collect::<Vec<_>>());
                text.trim_start_matches('\u{feff}').to_owned()
            }
        }
    }

    /// Returns the commands that start the service with the file; a former one does not run.
    pub(super) fn install_steps(self, path: &Path) -> Vec<Vec<String>> {
        let path = path.display().to_string();
        match self {
            Self::Systemd => {
                vec![systemctl(&["daemon-reload"]), systemctl(&["enable", "--now", UNIT])]
            }
            Self::Launchd => vec![strings(&["launchctl", "load", "-w", &path])],
            Self::TaskScheduler => vec![
                strings(&["schtasks", "/Create", "/F", "/TN", NAME, "/XML", &path]),
                strings(&["schtasks", "/Run", "/TN", NAME]),
            ],
        }
    }

    /// Returns the commands before and after the file is removed.
    pub(super) fn remove_steps(self, path: &Path) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
        let path = path.display().to_string();
        match self {
            Self::Systemd => {
                (vec![systemctl(&["disable", "--now", UNIT])], vec![systemctl(&["daemon-reload"])])
            }
            Self::Launchd => (vec![strings(&["launchctl", "unload", "-w", &path])], Vec::new()),
            Self::TaskScheduler => {
                let end = strings(&["schtasks", "/End", "/TN", NAME]);
                (vec![end, strings(&["schtasks", "/Delete", "/F", "/TN", NAME])], Vec::new())
            }
        }
    }

    /// Returns what a user may have to do besides.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Systemd => {
                "It runs while you are logged in; `loginctl enable-linger` lets it run always.\n\
                 `journalctl --user -u vademecum` shows its log."
            }
            Self::Launchd | Self::TaskScheduler => "It runs while you are logged in.",
        }
    }
}

fn systemctl(arguments: &[&str]) -> Vec<String> {
    strings(&[&["systemctl", "--user"], arguments].concat())
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn systemd_unit(program: &str, arguments: &[String]) -> String {
    // `%` begins a specifier, `$` a variable, except in the path of the program.
    let quote = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
        format!("\"{text}\"")
    };
    let arguments: Vec<String> =
        arguments.iter().map(|argument| quote(&argument.replace('$', "$$"))).collect();
    format!(
        "# {MARK}; `vademecum service remove` removes it.\n\
         [Unit]\n\
         Description=Vademecum, a knowledge server over MCP\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={} {}\n\
         Restart=on-failure\n\
         RestartSec=2\n\
         TimeoutStopSec=30\n\
         OOMPolicy=continue\n\
         UMask=0077\n\
         NoNewPrivileges=yes\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        quote(program),
        arguments.join(" "),
    )
}

fn launch_agent(program: &str, arguments: &[String]) -> String {
    let line = |text: &str| format!("        <string>{}</string>\n", escape_xml(text));
    let command: String =
        [program].into_iter().chain(arguments.iter().map(String::as_str)).map(line).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- {MARK}; `vademecum service remove` removes it. -->\n\
         <plist version=\"1.0\">\n\
         <dict>\n    \
             <key>Label</key>\n    \
             <string>{NAME}</string>\n    \
             <key>ProgramArguments</key>\n    \
             <array>\n{command}    </array>\n    \
             <key>RunAtLoad</key>\n    \
             <true/>\n    \
             <key>KeepAlive</key>\n    \
             <dict>\n        \
                 <key>SuccessfulExit</key>\n        \
                 <false/>\n    \
             </dict>\n    \
             <key>ProcessType</key>\n    \
             <string>Interactive</string>\n    \
             <key>Umask</key>\n    \
             <integer>63</integer>\n\
         </dict>\n\
         </plist>\n"
    )
}

fn task(program: &str, arguments: &[String]) -> String {
    let arguments: Vec<String> = arguments.iter().map(|it| quote_windows(it)).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n\
         <!-- {MARK}; `vademecum service remove` removes it. -->\n\
         <Task version=\"1.2\" xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\">\n  \
           <Triggers>\n    \
             <LogonTrigger>\n      \
               <Enabled>true</Enabled>\n    \
             </LogonTrigger>\n  \
           </Triggers>\n  \
           <Principals>\n    \
             <Principal id=\"Author\">\n      \
               <LogonType>InteractiveToken</LogonType>\n      \
               <RunLevel>LeastPrivilege</RunLevel>\n    \
             </Principal>\n  \
           </Principals>\n  \
           <Settings>\n    \
             <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>\n    \
             <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>\n    \
             <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>\n    \
             <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>\n    \
             <RestartOnFailure>\n      \
               <Interval>PT1M</Interval>\n      \
               <Count>3</Count>\n    \
             </RestartOnFailure>\n  \
           </Settings>\n  \
           <Actions Context=\"Author\">\n    \
             <Exec>\n      \
               <Command>{}</Command>\n      \
               <Arguments>{}</Arguments>\n    \
             </Exec>\n  \
           </Actions>\n\
         </Task>\n",
        escape_xml(program),
        escape_xml(&arguments.join(" ")),
    )
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Quotes an argument as programs on Windows read it: backslashes before a quote are doubled.
fn quote_windows(argument: &str) -> String {
    if !argument.is_empty() && !argument.contains([' ', '"']) {
        return argument.to_owned();
    }
    let mut quoted = "\"".to_owned();
    let mut backslashes = 0;
    for letter in argument.chars() {
        if letter == '"' {
            quoted.push_str(&"\\".repeat(backslashes + 1));
        }
        backslashes = if letter == '\\' { backslashes + 1 } else { 0 };
        quoted.push(letter);
    }
    quoted + &"\\".repeat(backslashes) + "\""
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const PROGRAM: &str = "/opt/my tools/vademecum";

    fn text(manager: ServiceManager) -> String {
        let arguments = ["serve", "--data", "/home/ada/50% & \"more\" <x>/$HOME", "--user", "ada"];
        manager.text(PROGRAM, &strings(&arguments)).unwrap()
    }

    #[test]
    fn systemd_unit_quotes_its_command() {
        let unit = text(ServiceManager::Systemd);
        let command = "ExecStart=\"/opt/my tools/vademecum\" \"serve\" \"--data\" \
             \"/home/ada/50%% & \\\"more\\\" <x>/$$HOME\" \"--user\" \"ada\"\n";
        assert!(unit.contains(command), "{unit}");
        for line in ["Restart=on-failure", "UMask=0077", "WantedBy=default.target"] {
            assert!(unit.contains(&format!("{line}\n")), "{line}: {unit}");
        }
        assert!(ServiceManager::Systemd.text("/a\nExecStartPre=/b", &[]).is_err());
    }

    #[test]
    fn systemd_accepts_the_unit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(UNIT);
        // The program must exist.
        let program = vademecum_core::config::called_program().unwrap();
        let unit = text(ServiceManager::Systemd).replace(PROGRAM, program.to_str().unwrap());
        fs::write(&path, unit).unwrap();
        let verify = std::process::Command::new("systemd-analyze")
            .args(["verify", "--user"])
            .arg(&path)
            .env("XDG_RUNTIME_DIR", folder.path())
            .output();
        // Not every system has systemd; the text is tested above.
        let Ok(done) = verify else { return };
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success() && !errors.contains(UNIT), "{errors}");
    }

    #[test]
    fn launch_agent_escapes_its_command() {
        let agent = text(ServiceManager::Launchd);
        for line in [
            "<string>/opt/my tools/vademecum</string>",
            "<string>/home/ada/50% &amp; &quot;more&quot; &lt;x&gt;/$HOME</string>",
            "<key>RunAtLoad</key>\n    <true/>",
            "<key>Label</key>\n    <string>vademecum</string>",
        ] {
            assert!(agent.contains(line), "{line}: {agent}");
        }
        assert_eq!(agent.matches("<string>").count(), agent.matches("</string>").count());
    }

    #[test]
    fn task_quotes_its_arguments() {
        let manager = ServiceManager::TaskScheduler;
        let task = text(manager);
        let arguments = "<Arguments>serve --data &quot;/home/ada/50% &amp; \\&quot;more\\&quot; \
             &lt;x&gt;/$HOME&quot; --user ada</Arguments>";
        assert!(task.contains(arguments), "{task}");
        assert!(task.contains("<RunLevel>LeastPrivilege</RunLevel>"));
        assert_eq!(manager.decode(&manager.encode(&task)), task);
        assert_eq!(manager.encode("a")[..2], [0xFF, 0xFE]);
        let quoted = ["", "a b\\", "a\\\\\" b", "plain\\"].map(quote_windows);
        assert_eq!(quoted, ["\"\"", "\"a b\\\\\"", "\"a\\\\\\\\\\\" b\"", "plain\\"]);
    }
}
