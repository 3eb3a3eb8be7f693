//! Text: the gate that shown text passes, and small helpers for words, names and lines.
//!
//! | file | what it holds |
//! |---|---|
//! | `clip.rs` | long text in a place for short ones, with a mark that says where the whole is |
//! | `gate.rs` | the way of all text to a terminal, a model or a JSON document |
//! | `hidden.rs` | which characters nobody sees, and where they belong to visible text |
//! | `markup.rs` | what a model or its client would take for markup, and where it is broken up |
//! | `tags.rs` | passages between tags: private ones, and those that programs wrapped |
//! | `words.rs` | lines, cuts, file names, digests, suggestions |
//!
//! Stored text never passes the gate: files, the checkpoint and bundles keep what was written, and only what is shown is
//! cleaned. `kept_line` and `without_controls` are for storage.

mod clip;
mod gate;
mod hidden;
mod markup;
mod tags;
mod words;

pub(crate) use clip::{before_cut, clipped};
pub(crate) use gate::{blotted, for_json, for_model, for_terminal};
pub(crate) use hidden::is_invisible;
pub(crate) use tags::{without_private, without_tags_at_line_start};
pub use words::digest;
pub(crate) use words::{
    after_sequence, as_left, count, cut, has_no_controls, hex, kept_line, last_line, model_line, nearest, of_bytes,
    one_line, safe_file_name, shell_word, without_controls, without_sequences, without_styles,
};
