//! Whom the user trusts: which key an argument means, names that people can tell apart, and a list that nobody else changes.

use std::os::unix::fs::PermissionsExt;

use super::bundle::*;
use super::support::*;

/// A key of somebody else, in the form that bundles carry.
fn new_key(world: &World, file: &str) -> String {
    world.later(&["keygen", "--output", file, "--json"]).expect(0).json()["public_key"].as_str().unwrap().to_owned()
}

fn trusted(world: &World) -> Vec<(String, String)> {
    let list = world.later(&["trust", "list", "--json"]).expect(0).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let keys = list["keys"].as_array().unwrap().iter();
    keys.map(|key| (text(&key["public_key"]), text(&key["name"]))).collect()
}

fn list(world: &World) -> std::path::PathBuf {
    world.home().join(".local/share/agent-handover/trusted")
}

#[test]
fn an_argument_that_is_a_key_is_never_taken_for_a_file() {
    let world = World::new();
    let (honest, planted) = (new_key(&world, "../honest.pem"), new_key(&world, "../planted.pem"));
    let pem = std::fs::read_to_string(world.path("../planted.pem")).unwrap();
    // A key may have slashes, so the file of that name may be in a directory.
    world.write(&honest, &pem);
    world.later(&["trust", "add", &honest, "--name", "Honest"]).expect(0);
    assert_eq!(trusted(&world), [(honest.clone(), "Honest".to_owned())]);
    // A text of this form that is not a key is not a file, either.
    let weak = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    world.write(weak, &pem);
    let refused = world.later(&["trust", "add", weak]).expect(65);
    assert!(refused.stderr.contains("weak"), "{}", refused.stderr);
    world.write("key.pem", &pem);
    world.later(&["trust", "add", "key.pem"]).expect(0);
    assert!(trusted(&world).iter().any(|(key, _)| *key == planted));
}

#[test]
fn names_are_unique_and_people_can_tell_them_apart() {
    let world = World::new();
    let (alice, mallory) = (new_key(&world, "../a.pem"), new_key(&world, "../m.pem"));
    world.later(&["trust", "add", &alice, "--name", "Alice"]).expect(0);
    for (name, code, why) in [
        ("Al\u{200b}ice", 65, "nobody sees its character U+200B"),
        ("Alice", 1, "is the name of another key"),
        ("A1ice", 1, "looks like `Alice`"),
        ("Аlice", 65, "mixes Latin and Cyrillic letters"),
        ("Ali\u{7}ce", 65, "nobody sees"),
    ] {
        let refused = world.later(&["trust", "add", &mallory, "--name", name]).expect(code);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        // A bundle cannot bring such a name, either.
        world
            .later(&["history", "create", "--goal", "x", "--next", "Do y"])
            .expect(0)
            .stderr_ignored("not of interest");
        let sign = ["history", "export", "--format", "json", "--sign-key", "../m.pem", "--signer", name];
        let bundle = world.later(&sign).expect(0).stdout;
        world.write("../bundle.json", bundle);
        world.later(&["trust", "add", "../bundle.json"]).expect(code);
    }
    assert_eq!(trusted(&world), [(alice.clone(), "Alice".to_owned())]);
    // An older version let such a name in.
    let file = std::fs::read_dir(list(&world)).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    world.later(&["trust", "add", &mallory]).expect(0);
    let other = std::fs::read_dir(list(&world)).unwrap().map(|it| it.unwrap().path()).find(|it| *it != file).unwrap();
    std::fs::write(&other, text.replace(&alice, &mallory).replace("Alice", "Al\\u200bice")).unwrap();
    let shown = world.later(&["trust", "list"]).expect(0).stdout;
    assert!(shown.contains("Al\\u{200b}ice"), "{shown}");
    let refused = world.later(&["trust", "remove", "Alice"]).expect(1);
    assert!(refused.stderr.contains("several trusted keys fit `Alice`; none was removed"), "{}", refused.stderr);
    let fingerprint = other.file_name().unwrap().to_str().unwrap();
    world.later(&["trust", "remove", fingerprint]).expect(0);
    world.later(&["trust", "remove", "Alice"]).expect(0);
}

#[test]
fn a_key_without_a_name_vouches_and_the_name_is_a_claim() {
    let world = World::new();
    let pem = sample("signer-public-key.pem").display().to_string();
    world.later(&["trust", "add", &pem]).expect(0);
    world.import_sample("v3-signed.json", &[]).expect(0);
    let shown = world.later(&["history", "show", "20261116-001428"]).expect(0);
    let claim = "signed by key 4a49626ae1bfbea6, whose owner claims the name `Alice Example`";
    assert!(shown.stderr.contains(claim), "{}", shown.stderr);
    // Unless somebody else has that name.
    let world = World::new();
    world.later(&["trust", "add", &pem]).expect(0);
    let other = new_key(&world, "../other.pem");
    world.later(&["trust", "add", &other, "--name", "Alice Example"]).expect(0);
    let refused = world.import_sample("v3-signed.json", &[]).expect(6);
    assert!(refused.stderr.contains("the name of another key that you trust"), "{}", refused.stderr);
    assert!(world.has_nothing());
}

#[test]
fn a_trust_list_that_is_damaged_or_open_to_others_is_an_error_everywhere() {
    let world = World::new();
    world.trust_alice();
    let file = std::fs::read_dir(list(&world)).unwrap().next().unwrap().unwrap().path();
    let good = std::fs::read(&file).unwrap();
    let set_mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let check = |why: &str| {
        for command in [&["trust", "list"][..], &["trust", "remove", "Alice Example"]] {
            let refused = world.later(command).expect(65);
            assert!(refused.stderr.contains(why), "{command:?}: {}", refused.stderr);
        }
        let refused = world.import_sample("v3-signed.json", &[]).expect(65);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        assert!(world.has_nothing());
        let doctor = world.later(&["doctor"]).expect(5).seen();
        assert!(doctor.contains("no signature counts") && doctor.contains(why), "{doctor}");
    };
    std::fs::write(&file, &good[..good.len() / 2]).unwrap();
    check("is not a trusted key");
    std::fs::write(&file, &good).unwrap();
    for (path, mode) in [(list(&world), 0o700), (file.clone(), 0o600)] {
        set_mode(&path, mode | 0o022);
        check("others can change the list of trusted keys");
        set_mode(&path, mode);
    }
    let away = list(&world).with_extension("away");
    std::fs::rename(list(&world), &away).unwrap();
    std::fs::write(list(&world), "").unwrap();
    check("is not a directory");
    std::fs::remove_file(list(&world)).unwrap();
    std::os::unix::fs::symlink(&away, list(&world)).unwrap();
    check("is not a directory");
    std::fs::remove_file(list(&world)).unwrap();
    std::fs::rename(&away, list(&world)).unwrap();
    let doctor = world.later(&["doctor"]);
    assert!(doctor.stdout.contains("1 trusted key"), "{}", doctor.seen());
    world.import_sample("v3-signed.json", &[]).expect(0);
}

#[test]
fn a_pipe_in_the_place_of_a_key_is_refused_without_waiting() {
    let world = World::new();
    world.write_one("x");
    let made = world.clean("mkfifo").arg("pipe").status().unwrap();
    assert!(made.success());
    let export = ["history", "export", "--format", "json", "--sign-key", "pipe"];
    for refused in [world.later(&export).expect(74), world.later(&["trust", "add", "pipe"]).expect(74)] {
        assert!(refused.stderr.contains("not a plain file"), "{}", refused.stderr);
        assert!(refused.stderr.contains("it is a pipe: write what comes out"), "{}", refused.stderr);
    }
}

#[test]
fn only_a_person_renames_a_trusted_key() {
    let world = World::new();
    let key = new_key(&world, "../a.pem");
    world.later(&["trust", "add", &key, "--name", "Alice"]).expect(0);
    assert!(world.later(&["trust", "add", &key]).expect(0).stdout.starts_with("trusted Alice "));
    // The name in a bundle is a claim, even if the owner of the key states it.
    world.write_one("x");
    let sign = ["history", "export", "--format", "json", "--output", "../b.json", "--sign-key", "../a.pem"];
    world.later(&[&sign[..], &["--signer", "Bob Boss"]].concat()).expect(0);
    let added = world.later(&["trust", "add", "../b.json"]).expect(0);
    assert!(added.stderr.contains("`Bob Boss`, which it claims"), "{}", added.stderr);
    assert_eq!(trusted(&world), [(key.clone(), "Alice".to_owned())]);
    world.later(&["trust", "add", &key, "--name", "Alice 2"]).expect(0);
    assert_eq!(trusted(&world), [(key, "Alice 2".to_owned())]);
}

#[test]
fn a_stranger_who_takes_the_name_of_somebody_trusted_is_called_one() {
    let world = World::new();
    let (alice, _) = (new_key(&world, "../a.pem"), new_key(&world, "../m.pem"));
    world.later(&["trust", "add", &alice, "--name", "Alice"]).expect(0);
    world.write_one("x");
    let sign = ["history", "export", "--format", "json", "--sign-key", "../m.pem", "--signer", "A1ice"];
    let bundle = world.later(&sign).expect(0).stdout;
    let refused = world.import(bundle, &[]).expect(6);
    assert!(refused.stderr.contains("you trust another key under that name: Alice "), "{}", refused.stderr);
    assert!(!refused.stderr.contains("trust add"), "{}", refused.stderr);
}

#[test]
fn names_of_an_earlier_version_that_look_alike_count_for_nothing_and_doctor_says_so() {
    let world = World::new();
    let (alice, mallory) = (new_key(&world, "../a.pem"), world.keygen("../m.pem"));
    world.later(&["trust", "add", &alice, "--name", "Alice"]).expect(0);
    world.later(&["trust", "add", "../m.pem", "--name", "Mallory"]).expect(0);
    let file = list(&world).join(&mallory);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("Mallory", "Al\u{200b}ice")).unwrap();
    world.write_one("x");
    let sign = ["history", "export", "--format", "json", "--sign-key", "../m.pem", "--signer", "Al\u{200b}ice"];
    let bundle = world.later(&sign).expect(0).stdout;
    let there = world.import(&bundle, &["--dry-run"]).expect(6);
    assert!(there.stderr.contains("look alike: Al\\u{200b}ice"), "{}", there.stderr);
    let doctor = world.later(&["doctor"]).seen();
    assert!(doctor.contains("look alike") && doctor.contains("U+200B"), "{doctor}");
    // Alone in the list, it is shown with what nobody sees.
    world.later(&["trust", "remove", "Alice"]).expect(1);
    let alice = trusted(&world).into_iter().find(|(_, name)| name == "Alice").unwrap().0;
    std::fs::remove_file(list(&world).join(fingerprint_of(&alice))).unwrap();
    let shown = world.import(&bundle, &["--dry-run"]).expect(0);
    assert!(shown.stdout.contains("signed by Al\\u{200b}ice"), "{}", shown.stdout);
}

fn fingerprint_of(key: &str) -> String {
    use base64::Engine;
    use sha2::{Digest, Sha256};
    let bytes = base64::engine::general_purpose::STANDARD.decode(key).unwrap();
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_private_key_is_not_printed_and_a_long_passphrase_not_cut() {
    let world = World::new();
    world.later(&["keygen", "--output", "-"]).expect(64);
    assert!(!world.exists("-"));
    world.write_one("x");
    world.write("../long", "a".repeat(70_000));
    let export = ["history", "export", "--format", "json", "--encrypt", "--passphrase-file", "../long"];
    assert!(world.later(&export).expect(65).stderr.contains("longer than 64 KiB"));
}
