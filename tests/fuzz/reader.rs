//! One reader, fed with bytes: which of them, says `FUZZ_READER`.
#![no_main]

use std::{
    env,
    panic::{set_hook, take_hook},
    sync::LazyLock,
};

static READER: LazyLock<String> =
    LazyLock::new(|| env::var("FUZZ_READER").expect("FUZZ_READER is the name of a reader"));

libfuzzer_sys::fuzz_target!(
    init: {
        // A panic ends the run, also one that is caught. In other people's code it
        // does so only if nobody catches it: then it costs the file and no more.
        let end = take_hook();
        set_hook(Box::new(move |panic| {
            let is_foreign =
                |file: &str| file.contains("/registry/src/") || file.starts_with("/rustc/");
            if panic.location().is_some_and(|at| is_foreign(at.file())) {
                eprintln!("in other people's code: {panic}");
            } else {
                end(panic);
            }
        }));
    },
    |bytes: &[u8]| {
        assert!(vademecum::fuzzing::feed(&READER, bytes), "no reader is called {}", *READER);
    }
);
