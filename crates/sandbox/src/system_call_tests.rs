//! Attacks of a process in the sandbox on others, by system calls of any number and argument.

use std::{env, io, process::Command};

use landlock::ABI;
use libc::c_long;
use rustix::process::{Resource, Rlimit, getppid};

use super::{FileCalls, allowed_calls, deny_file_access, deny_system_calls};
use crate::limit_cpu_time;

/// Variable with the position of the version of Landlock in [`LANDLOCK_VERSIONS`], and the
/// access to files.
const LAYERS_VARIABLE: &str = "VADEMECUM_TEST_LAYERS";
/// Versions of Landlock that kernels have; `None` for a kernel without it.
const LANDLOCK_VERSIONS: [Option<ABI>; 8] = [
    None,
    Some(ABI::V1),
    Some(ABI::V2),
    Some(ABI::V3),
    Some(ABI::V4),
    Some(ABI::V5),
    Some(ABI::V6),
    Some(ABI::V7),
];
/// Access to files by their paths.
const FILE_CALLS: [FileCalls; 3] = [FileCalls::None, FileCalls::Read, FileCalls::Write];
/// Numbers of system calls, with some that no kernel has.
const CALL_NUMBERS: std::ops::Range<c_long> = 0..600;

/// Calls that the kernel makes for its probes; it ends a process that makes them itself.
#[cfg(target_arch = "x86_64")]
const SYS_URETPROBE: c_long = 335;
#[cfg(target_arch = "x86_64")]
const SYS_UPROBE: c_long = 336;

/// Calls the kernel with these arguments and returns the error number, or 0.
#[expect(unsafe_code, reason = "no library has functions for calls that must fail")]
fn call(number: c_long, arguments: [c_long; 6]) -> i32 {
    let [first, second, third, more @ ..] = arguments;
    // SAFETY: the sandbox refuses the call, or it gets no pointer but to a limit that it reads.
    let done = unsafe { libc::syscall(number, first, second, third, more[0], more[1], more[2]) };
    if done == -1 { io::Error::last_os_error().raw_os_error().unwrap_or_default() } else { 0 }
}

/// Runs in the processes that the test below starts.
#[test]
#[ignore = "restricts the whole process; run by restricted_process_reaches_no_other_process"]
fn attacking_process() {
    let Some(layers) = env::var_os(LAYERS_VARIABLE) else { return };
    let layers = layers.into_string().unwrap();
    let (version, access) = layers.split_once(' ').unwrap();
    let files = FILE_CALLS[access.parse::<usize>().unwrap()];
    let victim = c_long::from(getppid().unwrap().as_raw_nonzero().get());
    if let Some(abi) = LANDLOCK_VERSIONS[version.parse::<usize>().unwrap()] {
        deny_file_access(abi, &[], &[], None).unwrap();
    }
    deny_system_calls(files).unwrap();
    limit_cpu_time(60).unwrap();
    let own = c_long::from(std::process::id().cast_signed());
    let tight = [1_u64, 1];
    let limit = tight.as_ptr() as c_long;
    let resource = |it: u32| c_long::from(it.cast_signed());
    let (setown, setowner, setsig) = (8, 15, 10);
    let executable = c_long::from(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC);
    let private = c_long::from(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let attacks = [
        (libc::SYS_prlimit64, [victim, resource(libc::RLIMIT_AS), limit, 0, 0, 0]),
        (libc::SYS_prlimit64, [victim, resource(libc::RLIMIT_CPU), limit, 0, 0, 0]),
        (libc::SYS_prlimit64, [victim, resource(libc::RLIMIT_AS), 0, 0, 0, 0]),
        (libc::SYS_prlimit64, [0, resource(libc::RLIMIT_AS), limit, 0, 0, 0]),
        (libc::SYS_prlimit64, [0, resource(libc::RLIMIT_FSIZE), limit, 0, 0, 0]),
        (libc::SYS_tgkill, [victim, victim, 15, 0, 0, 0]),
        (libc::SYS_tgkill, [victim, own, 15, 0, 0, 0]),
        (libc::SYS_fcntl, [0, setown, victim, 0, 0, 0]),
        (libc::SYS_fcntl, [0, setown, -victim, 0, 0, 0]),
        (libc::SYS_fcntl, [0, setowner, limit, 0, 0, 0]),
        (libc::SYS_fcntl, [0, setsig, 9, 0, 0, 0]),
        (libc::SYS_fcntl, [0, c_long::from(libc::F_SETFL), 0o20_000, 0, 0, 0]),
        (libc::SYS_mmap, [0, 4_096, executable, private, -1, 0]),
        (libc::SYS_mprotect, [0, 4_096, executable, 0, 0, 0]),
        (libc::SYS_clone, [0; 6]),
    ];
    for (number, arguments) in attacks {
        assert_eq!(call(number, arguments), libc::EPERM, "{number} {arguments:?}");
    }
    let mut allowed: Vec<c_long> = allowed_calls(files).unwrap().into_keys().collect();
    #[cfg(target_arch = "x86_64")]
    allowed.extend([SYS_URETPROBE, SYS_UPROBE]);
    for number in CALL_NUMBERS.filter(|number| !allowed.contains(number)) {
        for arguments in [[0; 6], [victim, victim, 9, 0, 0, 0], [victim, 9, 0, 0, 0, 0]] {
            assert_eq!(call(number, arguments), libc::EPERM, "{number} {arguments:?}");
        }
    }
}

#[test]
fn restricted_process_reaches_no_other_process() {
    let limits = || {
        [Resource::As, Resource::Cpu, Resource::Fsize, Resource::Nofile]
            .map(rustix::process::getrlimit)
    };
    let before: [Rlimit; 4] = limits();
    for version in 0..LANDLOCK_VERSIONS.len() {
        for access in 0..FILE_CALLS.len() {
            let done = Command::new(env::current_exe().unwrap())
                .args(["--exact", "--ignored", "linux::system_call_tests::attacking_process"])
                .env(LAYERS_VARIABLE, format!("{version} {access}"))
                .output()
                .unwrap();
            let output = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success() && output.contains("1 passed"), "{version} {done:?}");
        }
    }
    assert_eq!(limits(), before);
}

/// Runs in the processes that the test below starts.
#[test]
#[ignore = "restricts the whole process; run by process_without_folders_learns_nothing_of_paths"]
fn process_without_folders() {
    let Some(layers) = env::var_os(LAYERS_VARIABLE) else { return };
    let version: usize = layers.into_string().unwrap().parse().unwrap();
    let own = env::current_exe().unwrap();
    if let Some(abi) = LANDLOCK_VERSIONS[version] {
        deny_file_access(abi, &[], &[], None).unwrap();
    }
    deny_system_calls(FileCalls::None).unwrap();
    // The error of a path that exists is that of one that does not.
    for path in
        ["/etc/passwd", "/etc/none", "/etc", "/proc/self/exe", "/proc/1/exe", own.to_str().unwrap()]
    {
        let path = std::path::Path::new(path);
        let attempts = [
            path.metadata().map(drop),
            path.symlink_metadata().map(drop),
            std::fs::File::open(path).map(drop),
            std::fs::read_dir(path).map(drop),
            std::fs::read_link(path).map(drop),
            std::fs::canonicalize(path).map(drop),
            std::fs::exists(path).map(drop),
        ];
        for (number, attempt) in attempts.into_iter().enumerate() {
            let error = attempt.expect_err(&format!("{number} {path:?}"));
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{number} {path:?}");
        }
    }
    assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
}

#[test]
fn process_without_folders_learns_nothing_of_paths() {
    for version in 0..LANDLOCK_VERSIONS.len() {
        let done = Command::new(env::current_exe().unwrap())
            .args(["--exact", "--ignored", "linux::system_call_tests::process_without_folders"])
            .env(LAYERS_VARIABLE, version.to_string())
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && output.contains("1 passed"), "{version} {done:?}");
    }
}
