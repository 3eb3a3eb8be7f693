//! Campaigns: several machines share one branch and do whatever people, clocks and power cuts do, in an order that a seed
//! decides. Afterwards all of them have the same files, and nothing is lost, doubled or resurrected.

use std::collections::{BTreeMap, BTreeSet};

use super::support::*;

const STEPS: &str = "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n\
    [[step]]\nname = \"history\"\nkind = \"history\"\n";
/// Categories that are never full, and of which the state drops nothing however large it is.
const CATEGORIES: &str = "[category.open_loop]\nmode = \"append\"\nkeep = 1000\n[category.promise]\nmode = \"append\"\nkeep = 1000\n\
    [category.constraint]\nkeep = 1000\n";
const ARCHIVES: &str = "memory/layer3/";
/// The clock of everybody at the end.
const END: &str = "2026-11-16T10:00:00Z";
const POINTS: [&str; 8] = [
    "fs.replaced",
    "fs.renamed",
    "fs.written",
    "fs.removed",
    "process.ended",
    "checkpoint.recorded",
    "checkpoint.intended",
    "checkpoint.settled",
];

/// A generator of numbers that a seed decides (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }
}

/// Which branch the machines share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Branch {
    Own,
    Code,
}

/// What must be true of a text at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    There,
    Gone,
    /// The process was killed while it changed that.
    Unknown,
}

struct Machine {
    world: World,
    /// How far its clock is off, in minutes.
    skew: i64,
    is_offline: bool,
}

#[derive(Default)]
struct Figures {
    operations: usize,
    kills: usize,
    /// Pushes after which there was a branch of a single machine.
    beside: usize,
    commands: BTreeMap<String, usize>,
}

struct Campaign {
    seed: u64,
    branch: Branch,
    dice: Dice,
    remote: tempfile::TempDir,
    machines: Vec<Machine>,
    /// Minutes since the beginning.
    minutes: i64,
    count: usize,
    notes: BTreeMap<String, Fate>,
    /// Lines that people wrote into day files.
    lines: BTreeSet<String>,
    /// Items that exactly one machine adds, and that anybody may remove for good.
    once: BTreeMap<String, Fate>,
    /// Items that one machine adds and removes again and again.
    again: BTreeMap<String, Fate>,
    /// Items that people wrote into the current state.
    by_hand: BTreeSet<String>,
    /// Texts of which a killed process may have reported what it did not do.
    uncertain: BTreeSet<String>,
    figures: Figures,
}

impl Campaign {
    fn new(seed: u64, branch: Branch, most: usize) -> Campaign {
        let mut dice = Dice(seed);
        let size = 3 + dice.below(most - 2);
        let mut campaign = Campaign {
            seed,
            branch,
            dice,
            remote: tempfile::tempdir().unwrap(),
            machines: Vec::new(),
            minutes: 0,
            count: 0,
            notes: BTreeMap::new(),
            lines: BTreeSet::new(),
            once: BTreeMap::new(),
            again: BTreeMap::new(),
            by_hand: BTreeSet::new(),
            uncertain: BTreeSet::new(),
            figures: Figures::default(),
        };
        for number in 0..size {
            campaign.join(number);
        }
        campaign.let_others_win();
        campaign
    }

    /// A hook of the remote that moves the branch before a push to it, as often as a file says.
    fn let_others_win(&self) {
        let hook = std::path::Path::new(&self.remote()).join("hooks/update");
        let script = "#!/bin/sh\ntest \"$1\" = refs/heads/agent-handover && test -s races || exit 0\n\
            sed -i 1d races; old=$(git rev-parse $1) || exit 0\n\
            export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x\n\
            new=$(git commit-tree $old^{tree} -p $old -m faster) && git update-ref $1 $new\n";
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, script).unwrap();
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Lets others be faster than the next pushes.
    fn lose(&self, races: usize) {
        std::fs::write(std::path::Path::new(&self.remote()).join("races"), "x\n".repeat(races)).unwrap();
    }

    fn beside(&self) -> usize {
        let directory = format!("--git-dir={}", self.remote());
        self.machines[0].world.git(&[&directory, "for-each-ref", "refs/heads/agent-handover-machines/"]).lines().count()
    }

    fn remote(&self) -> String {
        self.remote.path().join("remote.git").display().to_string()
    }

    fn join(&mut self, number: usize) {
        let world = World::salted(&format!("campaign {} {number} ", self.seed));
        let remote = self.remote();
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        for (key, value) in [("user.name", "u"), ("user.email", "u@example.com"), ("gc.auto", "0")] {
            world.git(&["config", key, value]);
        }
        world.git(&["remote", "add", "origin", &remote]);
        if number == 0 {
            world.git(&["init", "--quiet", "--bare", "--initial-branch=main", &remote]);
            world.write("code.txt", "code\n");
            world.write(".gitignore", "handover.toml\n.agent-handover/\n");
            world.git(&["add", "."]);
            world.git(&["commit", "--quiet", "-m", "code"]);
            world.git(&["push", "--quiet", "origin", "main"]);
        } else {
            world.git(&["pull", "--quiet", "origin", "main"]);
        }
        let branch = if self.branch == Branch::Own { "agent-handover" } else { "main" };
        world.write(
            "handover.toml",
            format!("[backend]\ntype = \"git\"\nbranch = \"{branch}\"\ntimeout = \"60s\"\n{CATEGORIES}{STEPS}"),
        );
        // Most clocks are nearly right; the others are days wrong.
        let skew =
            if self.dice.one_in(3) { (self.dice.below(404) as i64 - 3) * 24 * 60 } else { self.dice.below(3) as i64 };
        self.machines.push(Machine { world, skew, is_offline: false });
    }

    fn now(&self, machine: usize) -> String {
        let start = chrono::DateTime::parse_from_rfc3339(NOW).unwrap().to_utc();
        let now = start + chrono::TimeDelta::minutes(self.minutes + self.machines[machine].skew);
        now.format("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    fn fresh(&mut self, sort: &str) -> String {
        self.count += 1;
        format!("{sort} {} of {}", self.count, self.seed)
    }

    /// Runs a command, now and then killed. Returns its exit code.
    fn command(&mut self, machine: usize, may_kill: bool, arguments: &[&str]) -> Output {
        let now = self.now(machine);
        let mut command = self.machines[machine].world.command(arguments);
        command.env("AGENT_HANDOVER_TEST_NOW", now);
        if may_kill && self.dice.one_in(12) {
            let point = *self.dice.pick(&POINTS);
            command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}:{}=kill", 1 + self.dice.below(6)));
        }
        let output = finish(&mut command).stderr_ignored("a campaign looks at files and exit codes");
        self.figures.operations += 1;
        self.figures.kills += usize::from(output.code == KILLED);
        *self.figures.commands.entry(arguments[..arguments.len().min(2)].join(" ")).or_default() += 1;
        output
    }

    #[track_caller]
    fn works(&self, output: &Output, codes: &[i32]) {
        let (seed, branch) = (self.seed, self.branch);
        assert!(
            codes.contains(&output.code),
            "seed {seed} {branch:?}: exit {}\n{}{}",
            output.code,
            output.stdout,
            output.stderr
        );
    }

    fn step(&mut self) {
        self.minutes += self.dice.below(40) as i64;
        let machine = self.dice.below(self.machines.len());
        match self.dice.below(100) {
            0..22 => self.note(machine),
            22..42 => self.add_once(machine),
            42..58 => self.add_or_remove_again(machine),
            58..68 => self.remove_any(machine),
            68..72 => self.add_shared(machine),
            72..75 => self.clear(machine),
            75..80 => self.edit_notes(machine),
            80..83 => self.edit_state(machine),
            83..86 => {
                let output = self.command(machine, true, &["compact"]);
                self.works(&output, &[0, KILLED]);
            }
            86..88 => self.machines[machine].is_offline ^= true,
            88..97 => self.publish(machine),
            _ => self.pull(machine),
        }
    }

    fn note(&mut self, machine: usize) {
        let note = self.fresh("note");
        let output = self.command(machine, true, &["run", "--note", &note]);
        // Code 1: an older run failed again.
        self.works(&output, &[0, 1, KILLED]);
        let fate = if output.code == KILLED { Fate::Unknown } else { Fate::There };
        self.notes.insert(note, fate);
    }

    fn add_once(&mut self, machine: usize) {
        let text = self.fresh("once");
        let output = self.command(machine, true, &["memory", "add", "open_loop", &text]);
        self.works(&output, &[0, KILLED]);
        self.once.insert(text, if output.code == KILLED { Fate::Unknown } else { Fate::There });
    }

    /// Says a text again that this machine said and removed before, or removes it.
    fn add_or_remove_again(&mut self, machine: usize) {
        let text = format!("again {} of machine {machine}", self.dice.below(3));
        let id = self.items(machine).into_iter().find(|(_, found)| *found == text).map(|(id, _)| id);
        let output = match &id {
            Some(id) => self.command(machine, true, &["memory", "delete", id]),
            None => self.command(machine, true, &["memory", "add", "promise", &text]),
        };
        self.works(&output, &[0, KILLED]);
        let fate = if output.code == KILLED {
            Fate::Unknown
        } else if id.is_some() {
            Fate::Gone
        } else {
            Fate::There
        };
        self.again.insert(text, fate);
    }

    /// Removes an item that any machine added, for good.
    fn remove_any(&mut self, machine: usize) {
        let known: Vec<(String, String)> =
            self.items(machine).into_iter().filter(|(_, text)| self.once.contains_key(text)).collect();
        if known.is_empty() {
            return;
        }
        let (id, text) = self.dice.pick(&known).clone();
        let verb = *self.dice.pick(&["done", "delete"]);
        let output = self.command(machine, true, &["memory", verb, &id]);
        self.works(&output, &[0, KILLED]);
        self.once.insert(text, if output.code == KILLED { Fate::Unknown } else { Fate::Gone });
    }

    /// Adds an item that every machine adds, removes and clears.
    fn add_shared(&mut self, machine: usize) {
        let text = format!("shared {}", self.dice.below(4));
        let id = self.items(machine).into_iter().find(|(_, found)| *found == text).map(|(id, _)| id);
        let output = match id {
            Some(id) => self.command(machine, true, &["memory", "delete", &id]),
            None => self.command(machine, true, &["memory", "add", "constraint", &text]),
        };
        self.works(&output, &[0, KILLED]);
        if output.code == KILLED {
            self.uncertain.insert(text);
        }
    }

    fn clear(&mut self, machine: usize) {
        let output = self.command(machine, true, &["memory", "capture", "--data", r#"{"clear": ["constraint"]}"#]);
        self.works(&output, &[0, KILLED]);
        if output.code == KILLED {
            self.uncertain.extend((0..4).map(|number| format!("shared {number}")));
        }
    }

    /// Appends a line to one of the day files, however old.
    fn edit_notes(&mut self, machine: usize) {
        let line = self.fresh("line");
        let world = &self.machines[machine].world;
        let files: Vec<String> = world
            .tree()
            .into_keys()
            .filter(|path| path.starts_with("memory/layer1/") && path.ends_with(".md"))
            .collect();
        if files.is_empty() {
            return;
        }
        let path = self.dice.pick(&files).clone();
        let mut text = world.read(&path);
        if self.dice.one_in(4) {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        world.write(&path, format!("{text}{line}\n"));
        self.lines.insert(line);
    }

    /// Writes an item into the current state.
    fn edit_state(&mut self, machine: usize) {
        let text = self.fresh("by hand");
        let world = &self.machines[machine].world;
        let end = "<!-- /section -->\n";
        if !world.exists(STATE) || !world.read(STATE).contains("name=promise") {
            return;
        }
        let state = world.read(STATE);
        let start = state.find("name=promise").unwrap();
        let Some(at) = state[start..].find(end).map(|at| start + at) else { return };
        world.write(STATE, format!("{}- {text}\n{}", &state[..at], &state[at..]));
        self.by_hand.insert(text);
    }

    fn set_address(&self, machine: usize) {
        let address =
            if self.machines[machine].is_offline { "/nonexistent/remote.git".to_owned() } else { self.remote() };
        self.machines[machine].world.git(&["remote", "set-url", "origin", &address]);
    }

    fn publish(&mut self, machine: usize) {
        if self.branch == Branch::Code && self.dice.one_in(3) {
            let file = self.fresh("code");
            let world = &self.machines[machine].world;
            world.write(&file, "x\n");
            world.git(&["add", &file]);
            world.git(&["commit", "--quiet", "-m", &file]);
        }
        self.set_address(machine);
        if self.dice.one_in(2) {
            let races = self.dice.below(6);
            self.lose(races);
        }
        let output = self.command(machine, true, &["push"]);
        let offline = if self.machines[machine].is_offline { 1 } else { 0 };
        self.works(&output, &[0, offline, KILLED]);
        self.figures.beside += usize::from(self.beside() > 0);
    }

    fn pull(&mut self, machine: usize) {
        self.set_address(machine);
        let offline = if self.machines[machine].is_offline { 1 } else { 0 };
        if self.branch == Branch::Own {
            let output = self.command(machine, true, &["pull"]);
            // Code 5: two machines have different content for one id.
            self.works(&output, &[0, offline, KILLED]);
            return;
        }
        // As the documentation says: what is not committed yet comes first.
        let output = self.command(machine, false, &["push"]);
        self.works(&output, &[0, offline]);
        if offline == 0 {
            self.users_pull(machine);
        }
    }

    /// A `git pull` of the user's, and now and then a `git push`.
    fn users_pull(&mut self, machine: usize) {
        let how = if self.dice.one_in(2) { "--rebase" } else { "--no-rebase" };
        let world = &self.machines[machine].world;
        world.git(&["pull", "--quiet", "--no-edit", how, "origin", "main"]);
        world.git(&["push", "--quiet", "origin", "main"]);
        self.figures.operations += 2;
    }

    fn items(&self, machine: usize) -> Vec<(String, String)> {
        let world = &self.machines[machine].world;
        if !world.exists(STATE) {
            return Vec::new();
        }
        let state = world.read(STATE);
        let mut lines = state.lines();
        let mut items = Vec::new();
        while let Some(line) = lines.next() {
            if let Some(rest) = line.strip_prefix("<!-- item id=") {
                let text = lines.next().unwrap_or_default().strip_prefix("- ").unwrap_or_default();
                items.push((rest.split(' ').next().unwrap_or_default().to_owned(), text.to_owned()));
            }
        }
        items
    }

    /// Everybody finishes what is unfinished, and pushes and pulls until nothing moves.
    fn come_to_rest(&mut self) {
        let end = chrono::DateTime::parse_from_rfc3339(END).unwrap();
        let start = chrono::DateTime::parse_from_rfc3339(NOW).unwrap();
        self.minutes = (end - start).num_minutes();
        self.lose(0);
        for machine in 0..self.machines.len() {
            self.machines[machine].skew = 0;
            self.machines[machine].is_offline = false;
            self.set_address(machine);
            let output = self.command(machine, false, &["run", "--resume"]);
            self.works(&output, &[0]);
        }
        let name = if self.branch == Branch::Own { "agent-handover" } else { "main" };
        for _ in 0..6 {
            let tip = |campaign: &Campaign| {
                let directory = format!("--git-dir={}", campaign.remote());
                campaign.machines[0].world.git(&[
                    &directory,
                    "for-each-ref",
                    "--format=%(objectname)",
                    &format!("refs/heads/{name}"),
                ])
            };
            let before = tip(self);
            for machine in 0..self.machines.len() {
                let output = self.command(machine, false, &["push"]);
                self.works(&output, &[0]);
                match self.branch {
                    Branch::Own => drop(self.command(machine, false, &["pull"])),
                    Branch::Code => self.users_pull(machine),
                }
            }
            if tip(self) == before {
                assert_eq!(self.beside(), 0, "seed {} {:?}: branches of machines are left", self.seed, self.branch);
                return;
            }
        }
        panic!("seed {} {:?}: the machines do not come to rest", self.seed, self.branch);
    }

    fn published(&self, machine: usize) -> BTreeMap<String, String> {
        let mut tree = self.machines[machine].world.everything();
        tree.retain(|path, _| path.starts_with("memory/") || path.starts_with(".agent-history/"));
        tree
    }

    fn check(&self) {
        let case = format!("seed {} {:?}", self.seed, self.branch);
        let files = self.published(0);
        for machine in 1..self.machines.len() {
            let other = self.published(machine);
            for path in files.keys().chain(other.keys()) {
                assert_eq!(files.get(path), other.get(path), "{case}: {path} differs on machine {machine}");
            }
        }
        for Machine { world, .. } in &self.machines {
            let strays: Vec<String> = world
                .strays()
                .into_iter()
                .filter(|path| path.contains("/memory/") || path.contains("/.agent-h"))
                .collect();
            assert_eq!(strays, [""; 0], "{case}");
        }
        let of = |part: &str| -> String {
            files.iter().filter(|(path, _)| path.contains(part)).map(|(_, text)| text.as_str()).collect()
        };
        let (state, sessions) = (of("layer2/"), of("/sessions/"));
        let days = of("memory/layer1/");
        // The summary of an archive repeats what is below it.
        let archives: String = files
            .iter()
            .filter(|(path, _)| path.starts_with(ARCHIVES))
            .map(|(_, text)| text.split_once("<!-- /roll-up -->").map_or(text.as_str(), |(_, rest)| rest))
            .collect();
        let said = format!("{days}{archives}").replace("\r\n", "\n");
        let count = |text: &str, part: &str| text.matches(part).count();
        for (note, fate) in &self.notes {
            let found = count(&said, &format!("\n{note}\n<!-- /note -->"));
            let archived = count(&sessions, &format!("\nprimary_goal: \"{note}\"\n"));
            match fate {
                Fate::There => assert_eq!((found, archived), (1, 1), "{case}: {note}"),
                _ => assert!(
                    found <= 1 && archived == found,
                    "{case}: {note} is there {found} times, {archived} archived"
                ),
            }
        }
        for line in &self.lines {
            assert_eq!(count(&said, &format!("\n{line}\n")), 1, "{case}: {line}\n{said}");
        }
        for (text, fate) in self.once.iter().chain(&self.again) {
            let found = count(&state, &format!("\n- {text}\n"));
            match fate {
                Fate::There => assert_eq!(found, 1, "{case}: {text} is lost or doubled"),
                Fate::Gone => assert_eq!(found, 0, "{case}: {text} is resurrected"),
                Fate::Unknown => assert!(found <= 1, "{case}: {text} is doubled"),
            }
        }
        for text in &self.by_hand {
            assert_eq!(count(&state, &format!("\n- {text}\n")), 1, "{case}: {text}");
            let reported = said
                .lines()
                .filter(|line| line.starts_with("- added ") && line.ends_with(&format!(": {text}")))
                .count();
            assert_eq!(reported, 1, "{case}: {text} is reported {reported} times");
        }
        self.check_reports(&case, &said);
    }

    /// Everything that entered or left layer 2 is in layer 1: the last report about a text says where it is.
    fn check_reports(&self, case: &str, said: &str) {
        let there: BTreeSet<String> = self.items(0).into_iter().map(|(_, text)| text).collect();
        let shared = (0..4).map(|number| format!("shared {number}"));
        let is_certain = |text: &String| !self.uncertain.contains(text) && self.once.get(text) != Some(&Fate::Unknown);
        for text in shared.chain(self.once.keys().cloned()).filter(is_certain) {
            let reports = |verbs: &[&str]| {
                let is_report = |line: &&str| {
                    verbs.iter().any(|verb| line.starts_with(verb)) && line.ends_with(&format!(": {text}"))
                };
                said.lines().filter(is_report).count()
            };
            let (entered, left) =
                (reports(&["- added "]), reports(&["- done ", "- deleted ", "- cleared ", "- dropped "]));
            if there.contains(&text) {
                assert!(entered > 0, "{case}: nobody reported that {text} was added");
            } else if entered > 0 {
                assert!(left > 0, "{case}: nobody reported that {text} left");
            }
        }
    }

    fn run(seed: u64, branch: Branch, most: usize, operations: usize) -> Figures {
        let mut campaign = Campaign::new(seed, branch, most);
        while campaign.figures.operations < operations {
            campaign.step();
        }
        campaign.come_to_rest();
        campaign.check();
        let Figures { operations, kills, beside, .. } = campaign.figures;
        eprintln!(
            "seed {seed} {branch:?}: {} machines, {operations} operations, {kills} kills, {beside} pushes beside the branch",
            campaign.machines.len()
        );
        campaign.figures
    }
}

#[test]
fn a_short_campaign_on_each_branch_loses_and_doubles_nothing() {
    Campaign::run(1, Branch::Own, 3, 14);
    Campaign::run(2, Branch::Code, 3, 10);
}

/// `CAMPAIGN_SEEDS=1..60` says which seeds, `CAMPAIGN_OPERATIONS=300` how many operations each has.
#[test]
#[ignore = "takes minutes: cargo test --test it -- --ignored long_campaigns --nocapture"]
fn long_campaigns_lose_and_double_nothing() {
    let setting = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let seeds = setting("CAMPAIGN_SEEDS", "1..40");
    let (first, last) = seeds.split_once("..").unwrap();
    let operations = setting("CAMPAIGN_OPERATIONS", "300").parse().unwrap();
    let (mut all, mut kills, mut beside) = (0, 0, 0);
    let mut commands: BTreeMap<String, usize> = BTreeMap::new();
    for seed in first.parse::<u64>().unwrap()..last.parse::<u64>().unwrap() {
        let figures = Campaign::run(seed, if seed % 3 == 2 { Branch::Code } else { Branch::Own }, 8, operations);
        (all, kills, beside) = (all + figures.operations, kills + figures.kills, beside + figures.beside);
        for (command, count) in figures.commands {
            *commands.entry(command).or_default() += count;
        }
    }
    assert!(beside > 0, "no machine ever lost three races");
    eprintln!("seeds {seeds}: {all} operations, {kills} kills, {beside} pushes beside the branch, {commands:?}");
}
