//! The queue and the journal: what is recorded about runs and steps, and what is asked about them.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::failure::{Failure, damaged, explain};
use super::file::CheckpointFile;
use super::schema;
use super::{NewRun, Next, OnUnfinished, RecordedStep, ReplannedRun, Run, RunStatus, Settled, StepState};
use crate::base::fault;
use crate::error::{Error, Result};

/// Completed runs beyond this many are forgotten, oldest first. Their notes are in the files.
pub(super) const KEPT_RUNS: i64 = 1_000;

/// Only a resume needs what a step intended, and an abandoned run is not resumed.
const FORGET_INTENTS: &str = "UPDATE step SET intent = NULL
    WHERE intent IS NOT NULL AND run IN (SELECT seq FROM run WHERE status = 'abandoned')";

/// Selects the unfinished runs in the order of the queue, with parked runs last.
const UNFINISHED: &str = "WHERE status = 'unfinished' ORDER BY EXISTS (
        SELECT 1 FROM step WHERE step.run = run.seq AND state = 'intended' AND error IS NULL AND deaths + 1 >= ?1
    ), seq";

/// An open `checkpoint.db`.
#[derive(Debug)]
pub(crate) struct Store {
    pub(super) connection: Connection,
    pub(super) file: CheckpointFile,
    /// Holds the copy that is read where the file itself cannot be.
    pub(super) scratch: Option<tempfile::TempDir>,
}

impl Store {
    /// Records a run, the first thing that every handover does: from here on nothing can be lost. Returns its place in
    /// the queue, or `None` if another process has already handed over the same part of the session. Fails if the file is
    /// out of use.
    pub(crate) fn record(&mut self, run: &NewRun<'_>, others: OnUnfinished) -> Result<Option<i64>> {
        let mut is_retired = false;
        let seq = self.write(|transaction| {
            is_retired = schema::is_retired(transaction)?;
            if is_retired {
                return Ok(None);
            }
            if let Some(handed) = run.handed
                && !handed.write(transaction, run.id, run.recorded_at)?
            {
                return Ok(None);
            }
            if others == OnUnfinished::Abandon {
                let sql = "UPDATE run SET status = 'abandoned', finished_at = ?1 WHERE status = 'unfinished'";
                transaction.execute(sql, [run.recorded_at])?;
                transaction.execute(FORGET_INTENTS, [])?;
            }
            transaction.execute(
                "INSERT INTO run (id, status, recorded_at, agent, tag, memory_dir, head, plan, inputs, worktree, branch)
                 VALUES (?1, 'unfinished', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    run.id,
                    run.recorded_at,
                    run.agent,
                    run.tag,
                    run.memory_dir,
                    run.head,
                    run.plan,
                    run.inputs,
                    run.worktree,
                    run.branch
                ],
            )?;
            let seq = transaction.last_insert_rowid();
            for (name, text) in run.texts {
                transaction
                    .execute("INSERT INTO run_text (run, name, text) VALUES (?1, ?2, ?3)", params![seq, name, text])?;
            }
            let mut insert = transaction
                .prepare("INSERT INTO step (run, position, name, kind, state) VALUES (?1, ?2, ?3, ?4, 'pending')")?;
            for (position, (name, kind)) in run.steps.iter().enumerate() {
                insert.execute(params![seq, position as i64, name, kind])?;
            }
            if let Some(intent) = run.begun {
                transaction.execute(
                    "UPDATE step SET state = 'intended', attempts = 1, intent = ?2 WHERE run = ?1 AND position = 0",
                    params![seq, intent],
                )?;
            }
            Ok(Some(seq))
        })?;
        if is_retired {
            let message = format!("`{}` is out of use: another process has merged it", self.file.path.display());
            return Err(Error::failed(message).hint("run the command again"));
        }
        fault::at("checkpoint.recorded");
        Ok(seq)
    }

    /// Takes the file out of use if nothing in it is unfinished: a process that opened it before can record nothing in it
    /// from now on. Returns whether it is out of use.
    pub(crate) fn retire(&mut self) -> Result<bool> {
        self.write(|transaction| {
            let sql = "SELECT EXISTS (SELECT 1 FROM run WHERE status = 'unfinished')";
            let is_busy: bool = transaction.query_row(sql, [], |row| row.get(0))?;
            if !is_busy {
                schema::retire(transaction)?;
            }
            Ok(!is_busy)
        })
    }

    /// Whether the file is out of use.
    pub(crate) fn is_retired(&self) -> Result<bool> {
        self.ask(schema::is_retired)
    }

    /// Records how steps ended, if any did, together with what comes next. Fails if the run is no longer unfinished.
    pub(crate) fn advance(&mut self, run: i64, settled: &[Settled], next: Next<'_>) -> Result<()> {
        if matches!(next, Next::Forget) {
            return self.forget(run);
        }
        let is_unfinished = self.write(|transaction| {
            let mut changed = 1;
            for settled in settled {
                let millis = i64::try_from(settled.duration.as_millis()).unwrap_or(i64::MAX);
                changed = transaction
                    .prepare_cached(
                        "UPDATE step SET state = ?3, duration_ms = ?4, result = ?5, detail = ?6, error = ?7
                         WHERE run = ?1 AND position = ?2 AND (SELECT status FROM run WHERE seq = ?1) = 'unfinished'",
                    )?
                    .execute(params![
                        run,
                        settled.position as i64,
                        settled.state.name(),
                        millis,
                        settled.result,
                        settled.detail,
                        settled.error
                    ])?;
            }
            match next {
                Next::Intend { position, intent, died } => {
                    changed = transaction
                        .prepare_cached(
                            "UPDATE step SET state = 'intended', attempts = attempts + 1, deaths = deaths + ?4,
                             intent = ?3, result = NULL, detail = NULL, error = NULL
                             WHERE run = ?1 AND position = ?2 AND (SELECT status FROM run WHERE seq = ?1) = 'unfinished'",
                        )?
                        .execute(params![run, position as i64, intent, died])?;
                }
                Next::Complete { at, keeps_inputs } => changed = complete(transaction, run, at, keeps_inputs)?,
                Next::Forget | Next::Rest => {}
            }
            Ok(changed > 0)
        })?;
        if !is_unfinished {
            return Err(Error::failed("another process abandoned this handover while it was running"));
        }
        if matches!(next, Next::Complete { .. }) {
            self.give_back_space();
        }
        fault::at(match next {
            Next::Intend { .. } => "checkpoint.intended",
            Next::Complete { .. } => "checkpoint.completed",
            Next::Forget | Next::Rest => "checkpoint.settled",
        });
        Ok(())
    }

    /// Removes the record of a run. After a power cut the record may be back; then its step is found to be done already.
    fn forget(&mut self, run: i64) -> Result<()> {
        self.set_synchronous("NORMAL")?;
        let forgotten = self.write(|transaction| transaction.execute("DELETE FROM run WHERE seq = ?1", [run]));
        self.set_synchronous("FULL")?;
        forgotten?;
        self.give_back_space();
        fault::at("checkpoint.forgotten");
        Ok(())
    }

    fn set_synchronous(&self, mode: &str) -> Result<()> {
        self.ask(|connection| connection.pragma_update(None, "synchronous", mode))
    }

    /// Gives an unfinished run another plan. Steps that keep the state of a recorded one also keep what is recorded of it,
    /// except for how often the process died during it.
    pub(crate) fn replan(&mut self, run: i64, new: &ReplannedRun<'_>) -> Result<()> {
        let ReplannedRun { memory, plan, steps, head } = new;
        let is_unfinished = self.write(|transaction| {
            let sql = "UPDATE run SET plan = ?2, memory_dir = ?3, head = coalesce(head, ?4)
                       WHERE seq = ?1 AND status = 'unfinished'";
            if transaction.execute(sql, params![run, plan, memory, head])? == 0 {
                return Ok(false);
            }
            // Out of the way, because positions are unique.
            transaction.execute("UPDATE step SET position = -1 - position WHERE run = ?1", [run])?;
            for (position, step) in steps.iter().enumerate() {
                match step.keeps {
                    Some(old) => transaction.execute(
                        "UPDATE step SET position = ?3, name = ?4, deaths = 0 WHERE run = ?1 AND position = -1 - ?2",
                        params![run, old as i64, position as i64, step.name],
                    )?,
                    None => transaction.execute(
                        "INSERT INTO step (run, position, name, kind, state) VALUES (?1, ?2, ?3, ?4, 'pending')",
                        params![run, position as i64, step.name, step.kind],
                    )?,
                };
            }
            transaction.execute("DELETE FROM step WHERE run = ?1 AND position < 0", [run])?;
            Ok(true)
        })?;
        if !is_unfinished {
            return Err(Error::failed("another process finished or abandoned this handover"));
        }
        fault::at("checkpoint.settled");
        Ok(())
    }

    /// Abandons runs. Their record and inputs stay, because nothing else may have their words.
    pub(crate) fn abandon(&mut self, runs: &[i64], at: &str) -> Result<()> {
        self.write(|transaction| {
            for seq in runs {
                transaction.execute(
                    "UPDATE run SET status = 'abandoned', finished_at = ?2 WHERE seq = ?1 AND status = 'unfinished'",
                    params![seq, at],
                )?;
            }
            transaction.execute(FORGET_INTENTS, [])?;
            Ok(())
        })?;
        self.give_back_space();
        fault::at("checkpoint.settled");
        Ok(())
    }

    /// The unfinished runs, oldest first. Runs whose process died at least `deaths_to_park` times during one step come
    /// last, so that they do not hold up the others.
    pub(crate) fn unfinished(&self, deaths_to_park: u32) -> Result<Vec<Run>> {
        Ok(self.runs(UNFINISHED, params![deaths_to_park])?)
    }

    /// Reads all of the file, because the damage may be anywhere.
    pub(crate) fn examine(&self) -> Result<()> {
        Ok(self.read_everything()?)
    }

    pub(super) fn read_everything(&self) -> Result<(), Failure> {
        let answer: String =
            self.query(|connection| connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        if answer != "ok" {
            return Err(damaged(&self.file.path, &answer));
        }
        self.runs(UNFINISHED, params![u32::MAX]).map(|_| ())
    }

    pub(crate) fn count_unfinished(&self) -> Result<usize> {
        let sql = "SELECT count(*) FROM run WHERE status = 'unfinished'";
        let count: i64 = self.ask(|connection| connection.query_row(sql, [], |row| row.get(0)))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    pub(crate) fn oldest_unfinished(&self) -> Result<Option<Run>> {
        Ok(self.runs("WHERE status = 'unfinished' ORDER BY seq LIMIT 1", params![])?.pop())
    }

    /// The newest run that was not abandoned.
    pub(crate) fn latest(&self) -> Result<Option<Run>> {
        Ok(self.runs("WHERE status <> 'abandoned' ORDER BY seq DESC LIMIT 1", params![])?.pop())
    }

    /// The newest runs, however they ended, the last one first; at most `most`.
    pub(crate) fn newest_runs(&self, most: usize) -> Result<Vec<Run>> {
        Ok(self.runs("ORDER BY seq DESC LIMIT ?1", params![i64::try_from(most).unwrap_or(i64::MAX)])?)
    }

    /// The newest completed run.
    pub(crate) fn latest_completed(&self) -> Result<Option<Run>> {
        Ok(self.runs("WHERE status = 'completed' ORDER BY seq DESC LIMIT 1", params![])?.pop())
    }

    /// The commit that was checked out for the last completed run of this worktree, or else of any worktree.
    pub(crate) fn last_head(&self, worktree: &str) -> Result<Option<String>> {
        Ok(self.last_with_head(worktree)?.and_then(|run| run.head))
    }

    /// The last completed run of this worktree, or else of any worktree, that knows its commit.
    pub(crate) fn last_with_head(&self, worktree: &str) -> Result<Option<Run>> {
        let order = if self.knows_worktrees()? { "worktree = ?1 DESC, seq DESC" } else { "?1 IS NULL, seq DESC" };
        let rest = format!("WHERE status = 'completed' AND head IS NOT NULL ORDER BY {order} LIMIT 1");
        Ok(self.runs(&rest, params![worktree])?.pop())
    }

    /// Whether the file has the columns for worktrees. A reader does not add them.
    pub(super) fn knows_worktrees(&self) -> Result<bool, Failure> {
        Ok(schema::knows_worktrees(self.version()?))
    }

    /// When the last completed run before this one was recorded.
    pub(crate) fn completed_before(&self, seq: i64) -> Result<Option<String>> {
        let rest = "WHERE status = 'completed' AND seq < ?1 ORDER BY seq DESC LIMIT 1";
        Ok(self.runs(rest, params![seq])?.pop().map(|run| run.recorded_at))
    }

    /// The result of a step of this kind in the last completed run before this one, from the same worktree.
    pub(crate) fn last_result_before(&self, run: &Run, kind: &str) -> Result<Option<String>> {
        let sql = "SELECT step.result FROM run JOIN step ON step.run = run.seq
            WHERE run.status = 'completed' AND run.seq < ?1 AND run.worktree = ?2 AND step.kind = ?3
            ORDER BY run.seq DESC LIMIT 1";
        let answer = self.ask(|connection| {
            connection.query_row(sql, params![run.seq, run.worktree, kind], |row| row.get(0)).optional()
        })?;
        Ok(answer.flatten())
    }

    pub(crate) fn run(&self, seq: i64) -> Result<Option<Run>> {
        Ok(self.runs("WHERE seq = ?1", params![seq])?.pop())
    }

    /// The runs whose ids begin with this text, finished or not; at most two.
    pub(crate) fn runs_beginning_with(&self, id: &str) -> Result<Vec<Run>> {
        Ok(self.runs("WHERE substr(id, 1, length(?1)) = ?1 ORDER BY seq DESC LIMIT 2", params![id])?)
    }

    /// The runs whose ids end with this text, finished or not; at most two.
    pub(crate) fn runs_ending_with(&self, id: &str) -> Result<Vec<Run>> {
        Ok(self.runs("WHERE substr(id, -length(?1)) = ?1 ORDER BY seq DESC LIMIT 2", params![id])?)
    }

    pub(crate) fn run_by_id(&self, id: &str) -> Result<Option<Run>> {
        Ok(self.runs("WHERE id = ?1", params![id])?.pop())
    }

    fn runs(&self, rest: &str, parameters: impl rusqlite::Params) -> Result<Vec<Run>, Failure> {
        let place = if self.knows_worktrees()? { "worktree, branch" } else { "'', ''" };
        let sql =
            format!("SELECT seq, id, status, recorded_at, finished_at, agent, tag, head, {place} FROM run {rest}");
        self.query(|connection| connection.prepare(&sql)?.query_map(parameters, read_run)?.collect())
    }

    /// The plan of a run that did not complete; `None` if another process removed its record.
    pub(crate) fn plan(&self, run: i64) -> Result<Option<String>> {
        let sql = "SELECT plan FROM run WHERE seq = ?1";
        self.ask(|connection| connection.query_row(sql, [run], |row| row.get(0)).optional().map(Option::flatten))
    }

    /// The plan and the inputs of a run that did not complete; completed runs no longer have them.
    pub(crate) fn plan_and_inputs(&self, run: i64) -> Result<(String, String)> {
        self.ask(|connection| {
            connection
                .query_row("SELECT plan, inputs FROM run WHERE seq = ?1", [run], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }

    /// Like [`Store::plan_and_inputs`], for any run; `None` if it completed.
    pub(crate) fn kept_plan_and_inputs(&self, run: i64) -> Result<Option<(String, String)>> {
        let sql = "SELECT plan, inputs FROM run WHERE seq = ?1 AND plan IS NOT NULL AND inputs IS NOT NULL";
        self.ask(|connection| connection.query_row(sql, [run], |row| Ok((row.get(0)?, row.get(1)?))).optional())
    }

    /// The texts of a run that are not in its inputs, by name.
    pub(crate) fn texts(&self, run: i64) -> Result<Vec<(String, String)>> {
        if !schema::knows_long_texts(self.version()?) {
            return Ok(Vec::new());
        }
        let sql = "SELECT name, text FROM run_text WHERE run = ?1 ORDER BY name";
        self.ask(|connection| {
            connection.prepare(sql)?.query_map([run], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    pub(crate) fn steps(&self, run: i64) -> Result<Vec<RecordedStep>> {
        self.ask(|connection| {
            connection
                .prepare_cached(
                    "SELECT position, name, kind, state, attempts, deaths, duration_ms, intent, result, detail, error
                     FROM step WHERE run = ?1 ORDER BY position",
                )?
                .query_map([run], read_step)?
                .collect()
        })
    }

    /// The youngest run after this one that has done a step of this kind in the same memory directory, or has begun it
    /// and is unfinished.
    pub(crate) fn younger_run_with(&self, kind: &str, run: i64) -> Result<Option<String>> {
        self.ask(|connection| {
            connection
                .query_row(
                    "SELECT younger.id FROM run JOIN run AS younger JOIN step ON step.run = younger.seq
                     WHERE run.seq = ?1 AND younger.seq > run.seq AND younger.memory_dir = run.memory_dir
                     AND step.kind = ?2
                     AND (step.state = 'done' OR step.state = 'intended' AND younger.status = 'unfinished')
                     ORDER BY younger.seq DESC LIMIT 1",
                    params![run, kind],
                    |row| row.get(0),
                )
                .optional()
        })
    }

    /// Runs `act` in one transaction, which waits for other writers before it begins.
    pub(super) fn write<T>(
        &mut self,
        act: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let run = || {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = act(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        run().map_err(|cause| explain(&self.file.path, cause).into())
    }

    pub(super) fn ask<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        Ok(self.query(question)?)
    }

    fn query<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Failure> {
        question(&self.connection).map_err(|cause| explain(&self.file.path, cause))
    }
}

/// Marks a run as completed, removes what only a resume needs, and forgets the oldest completed runs whose words are in the
/// files.
fn complete(
    transaction: &rusqlite::Transaction<'_>,
    run: i64,
    at: &str,
    keeps_inputs: bool,
) -> rusqlite::Result<usize> {
    let sql = if keeps_inputs {
        "UPDATE run SET status = 'completed', finished_at = ?2 WHERE seq = ?1 AND status = 'unfinished'"
    } else {
        "UPDATE run SET status = 'completed', finished_at = ?2, plan = NULL, inputs = NULL
         WHERE seq = ?1 AND status = 'unfinished'"
    };
    let changed = transaction.execute(sql, params![run, at])?;
    if !keeps_inputs {
        transaction.execute("DELETE FROM run_text WHERE run = ?1", [run])?;
    }
    transaction.execute("UPDATE step SET intent = NULL WHERE run = ?1", [run])?;
    if run > KEPT_RUNS {
        // Commands take numbers, too, so the numbers do not tell how many runs are kept.
        transaction.execute(
            "DELETE FROM run WHERE status = 'completed' AND inputs IS NULL AND seq <= (
                 SELECT seq FROM run WHERE status = 'completed' ORDER BY seq DESC LIMIT 1 OFFSET ?1
             )",
            [KEPT_RUNS],
        )?;
    }
    Ok(changed)
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let status: String = row.get(2)?;
    Ok(Run {
        seq: row.get(0)?,
        id: row.get(1)?,
        status: match status.as_str() {
            "completed" => RunStatus::Completed,
            "abandoned" => RunStatus::Abandoned,
            _ => RunStatus::Unfinished,
        },
        recorded_at: row.get(3)?,
        finished_at: row.get(4)?,
        agent: row.get(5)?,
        tag: row.get(6)?,
        head: row.get(7)?,
        worktree: row.get(8)?,
        branch: row.get(9)?,
    })
}

fn read_step(row: &Row<'_>) -> rusqlite::Result<RecordedStep> {
    let state: String = row.get(3)?;
    let position: i64 = row.get(0)?;
    let duration: Option<i64> = row.get(6)?;
    Ok(RecordedStep {
        position: usize::try_from(position).unwrap_or(0),
        name: row.get(1)?,
        kind: row.get(2)?,
        // A state that this version does not know: a person has to look before anything runs.
        state: StepState::ALL.into_iter().find(|known| known.name() == state).unwrap_or(StepState::Stopped),
        attempts: row.get(4)?,
        deaths: row.get(5)?,
        duration_ms: duration.and_then(|millis| u64::try_from(millis).ok()),
        intent: row.get(7)?,
        result: row.get(8)?,
        detail: row.get(9)?,
        error: row.get(10)?,
    })
}
