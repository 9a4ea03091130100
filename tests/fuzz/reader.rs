//! Fuzz target that feeds bytes to one reader: the one that `FUZZ_READER` names, or that has the name
//! of the program.
#![no_main]

use std::{
    env,
    panic::{set_hook, take_hook},
    sync::LazyLock,
};

static READER: LazyLock<String> = LazyLock::new(|| {
    let of_program = || Some(env::current_exe().ok()?.file_name()?.to_str()?.to_owned());
    let name = env::var("FUZZ_READER").ok().or_else(of_program);
    name.expect("FUZZ_READER or the name of the program must name a reader")
});

libfuzzer_sys::fuzz_target!(
    init: {
        // A panic of our code aborts the run even if it is caught. A panic in a dependency aborts
        // the run only if it is not caught, because it fails only the one file.
        let end = take_hook();
        set_hook(Box::new(move |panic| {
            let is_foreign =
                |file: &str| file.contains("/registry/src/") || file.starts_with("/rustc/");
            if panic.location().is_some_and(|at| is_foreign(at.file())) {
                eprintln!("panic in a dependency: {panic}");
            } else {
                end(panic);
            }
        }));
    },
    |bytes: &[u8]| {
        assert!(vademecum::fuzzing::feed(&READER, bytes), "no reader is named {}", *READER);
    }
);
