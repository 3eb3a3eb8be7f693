//! For `cargo fuzz`: the parser that the variable `PARSER` names.

#![no_main]

use std::sync::LazyLock;

use agent_handover::testing::parsers::{PARSERS, Parser};

static CHOSEN: LazyLock<&Parser> = LazyLock::new(|| {
    let name = std::env::var("PARSER").expect("PARSER names a parser, such as json");
    PARSERS.iter().find(|parser| parser.name == name).expect("a parser of this name")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (CHOSEN.parse)(bytes));
