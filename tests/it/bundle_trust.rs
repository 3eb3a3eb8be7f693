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
    assert!(world.later(&export).expect(74).stderr.contains("not a plain file"));
    assert!(world.later(&["trust", "add", "pipe"]).expect(74).stderr.contains("not a plain file"));
}
