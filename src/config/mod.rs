//! `handover.toml` and the user's own config as checked values that remember their place.
//!
//! | file | what it holds |
//! |---|---|
//! | `values.rs` | the checked values, their defaults, and where each came from |
//! | `load.rs` | from a file to values; every problem of the file at once |
//! | `brackets.rs` | the bracket that is not closed |
//! | `python.rs` | how a file of the Python tool is recognised |
//! | `user.rs` | the user's own config, for all projects |
//! | `reader.rs` | one table, key by key |
//! | `category.rs` | the categories of the current state |
//! | `template.rs` | `{{ … }}` in values |
//! | `schema.rs` | the JSON Schema of `handover.toml`, made from what the readers ask for; only tests compile it |

mod brackets;
pub(crate) mod category;
mod file;
mod load;
mod python;
mod reader;
#[cfg(test)]
mod schema;
pub(crate) mod template;
mod user;
mod values;

pub(crate) use file::ConfigFile;
pub(crate) use load::{KindReader, Vocabulary, check_tag};
pub(crate) use python::tag_in_file_names as python_tag_in_file_names;
pub(crate) use reader::Reader;
pub(crate) use user::{user_config, user_config_for_person};
pub use values::Config;
pub(crate) use values::{Keep, MIN_WARMUP_BUDGET, Origin, Secrets};

/// The directory of kept talk, below the state directory and below the history.
pub(crate) const TALK: &str = "talk";
pub(crate) const FILE_NAME: &str = "handover.toml";
/// The JSON Schema of `handover.toml`, for editors.
pub(crate) const SCHEMA: &str = include_str!("../../docs/reference/handover.schema.json");
/// The commented file that `init` writes; it names every key.
pub(crate) const EXAMPLE: &str = include_str!("../../handover.toml.example");
