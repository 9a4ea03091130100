//! Restrictions of a child process on Linux: Landlock for files and ports, seccomp for system
//! calls.

use std::{collections::BTreeMap, ffi::OsString, io, path::Path};

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// Newest version of Landlock that is used. Older kernels enforce what they know.
pub(crate) const LANDLOCK_ABI: ABI = ABI::V6;

/// Commands for descriptors that act on them and on locks only: others send signals to processes.
const FCNTL_COMMANDS: [i32; 10] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_GETLK,
    libc::F_OFD_SETLK,
];

/// What Landlock enforces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LandlockState {
    /// Version that is enforced; 0 if none.
    pub(crate) version: u32,
    pub(crate) no_new_privileges: bool,
}

/// Denies access to all files but those in the given folders, and to TCP ports, as far as this
/// version of Landlock can. Returns what the kernel enforces.
pub(crate) fn deny_file_access(
    abi: ABI,
    readable: &[OsString],
    writable: &[OsString],
    temp_folder: Option<&Path>,
) -> io::Result<LandlockState> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let writing = reading | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg;
    let readable = path_beneath_rules(readable, reading);
    let writable = path_beneath_rules(writable, writing);
    let temporary = path_beneath_rules(temp_folder, writing | AccessFs::RemoveFile);
    // The folder itself is an entry of its parent.
    let parent = temp_folder.and_then(Path::parent);
    let removable = path_beneath_rules(parent, AccessFs::RemoveDir);
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .and_then(|ruleset| match AccessNet::from_all(abi) {
            none if none.is_empty() => Ok(ruleset),
            network => ruleset.handle_access(network),
        })
        .and_then(|ruleset| match Scope::from_all(abi) {
            none if none.is_empty() => Ok(ruleset),
            scopes => ruleset.scope(scopes),
        })
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rules(readable))
        .and_then(|ruleset| ruleset.add_rules(writable))
        .and_then(|ruleset| ruleset.add_rules(temporary))
        .and_then(|ruleset| ruleset.add_rules(removable))
        .and_then(landlock::RulesetCreated::restrict_self);
    let status = restricted.map_err(io::Error::other)?;
    let version = match (status.ruleset, status.landlock) {
        (
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
            LandlockStatus::Available { effective_abi, .. },
        ) => (effective_abi as u32).min(abi as u32),
        (RulesetStatus::NotEnforced, _)
        | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => 0,
    };
    Ok(LandlockState { version, no_new_privileges: status.no_new_privs })
}

/// Access of a process to files by their paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileCalls {
    /// None: the parent opens its files. No path can be tried, so that not even the existence of a
    /// file is disclosed, which Landlock does not hide.
    None,
    /// Opening for reading.
    Read,
    /// Opening for reading and writing.
    Write,
}

/// Denies all system calls that reading does not need: sockets, processes and calls with paths that
/// are not permitted. Returns `false` if the system has no filters.
pub(crate) fn deny_system_calls(files: FileCalls) -> io::Result<bool> {
    // On other processors, Landlock and the limits remain.
    let arch = if cfg!(target_arch = "x86_64") {
        TargetArch::x86_64
    } else if cfg!(target_arch = "aarch64") {
        TargetArch::aarch64
    } else {
        return Ok(false);
    };
    let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    // The C library falls back to `clone`, whose flags can be checked.
    let missing = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    for filter in [
        SeccompFilter::new(clone3, SeccompAction::Allow, missing, arch),
        SeccompFilter::new(allowed_calls(files)?, denied, SeccompAction::Allow, arch),
    ] {
        let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(io::Error::other)?;
        // A service manager may deny this call, and a kernel may lack it.
        if apply_filter(&program).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn allowed_calls(files: FileCalls) -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED_CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    calls.insert(libc::SYS_clone, vec![masked_rule(0, thread, thread)?]);
    #[cfg(target_arch = "x86_64")]
    calls.insert(libc::SYS_getrlimit, Vec::new());
    calls.extend(checked_calls()?);
    if files == FileCalls::None {
        // Its input brings the files.
        calls.insert(libc::SYS_recvmsg, Vec::new());
        return Ok(calls);
    }
    let with_paths = PATH_CALLS.iter().chain(LEGACY_PATH_CALLS);
    calls.extend(with_paths.map(|call| (*call, Vec::new())));
    if files == FileCalls::Write {
        let more = WRITING_CALLS.iter().chain(LEGACY_WRITING_CALLS);
        calls.extend(more.map(|call| (*call, Vec::new())));
        return Ok(calls);
    }
    let writing = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
    let writing = u64::from(writing.unsigned_abs());
    calls.insert(libc::SYS_openat, vec![masked_rule(2, writing, 0)?]);
    #[cfg(target_arch = "x86_64")]
    calls.insert(libc::SYS_open, vec![masked_rule(1, writing, 0)?]);
    Ok(calls)
}

/// Returns the calls that may act on this process only: its limits, its threads, its descriptors and
/// its memory, which never becomes executable. It may set the limit of its CPU time, which its parent
/// bounds by a deadline as well; a process of `root` cannot lift another limit either.
fn checked_calls() -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let own_limits = condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, 0)?;
    let reads = condition(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
    let cpu = u64::from(libc::RLIMIT_CPU);
    let cpu_time = condition(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, cpu)?;
    let own_id = u64::from(std::process::id());
    let own_threads = condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, own_id)?;
    let commands = FCNTL_COMMANDS.iter().map(|command| {
        let command = u64::from(command.unsigned_abs());
        rule(vec![condition(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, command)?])
    });
    let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
    let commands: io::Result<Vec<SeccompRule>> = commands.collect();
    let own_limits =
        vec![rule(vec![own_limits.clone(), reads])?, rule(vec![own_limits, cpu_time])?];
    Ok(BTreeMap::from([
        (libc::SYS_prlimit64, own_limits),
        (libc::SYS_tgkill, vec![rule(vec![own_threads])?]),
        (libc::SYS_fcntl, commands?),
        (libc::SYS_mmap, vec![masked_rule(2, executable, 0)?]),
        (libc::SYS_mprotect, vec![masked_rule(2, executable, 0)?]),
    ]))
}

/// Returns a rule that the bits of `mask` in an argument have this value.
fn masked_rule(argument: u8, mask: u64, value: u64) -> io::Result<SeccompRule> {
    let masked = SeccompCmpOp::MaskedEq(mask);
    rule(vec![condition(argument, SeccompCmpArgLen::Qword, masked, value)?])
}

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    comparison: SeccompCmpOp,
    value: u64,
) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, length, comparison, value).map_err(io::Error::other)
}

fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

const ALLOWED_CALLS: &[i64] = &[
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_pread64,
    libc::SYS_prlimit64,
    libc::SYS_read,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Calls that look at files by their paths.
const PATH_CALLS: &[i64] = &[
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_newfstatat,
    libc::SYS_readlinkat,
    libc::SYS_statx,
];

/// Those that older processors have in addition.
#[cfg(target_arch = "x86_64")]
const LEGACY_PATH_CALLS: &[i64] =
    &[libc::SYS_getdents, libc::SYS_lstat, libc::SYS_readlink, libc::SYS_stat];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_PATH_CALLS: &[i64] = &[];

/// Calls by which `SQLite` writes temporary files and the shared memory of a log. Landlock limits
/// them to the folders of the process.
const WRITING_CALLS: &[i64] = &[
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fdatasync,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_geteuid,
    libc::SYS_openat,
    libc::SYS_pwrite64,
    libc::SYS_unlinkat,
];

/// The same of older processors.
#[cfg(target_arch = "x86_64")]
const LEGACY_WRITING_CALLS: &[i64] =
    &[libc::SYS_access, libc::SYS_open, libc::SYS_rmdir, libc::SYS_unlink];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_WRITING_CALLS: &[i64] = &[];

#[cfg(test)]
#[path = "system_call_tests.rs"]
mod system_call_tests;

#[cfg(test)]
mod tests {
    use std::{env, fs, io, net, process::Command, thread};

    use crate::{Restrictions, limit_cpu_time};

    /// Variable that names the folder of the restricted process.
    const FOLDER_VARIABLE: &str = "VADEMECUM_TEST_SANDBOX";
    /// Runs in the process that the test below starts.
    #[test]
    #[ignore = "restricts the whole process; run by restricted_process_can_only_read_its_folders"]
    fn restricted_process() {
        let Some(folder) = env::var_os(FOLDER_VARIABLE) else { return };
        let folder = std::path::PathBuf::from(folder);
        let restrictions = Restrictions {
            memory_mb: 64,
            max_file_mb: 0,
            readable: ["open", "single"].map(|name| folder.join(name).into_os_string()).to_vec(),
            writable: Vec::new(),
            temp_folder: None,
        };
        restrictions.apply().unwrap();
        for name in ["open/file", "single"] {
            assert_eq!(fs::read(folder.join(name)).unwrap(), b"text");
        }
        assert_eq!(fs::read_dir(folder.join("open")).unwrap().count(), 1);
        assert_eq!(thread::spawn(|| 7).join().unwrap(), 7);
        limit_cpu_time(5).unwrap();
        let denied = [
            fs::read(folder.join("closed")).map(drop),
            fs::write(folder.join("open/new"), "text"),
            fs::write(folder.join("open/file"), "other"),
            fs::OpenOptions::new().append(true).open(folder.join("open/file")).map(drop),
            fs::remove_file(folder.join("open/file")),
            fs::rename(folder.join("open/file"), folder.join("open/moved")),
            fs::create_dir(folder.join("open/folder")),
            fs::hard_link(folder.join("open/file"), folder.join("open/linked")),
            std::os::unix::fs::symlink("file", folder.join("open/linked")),
            net::TcpListener::bind("127.0.0.1:0").map(drop),
            net::TcpStream::connect("127.0.0.1:9").map(drop),
            net::UdpSocket::bind("127.0.0.1:0").map(drop),
            std::os::unix::net::UnixStream::connect(folder.join("socket")).map(drop),
            Command::new("/bin/true").status().map(drop),
        ];
        for (number, attempt) in denied.into_iter().enumerate() {
            let error = attempt.expect_err(&number.to_string());
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{number}: {error}");
        }
        assert!(Vec::<u8>::new().try_reserve_exact(512 * 1_024 * 1_024).is_err());
    }

    /// Runs in the process that the test below starts.
    #[test]
    #[ignore = "restricts the whole process; run by restricted_process_writes_in_its_folders"]
    fn writing_process() {
        let Some(folder) = env::var_os(FOLDER_VARIABLE) else { return };
        let folder = std::path::PathBuf::from(folder);
        let restrictions = Restrictions {
            memory_mb: 64,
            max_file_mb: 1,
            readable: vec![folder.join("open").into_os_string()],
            writable: ["written", "single"].map(|name| folder.join(name).into_os_string()).to_vec(),
            temp_folder: Some(folder.join("temporary")),
        };
        restrictions.apply().unwrap();
        fs::write(folder.join("written/log"), "text").unwrap();
        fs::write(folder.join("single"), "text").unwrap();
        fs::write(folder.join("temporary/file"), vec![0; 1_024 * 1_024]).unwrap();
        fs::remove_file(folder.join("temporary/file")).unwrap();
        fs::remove_dir(folder.join("temporary")).unwrap();
        assert_eq!(fs::read(folder.join("open/file")).unwrap(), b"text");
        let denied = [
            fs::read(folder.join("closed")).map(drop),
            fs::write(folder.join("closed"), "other"),
            fs::write(folder.join("beside"), "text"),
            fs::write(folder.join("open/new"), "text"),
            fs::write(folder.join("open/file"), "other"),
            fs::remove_file(folder.join("open/file")),
            fs::remove_file(folder.join("written/log")),
            fs::rename(folder.join("written/log"), folder.join("written/moved")),
            std::os::unix::fs::symlink("file", folder.join("written/linked")),
            net::TcpStream::connect("127.0.0.1:9").map(drop),
            Command::new("/bin/true").status().map(drop),
        ];
        for (number, attempt) in denied.into_iter().enumerate() {
            let error = attempt.expect_err(&number.to_string());
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{number}: {error}");
        }
    }

    /// Runs an ignored test in a process of its own, with these files in its folder.
    fn run_in_process(test: &str, folder: &std::path::Path) {
        fs::create_dir(folder.join("open")).unwrap();
        fs::write(folder.join("open/file"), "text").unwrap();
        for name in ["closed", "single"] {
            fs::write(folder.join(name), "text").unwrap();
        }
        let done = Command::new(env::current_exe().unwrap())
            .args(["--exact", "--ignored", &format!("linux::tests::{test}")])
            .env(FOLDER_VARIABLE, folder)
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && output.contains("1 passed"), "{done:?}");
        assert_eq!(fs::read(folder.join("open/file")).unwrap(), b"text");
    }

    #[test]
    fn restricted_process_can_only_read_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        run_in_process("restricted_process", folder.path());
    }

    #[test]
    fn restricted_process_writes_in_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["written", "temporary"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        run_in_process("writing_process", folder.path());
        assert!(folder.path().join("written/log").exists());
        assert!(!folder.path().join("temporary").exists());
    }
}
