//! Custom tools of a running server: the check at start, and reloading the settings file.

use std::{
    fs,
    path::Path,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use vademecum_actors::{collections::SyncJobs, error_chain};
use vademecum_core::{auth::Principal, config::Settings, telemetry::Metrics};
use vademecum_mcp::Service;
use vademecum_services::custom_tools::{
    CheckState, CustomTool, CustomToolError, DefinedTools, check_tools, define_tools,
};
use vademecum_sql::{Databases, Profiles};
use vademecum_tools::{RegisteredTool, ToolRegistry};

use super::AppError;

/// Maximum time for the databases to check the statements while the server starts or reloads.
const START_CHECK_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time for a database to check the statements that were not checked in time.
const LATE_CHECK_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval between attempts to check statements whose database could not be reached.
const LATE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Interval between attempts to check statements that their databases refuse, for example because a
/// table does not exist yet.
const REFUSED_CHECK_INTERVAL: Duration = Duration::from_mins(1);
/// Interval between looks at the settings file.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Custom tools of a server, which its settings file may change.
#[derive(Clone, Debug)]
pub(super) struct CustomTools {
    pub(super) registry: Arc<ToolRegistry>,
    pub(super) profiles: Arc<Profiles>,
    pub(super) databases: Arc<Databases>,
    pub(super) owner: Principal,
    /// Collections, whose rights the settings file may change too.
    pub(super) syncs: SyncJobs,
    pub(super) service: Service,
    pub(super) metrics: Metrics,
    /// The settings file as it was at the start.
    pub(super) file_version: Option<FileVersion>,
}

/// Version of the settings file: its time of modification and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileVersion(SystemTime, u64);

impl FileVersion {
    /// Reads the version of a file; `None` if it does not exist.
    pub(super) fn read(file: &Path) -> Option<Self> {
        let metadata = fs::metadata(file).ok()?;
        Some(Self(metadata.modified().ok()?, metadata.len()))
    }
}

impl CustomTools {
    /// Defines and offers the tools of the settings, without a check on their databases. Wrong ones
    /// are left out.
    pub(super) fn define(&self, settings: &Settings) -> Result<Vec<CustomTool>, AppError> {
        let tools = self.define_tools(settings).tools;
        self.register(&tools, settings)?;
        Ok(tools)
    }

    fn define_tools(&self, settings: &Settings) -> DefinedTools {
        define_tools(settings, &self.profiles, &self.registry.program_tools())
    }

    /// Installs the handler of SIGHUP, which would end the process otherwise.
    pub(super) fn expect_hangup(&self) {
        if self.file_version.is_some() {
            drop(HangupSignal::subscribe());
        }
    }

    /// Defines the tools of the settings, has their databases check them, and offers those that are
    /// not wrong. The log names the others. Fails if a tool that is to be disabled does not exist; the
    /// tools that were offered before are kept then.
    pub(super) async fn load(&self, settings: &Settings) -> Result<Vec<CustomTool>, AppError> {
        let DefinedTools { mut tools, wrong } = self.define_tools(settings);
        self.check(&mut tools, settings, START_CHECK_TIMEOUT).await;
        self.announce(&tools, settings).await?;
        wrong.iter().chain(tools.iter().filter_map(CustomTool::refusal)).for_each(log_wrong_tool);
        Ok(tools)
    }

    async fn check(&self, tools: &mut [CustomTool], settings: &Settings, timeout: Duration) {
        check_tools(tools, &self.databases, &self.owner, timeout, settings).await;
    }

    /// Offers those of the tools that no database refuses. Returns true if the list of tools has
    /// changed.
    fn register(&self, tools: &[CustomTool], settings: &Settings) -> Result<bool, AppError> {
        let offered = tools.iter().filter(|tool| tool.refusal().is_none());
        let registered: Vec<RegisteredTool> = offered.map(RegisteredTool::custom).collect();
        let names: Vec<_> = registered.iter().map(|tool| tool.entry().name).collect();
        let disabled = self.disabled_tools(settings, &names);
        let has_changed = self.registry.replace_custom_tools(registered, &disabled)?;
        self.metrics.add_tools(&names);
        Ok(has_changed)
    }

    /// Returns the tools to be disabled, without the custom tools that are not offered anyway. A name
    /// that a tool of the program has stays, whatever custom tool has it too.
    fn disabled_tools(&self, settings: &Settings, offered: &[&str]) -> Vec<String> {
        let program_tools = self.registry.program_tools();
        let is_of_program = |name: &str| {
            let mut names = program_tools.iter();
            names.any(|it| it.replace('.', "_").eq_ignore_ascii_case(&name.replace('.', "_")))
        };
        let is_left_out = |name: &str| {
            settings.tools.custom.keys().any(|custom| custom.as_str() == name)
                && !offered.contains(&name)
                && !is_of_program(name)
        };
        settings.tools.disabled.iter().filter(|name| !is_left_out(name)).cloned().collect()
    }

    /// Offers these tools, and notifies the clients if the list has changed.
    async fn announce(&self, tools: &[CustomTool], settings: &Settings) -> Result<(), AppError> {
        if self.register(tools, settings)? {
            self.service.announce_tool_change().await;
        }
        for tool in tools {
            if let CheckState::Unchecked(Some(error)) = &tool.state {
                tracing::warn!(tool = %tool.name, %error, "custom tool could not be checked");
            }
        }
        Ok(())
    }

    /// Reloads the tools whenever the settings file changes or the process receives SIGHUP, and
    /// checks those again that their databases have not accepted. Returns at once without a file.
    pub(super) async fn watch(self, mut settings: Settings, mut tools: Vec<CustomTool>) {
        // Without a file, SIGHUP ends the process, as it does by default.
        let Some(file) = settings.file.clone() else { return };
        let mut version = self.file_version;
        let mut rounds = tokio::time::interval(FILE_CHECK_INTERVAL);
        let mut last_check = Instant::now();
        let mut late_check: Option<LateCheck> = None;
        let mut hangup = HangupSignal::subscribe();
        loop {
            let is_asked = tokio::select! {
                () = hangup.wait() => true,
                _ = rounds.tick() => false,
                checked = wait_for_check(&mut late_check) => {
                    (tools, late_check, last_check) = (checked, None, Instant::now());
                    continue;
                }
            };
            let path = file.clone();
            let now = tokio::task::spawn_blocking(move || FileVersion::read(&path)).await;
            let now = now.ok().flatten();
            if is_asked || (now != version && now.is_some()) {
                version = now;
                if let Some((new_settings, new_tools)) = self.reload(&file).await {
                    // The check of tools that were replaced ends.
                    (settings, tools, late_check) = (new_settings, new_tools, None);
                }
                last_check = Instant::now();
            } else if late_check.is_none()
                && tools.iter().any(|tool| last_check.elapsed() > check_interval(tool))
            {
                let check = self.clone().check_late(tools.clone(), settings.clone());
                late_check = Some(Box::pin(check));
            }
        }
    }

    /// Reloads the settings file. An error is logged, and the tools stay as they are.
    async fn reload(&self, file: &Path) -> Option<(Settings, Vec<CustomTool>)> {
        let path = file.to_owned();
        let read = tokio::task::spawn_blocking(move || Settings::load(Some(&path))).await;
        let loaded = match read {
            Ok(Ok(settings)) => {
                self.configure_collections(&settings);
                self.load(&settings).await.map(|tools| (settings, tools))
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => return None,
        };
        match loaded {
            Ok(loaded) => {
                tracing::info!(tools = loaded.1.len(), "custom tools were reloaded");
                Some(loaded)
            }
            Err(error) => {
                let error = error_chain(&error);
                tracing::error!(%error, "custom tools were not reloaded; correct the settings file");
                None
            }
        }
    }

    /// Applies the collections of the settings, whose rights hold at once. An error is logged, and the
    /// collections stay as they are.
    fn configure_collections(&self, settings: &Settings) {
        if let Err(error) = self.syncs.configure(&settings.collections, &self.owner) {
            let error = error_chain(&error);
            tracing::error!(%error, "collections were not reloaded; correct the settings file");
            return;
        }
        let syncs = self.syncs.clone();
        drop(tokio::task::spawn_blocking(move || syncs.record_configured()));
    }

    /// Checks the tools again that their databases have not accepted, and returns all of them.
    async fn check_late(self, mut tools: Vec<CustomTool>, settings: Settings) -> Vec<CustomTool> {
        let before: Vec<_> = tools.iter().map(|tool| tool.refusal().cloned()).collect();
        self.check(&mut tools, &settings, LATE_CHECK_TIMEOUT).await;
        for (tool, before) in tools.iter().zip(&before) {
            if let Some(error) = tool.refusal().filter(|error| before.as_ref() != Some(*error)) {
                log_wrong_tool(error);
            }
        }
        if let Err(error) = self.announce(&tools, &settings).await {
            let error = error_chain(&error);
            tracing::error!(%error, "custom tools were not offered; correct the settings file");
        }
        tools
    }
}

fn log_wrong_tool(error: &CustomToolError) {
    tracing::error!(tool = %error.name, %error, "a custom tool is wrong and not offered");
}

/// Returns the time after which the check of a tool is repeated.
fn check_interval(tool: &CustomTool) -> Duration {
    match tool.state {
        CheckState::Unchecked(_) => LATE_CHECK_INTERVAL,
        CheckState::Refused(_) => REFUSED_CHECK_INTERVAL,
        CheckState::Accepted(_) => Duration::MAX,
    }
}

/// A check that runs beside the watch of the settings file, which does not wait for databases.
type LateCheck = Pin<Box<dyn Future<Output = Vec<CustomTool>>>>;

/// Waits for the end of a check; for ever if there is none.
async fn wait_for_check(check: &mut Option<LateCheck>) -> Vec<CustomTool> {
    match check {
        Some(check) => check.await,
        None => std::future::pending().await,
    }
}

/// The signal to reload the settings.
struct HangupSignal(#[cfg(unix)] Option<tokio::signal::unix::Signal>);

impl HangupSignal {
    fn subscribe() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let listening = signal(SignalKind::hangup());
            Self(listening.inspect_err(|error| tracing::warn!(%error, "no SIGHUP handler")).ok())
        }
        #[cfg(not(unix))]
        Self()
    }

    async fn wait(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.0
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}
