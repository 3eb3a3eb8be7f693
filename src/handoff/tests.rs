//! Documents with hostile values, bodies and frontmatters.

use proptest::prelude::*;

use super::*;

#[test]
fn parsing_keeps_the_body_byte_for_byte() {
    let text = "\u{feff}---\r\na: 1\r\nlist:\r\n  - x\r\n---\r\n\r\n# Body\r\n\u{c}rest  ";
    let document = Handoff::parse(text).unwrap();
    assert_eq!(document.text("a"), "1");
    assert_eq!(document.texts("list"), ["x"]);
    assert_eq!(document.line("list"), 3);
    assert_eq!(document.body, "\r\n# Body\r\n\u{c}rest  ");
}

#[test]
fn an_ambiguous_value_is_refused_with_its_line_and_how_to_quote_it() {
    for value in ["a # b", "'it''s'", "\"C:\\new\"", "\"tab\\t\""] {
        let error = Handoff::parse(&format!("---\nok: 1\nk: {value}\n---\n")).unwrap_err();
        assert_eq!(error.line, 3, "{value}");
        assert!(error.message.contains("write \""), "{}", error.message);
    }
    let error = Handoff::parse("---\nf:\n  - path: x\n    reason: it goes\n      on\n---\n").unwrap_err();
    assert_eq!(error.line, 2);
    // A standing ruling is not valid YAML, so the subset wins; a flow list is text in the subset, so YAML wins.
    assert_eq!(Handoff::parse("---\nd:\n  - [standing] x\n---\n").unwrap().texts("d"), ["[standing] x"]);
    assert_eq!(Handoff::parse("---\nd: [a, b]\n---\n").unwrap().texts("d"), ["a", "b"]);
    assert!(Handoff::parse("---\na: 1\na: 2\n---\n").is_err());
}

#[test]
fn a_mapping_without_pairs_is_written_as_nothing() {
    let document = Handoff::parse("---\nfiles:\n- {}\none: {}\nboth:\n- {}\n- {a: b}\n---\n").unwrap();
    let written = document.render();
    assert_eq!(written, "---\nfiles: []\none: []\nboth:\n  - a: \"b\"\n---\n");
    assert_eq!(Handoff::parse(&written).unwrap().render(), written);
}

#[test]
fn a_key_that_cannot_be_written_again_is_refused_with_its_line() {
    // Each is read by one of the two readers only, so no archive with it could be opened.
    for (fields, line) in [
        ("ok: 1\na:b: x\nnext:\n  folded\n", 3),
        ("ok: 1\n\"m\": x\nflow: [a, \"b, c\n", 3),
        ("ok: 1\nfiles:\n  - {path: a, reason:r.rs, reason: c}\n", 3),
        ("ok: 1\n? {a: b}\n: c\n", 3),
    ] {
        let error = Handoff::parse(&format!("---\n{fields}---\n")).unwrap_err();
        assert_eq!(error.line, line, "{fields}: {}", error.message);
    }
    let error = Handoff::parse("---\na:b: x\nnext:\n  folded\n---\n").unwrap_err();
    assert_eq!(error.message, "the key 'a:b' cannot be kept: use letters, digits and `_` in it");
    for key in ["x-custom", "größe", "two words", "a.b"] {
        let document = Handoff::parse(&format!("---\n{key}: x\nfiles:\n  - path: a\n    {key}: b\n---\n")).unwrap();
        assert_eq!(document.text(key), "x");
        assert_eq!(Handoff::parse(&document.render()).unwrap().render(), document.render());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_reader_reads_what_we_write_alike(texts in proptest::collection::vec(any::<String>(), 1..4), body in any::<String>()) {
        let mut document = Handoff { fields: Vec::new(), body };
        document.set("scalar", Value::Text(texts[0].clone()));
        document.set("list", Value::List(texts.iter().map(|text| Value::Text(text.clone())).collect()));
        let pairs = vec![("path".to_owned(), Value::Text(texts[0].clone())), ("reason".to_owned(), Value::Text(texts[texts.len() - 1].clone()))];
        document.set("maps", Value::List(vec![Value::Map(pairs)]));
        document.set("none", Value::List(Vec::new()));
        let text = document.render();
        let fields = text.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap().to_owned() + "\n";
        let (theirs, yaml) = (subset::read(&fields).unwrap(), yaml::read(&fields).unwrap());
        prop_assert_eq!(&theirs, &yaml);
        prop_assert!(subset::is_as_we_write(&fields));
        prop_assert_eq!(subset::read_as_we_write(&fields), Some(theirs));
        let again = Handoff::parse(&text).unwrap();
        prop_assert_eq!(again.text("scalar"), one_line(&texts[0]));
        prop_assert_eq!(again.texts("list"), texts.iter().map(|text| one_line(text)).collect::<Vec<_>>());
        prop_assert_eq!(&again.body, &document.body);
        prop_assert_eq!(again.render(), text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400), yaml in "[-:#'\"\\[\\]{}&*!|> \na-c\t]{0,80}") {
        let text = String::from_utf8_lossy(&bytes);
        let _ = Handoff::parse(&text);
        let _ = Handoff::parse(&format!("---\n{text}\n---\n"));
        // Text that looks like our own writing has one reading.
        if subset::is_as_we_write(&yaml) && let (Ok(theirs), Ok(yaml)) = (subset::read(&yaml), yaml::read(&yaml)) {
            prop_assert_eq!(theirs, yaml);
        }
        if let Some(fields) = subset::read_as_we_write(&yaml) {
            prop_assert!(subset::is_as_we_write(&yaml));
            prop_assert_eq!(subset::read(&yaml), Ok(fields));
        }
        if let Ok(document) = Handoff::parse(&format!("---\n{yaml}\n---\n")) {
            let _ = check(&document);
            let written = document.render();
            prop_assert_eq!(Handoff::parse(&written).map(|again| again.render()), Ok(written));
        }
    }
}
