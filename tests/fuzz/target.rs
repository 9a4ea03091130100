//! One parser, fed with bytes: which of them, says the name of the target.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    vademecum::import::fuzzing::parse(env!("CARGO_BIN_NAME"), bytes);
});
