//! Bundles: files of other tools are imported, our exports survive a round trip, and damaged ones are refused.

use std::path::PathBuf;

use aes_gcm::aead::{Aead, KeyInit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::support::*;

pub const ALICE: &str = "4a49626ae1bfbea68a43a029b3b022a4e7bbc2b425301708965305a7bd8b3170";
pub const PASSPHRASE: &str = "correct horse battery staple";
/// After the samples were made.
pub const LATER: &str = "2026-11-16T02:00:00Z";

pub fn sample(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/session-handoff").join(name)
}

pub fn sample_text(name: &str) -> String {
    std::fs::read_to_string(sample(name)).unwrap()
}

pub fn sample_json(name: &str) -> Json {
    serde_json::from_str(&sample_text(name)).unwrap()
}

impl World {
    /// As `run`, on a day on which the samples are of the past.
    pub fn later(&self, arguments: &[&str]) -> Output {
        finish(self.command(arguments).env("AGENT_HANDOVER_TEST_NOW", LATER))
    }

    pub fn import(&self, text: impl AsRef<[u8]>, flags: &[&str]) -> Output {
        self.write("../in.json", text);
        self.later(&[&["history", "import", "--input", "../in.json"], flags].concat())
    }

    pub fn import_sample(&self, name: &str, flags: &[&str]) -> Output {
        let path = sample(name).display().to_string();
        self.later(&[&["history", "import", "--input", &path], flags].concat())
    }

    pub fn trust_alice(&self) {
        let path = sample("v3-signed.json").display().to_string();
        self.later(&["trust", "add", &path]).expect(0);
    }

    /// The bundle that an export of this handoff is.
    pub fn bundle(&self, id: &str) -> Json {
        self.later(&["history", "export", "--id", id, "--format", "json"]).expect(0).json()
    }

    pub fn stored(&self) -> Vec<String> {
        let list = self.later(&["history", "list", "--json"]).expect(0).json();
        list["handoffs"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    }

    pub fn has_nothing(&self) -> bool {
        !self.exists(".agent-history/sessions") || self.stored().is_empty()
    }

    /// A handoff of ours with something in every field.
    pub fn write_one(&self, goal: &str) -> String {
        let output = self.later(&[
            "history",
            "create",
            "--goal",
            goal,
            "--next",
            "Fix <the> \"lexer\" & \\ go on",
            "--next",
            "Then the parser",
            "--summary",
            "Half done.\n\n## Not a heading of ours\n> quoted é 漢字 🔑",
            "--done",
            "one",
            "--issue",
            "two",
            "--decision",
            "[standing] No force pushes",
            "--file",
            "src/lexer.rs=where it breaks",
            "--tag",
            "parser",
            "--validation",
            "cargo test=failed",
            "--tool",
            "codex",
            "--json",
        ]);
        output.expect(0).json()["session_id"].as_str().unwrap().to_owned()
    }

    pub fn keygen(&self, name: &str) -> String {
        self.later(&["keygen", "--output", name, "--json"]).expect(0).json()["fingerprint"].as_str().unwrap().to_owned()
    }
}

#[test]
fn every_file_of_session_handoff_comes_in_with_the_same_record() {
    let records = sample_json("store/handoffs.json")["items"].clone();
    let by_id = |id: &str| records.as_array().unwrap().iter().find(|record| record["id"] == id).unwrap().clone();
    for (name, flags) in [
        ("v2-unsigned.json", vec!["--allow-unsigned"]),
        ("v2-unsigned-escaping.json", vec!["--allow-unsigned"]),
        ("v2-unsigned-no-next-no-changed.json", vec!["--allow-unsigned"]),
        ("v3-signed.json", vec![]),
        ("v3-signed-no-name-escaping.json", vec![]),
        ("encrypted-v2.json", vec!["--allow-unsigned", "--passphrase", PASSPHRASE]),
        ("encrypted-v2-unicode-passphrase.json", vec!["--allow-unsigned", "--passphrase", "pässwörd 🔑"]),
        ("encrypted-v3.json", vec!["--passphrase", PASSPHRASE]),
    ] {
        let world = World::new();
        world.trust_alice();
        world.import_sample(name, &flags).expect(0);
        let ids = world.stored();
        assert_eq!(ids.len(), 1, "{name}");
        assert_eq!(world.bundle(&ids[0])["record"], by_id(&ids[0]), "{name}");
        world.later(&["history", "validate", "--sessions"]).expect(0);
    }
    let world = World::new();
    world.import_sample("store/handoffs.json", &["--allow-unsigned"]).expect(0);
    assert_eq!(world.stored(), ["20261116-001430", "20261116-001429", "20261116-001428"]);
    for id in world.stored() {
        assert_eq!(world.bundle(&id)["record"], by_id(&id));
    }
    world.later(&["history", "validate", "--sessions"]).expect(0);
}

#[test]
fn version_1_comes_in_only_if_unsigned_is_allowed() {
    let record = sample_json("v2-unsigned.json")["record"].clone();
    let bundle = serde_json::json!({ "version": 1, "record": record });
    let world = World::new();
    let refused = world.import(bundle.to_string(), &[]).expect(6);
    assert!(refused.stderr.contains("version 1 has neither checksum nor signature"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--allow-unsigned"), "{}", refused.stderr);
    assert!(world.has_nothing());
    world.import(bundle.to_string(), &["--allow-unsigned"]).expect(0);
    assert_eq!(world.bundle("20261116-001428")["record"], record);
}

#[test]
fn what_is_rendered_in_their_layout_is_theirs_to_the_byte() {
    let world = World::new();
    world.import_sample("store/handoffs.json", &["--allow-unsigned"]).expect(0);
    for id in world.stored() {
        for target in ["generic", "claude-code"] {
            // Except for what no terminal and no model is given.
            let expected =
                sample_text(&format!("render/{id}.{target}.md")).replace('\u{2028}', " ").replace('\u{7f}', "");
            let arguments = ["history", "render", "--id", &id, "--target", target, "--layout", "session-handoff"];
            assert_eq!(world.later(&arguments).expect(0).stdout, expected);
            let arguments = ["history", "export", "--id", &id, "--target", target, "--layout", "session-handoff"];
            assert_eq!(world.later(&arguments).expect(0).stdout, expected);
        }
    }
}

/// The formats once more, from their description alone.
pub mod described {
    use super::*;

    pub fn go_string(text: &str) -> String {
        let mut json = String::from("\"");
        for c in text.chars() {
            match c {
                '"' => json.push_str("\\\""),
                '\\' => json.push_str("\\\\"),
                '\u{8}' => json.push_str("\\b"),
                '\u{c}' => json.push_str("\\f"),
                '\n' => json.push_str("\\n"),
                '\r' => json.push_str("\\r"),
                '\t' => json.push_str("\\t"),
                c if c < ' ' || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') => {
                    json.push_str(&format!("\\u{:04x}", u32::from(c)));
                }
                c => json.push(c),
            }
        }
        json + "\""
    }

    pub fn canonical(record: &Json) -> String {
        let text = |key: &str| format!("\"{key}\":{}", go_string(record[key].as_str().unwrap()));
        let list = |key: &str| {
            let items: Vec<String> =
                record[key].as_array().unwrap().iter().map(|item| go_string(item.as_str().unwrap())).collect();
            format!("\"{key}\":[{}]", items.join(","))
        };
        let mut fields: Vec<String> = ["id", "created_at", "tool", "project", "title", "summary"].map(text).to_vec();
        fields.push(if record["next"].is_null() { "\"next\":null".to_owned() } else { list("next") });
        if record["changed"].as_array().is_some_and(|changed| !changed.is_empty()) {
            fields.push(list("changed"));
        }
        format!("{{{}}}", fields.join(","))
    }

    pub fn checksum(record: &Json) -> String {
        Sha256::digest(canonical(record)).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What their import demands of a bundle; `true` if it is signed.
    pub fn verify(bundle: &Json) -> bool {
        let checksum = checksum(&bundle["record"]);
        assert_eq!(bundle["checksum"], checksum.as_str());
        for key in ["id", "tool", "project", "title", "summary"] {
            assert!(!bundle["record"][key].as_str().unwrap().trim().is_empty());
        }
        let Some(signature) = bundle["signature"].as_str() else {
            assert_eq!(bundle["version"], 2);
            return false;
        };
        assert_eq!(bundle["version"], 3);
        let key = STANDARD.decode(bundle["signer"]["public_key"].as_str().unwrap()).unwrap();
        let id: String = Sha256::digest(&key)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(bundle["signer"]["key_id"], id.as_str());
        let key = ed25519_dalek::VerifyingKey::from_bytes(&key.try_into().unwrap()).unwrap();
        let signature = STANDARD.decode(signature).unwrap();
        key.verify_strict(checksum.as_bytes(), &ed25519_dalek::Signature::from_slice(&signature).unwrap()).unwrap();
        true
    }

    pub fn open(envelope: &Json, passphrase: &str) -> String {
        assert_eq!(envelope["version"], 1);
        assert_eq!(envelope["algorithm"], "aes-256-gcm");
        assert_eq!(envelope["kdf"], "scrypt(N=32768,r=8,p=1)");
        let bytes = |key: &str| STANDARD.decode(envelope[key].as_str().unwrap()).unwrap();
        let mut key = [0u8; 32];
        scrypt::scrypt(passphrase.as_bytes(), &bytes("salt"), &scrypt::Params::new(15, 8, 1).unwrap(), &mut key)
            .unwrap();
        let nonce: [u8; 12] = bytes("nonce").try_into().unwrap();
        let plain =
            aes_gcm::Aes256Gcm::new(&key.into()).decrypt(&nonce.into(), bytes("ciphertext").as_slice()).unwrap();
        String::from_utf8(plain).unwrap()
    }
}

#[test]
fn the_description_describes_the_samples() {
    for name in ["v2-unsigned.json", "v2-unsigned-escaping.json", "v2-unsigned-no-next-no-changed.json"] {
        assert!(!described::verify(&sample_json(name)));
    }
    for name in ["v3-signed.json", "v3-signed-no-name-escaping.json"] {
        assert!(described::verify(&sample_json(name)));
    }
    for (name, passphrase) in
        [("encrypted-v2.json", PASSPHRASE), ("encrypted-v2-unicode-passphrase.json", "pässwörd 🔑")]
    {
        assert!(!described::verify(&serde_json::from_str(&described::open(&sample_json(name), passphrase)).unwrap()));
    }
}

#[test]
fn what_we_export_is_what_the_description_demands() {
    let world = World::new();
    let id = world.write_one("Ship the <b>parser</b> & more");
    world.keygen("../key.pem");
    world.write("../pass", format!("{PASSPHRASE}\n"));
    let export = |flags: &[&str]| {
        let output = world.later(&[&["history", "export", "--format", "json"], flags].concat()).expect(0);
        output.stderr_ignored("others can read the test's passphrase").stdout
    };
    let sign = ["--sign-key", "../key.pem", "--signer", "Bob & <Sons>"];
    let encrypt = ["--passphrase-file", "../pass"];
    for (flags, is_signed, is_encrypted) in [
        (vec![], false, false),
        (sign.to_vec(), true, false),
        (encrypt.to_vec(), false, true),
        ([sign, [encrypt[0], encrypt[1], "--encrypt", "--quiet"]].concat(), true, true),
    ] {
        let text = export(&flags);
        assert!(text.ends_with("}\n") && text.starts_with("{\n  \"version\": "), "{text}");
        let json: Json = serde_json::from_str(&text).unwrap();
        let inner = if is_encrypted { described::open(&json, PASSPHRASE) } else { text.trim_end().to_owned() };
        assert!(inner.ends_with('}'), "theirs ends without a newline");
        let bundle: Json = serde_json::from_str(&inner).unwrap();
        assert_eq!(described::verify(&bundle), is_signed);
        // Byte for byte as Go writes it: every string in the escapes of Go.
        assert!(
            inner.contains(&format!("\"title\": {}", described::go_string("Ship the <b>parser</b> & more"))),
            "{inner}"
        );
        assert_eq!(bundle["record"]["id"], id.as_str());
        assert_eq!(bundle["record"]["next"][0], "Fix <the> \"lexer\" & \\ go on");
        assert_eq!(bundle["agent_handover"]["document"], world.read(&format!(".agent-history/sessions/{id}.md")));
    }
}

#[test]
fn a_handoff_goes_to_another_machine_and_back_unchanged_in_every_format() {
    for (format, is_signed, is_encrypted) in [
        ("json", false, false),
        ("json", true, false),
        ("json", false, true),
        ("json", true, true),
        ("jsonl", false, false),
        ("jsonl", true, false),
        ("jsonl", true, true),
    ] {
        let case = format!("{format}, signed: {is_signed}, encrypted: {is_encrypted}");
        let (here, there) = (World::new(), World::new());
        let ids = [here.write_one("first"), here.write_one("second")];
        here.keygen("../key.pem");
        let flags = |world: &World| {
            world.write("../pass", PASSPHRASE);
            let mut flags = vec!["--format", format, "--output", "../out"];
            flags.extend(if format == "jsonl" { vec!["--all"] } else { vec!["--id", &ids[1]] });
            flags.extend(if is_encrypted { ["--passphrase-file", "../pass"].as_slice() } else { [].as_slice() });
            let sign = ["--sign-key", "../key.pem", "--signer", "Here"];
            flags.extend(if is_signed { sign.as_slice() } else { [].as_slice() });
            flags.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let export = |world: &World| {
            let flags = flags(world);
            let arguments: Vec<&str> =
                ["history", "export"].into_iter().chain(flags.iter().map(String::as_str)).collect();
            world.later(&arguments).expect(0).stderr_ignored("others can read the test's key");
            std::fs::read(world.path("../out")).unwrap()
        };
        let mut import: Vec<&str> = Vec::new();
        import.extend(if is_signed { [].as_slice() } else { ["--allow-unsigned"].as_slice() });
        import.extend(if is_encrypted { ["--passphrase-file", "../pass"].as_slice() } else { [].as_slice() });
        if is_signed {
            // The public half, told by its owner.
            let key = std::fs::read(here.path("../key.pem")).unwrap();
            there.write("../key.pem", key);
            there.later(&["trust", "add", "../key.pem", "--name", "Here"]).expect(0);
            here.later(&["trust", "add", "../key.pem", "--name", "Here"]).expect(0);
        }
        let sent = export(&here);
        there.write("../pass", PASSPHRASE);
        there.import(&sent, &import).expect(0).stderr_ignored("others can read the test's passphrase");
        let wanted: Vec<&String> = if format == "jsonl" { ids.iter().rev().collect() } else { vec![&ids[1]] };
        assert_eq!(there.stored().iter().collect::<Vec<_>>(), wanted, "{case}");
        for id in &wanted {
            // All that was added is where it came from.
            let text = there.read(&format!(".agent-history/sessions/{id}.md"));
            let kept: String = text.split_inclusive('\n').filter(|line| !line.starts_with("origin")).collect();
            assert_eq!(kept, here.read(&format!(".agent-history/sessions/{id}.md")), "{case}");
            assert_eq!(there.bundle(id)["record"], here.bundle(id)["record"], "{case}");
            // The document that is exported again says where it came from.
            assert_eq!(there.bundle(id)["agent_handover"]["document"], text);
        }
        // Back at home it is what is there already.
        let before = here.tree();
        let back = here.import(export(&there), &import).expect(0);
        let back = back.stderr_ignored("others can read the test's passphrase");
        assert!(back.stdout.lines().all(|line| line.starts_with("unchanged handoff ")), "{case}: {}", back.stdout);
        assert_eq!(here.tree(), before, "{case}");
    }
}

#[test]
fn a_flipped_byte_is_refused_with_6_or_65() {
    let world = World::new();
    world.trust_alice();
    let id = world.write_one("ours");
    let key = world.keygen("../key.pem");
    world.later(&["trust", "add", "../key.pem", "--name", "Me"]).expect(0);
    let signed =
        world.later(&["history", "export", "--format", "json", "--sign-key", "../key.pem", "--signer", "Me"]).expect(0);
    std::fs::remove_dir_all(world.path(".agent-history")).unwrap();
    world.import(&signed.stdout, &[]).expect(0);
    assert!(world.read(&format!(".agent-history/sessions/{id}.md")).contains(&format!("origin_key: \"{key}\"")));
    std::fs::remove_dir_all(world.path(".agent-history")).unwrap();
    // Every position is flipped in the tests of the library; here some of them go all the way, the name of the signer included.
    for (text, flags, stride) in [
        (signed.stdout, vec![], 131),
        (sample_text("v3-signed.json"), vec![], 29),
        (sample_text("encrypted-v3.json"), vec!["--passphrase", PASSPHRASE], 97),
    ] {
        let name = text.find("Alice Example");
        let places = (0..text.len()).step_by(stride).chain(name.into_iter().flat_map(|at| at..at + 13));
        for place in places {
            let mut bytes = text.as_bytes().to_vec();
            bytes[place] ^= 1 << (place % 7);
            let output = world.import(&bytes, &flags);
            assert!([6, 65].contains(&output.code), "byte {place}: {}", output.seen());
            assert!(!world.exists(".agent-history"), "byte {place}");
        }
    }
}
