//! The to-do list while a transcript is read, and the to-dos that vanish from it without having been completed.

use super::{Todo, TodoStatus};

const MAX_TODOS: usize = 200;
const MAX_DROPPED: usize = 50;
/// Two texts that agree in so many letters are the same to-do in other words.
const SAME_LETTERS: usize = 20;

#[derive(Default)]
pub(super) struct TodoList {
    /// By the number that the agent gave them.
    tasks: Vec<(String, Todo)>,
    dropped: Vec<String>,
}

impl TodoList {
    /// Adds a task. Without a number of its own it gets the next one.
    pub(super) fn add(&mut self, number: Option<&str>, text: String) {
        let number = number.map_or_else(|| (self.tasks.len() + 1).to_string(), str::to_owned);
        if self.tasks.len() < MAX_TODOS {
            self.dropped.retain(|other| !is_same(other, &text));
            self.tasks.push((number, Todo { text, status: TodoStatus::Pending }));
        }
    }

    /// Replaces the whole list.
    pub(super) fn replace(&mut self, todos: impl Iterator<Item = Todo>) {
        let new: Vec<Todo> = todos.take(MAX_TODOS).collect();
        let old = std::mem::take(&mut self.tasks);
        // A list of the same length has the same to-dos in the same places, even if one is reworded.
        let is_edited = old.len() == new.len()
            && old.iter().zip(&new).filter(|((_, old), new)| is_same(&old.text, &new.text)).count() * 2 >= old.len();
        for (_, todo) in old {
            let is_open = todo.status != TodoStatus::Completed;
            if is_open && !is_edited && !new.iter().any(|new| is_same(&new.text, &todo.text)) {
                self.drop(todo.text);
            }
        }
        self.dropped.retain(|dropped| !new.iter().any(|new| is_same(&new.text, dropped)));
        self.tasks = new.into_iter().map(|todo| (String::new(), todo)).collect();
    }

    /// Replaces the whole list, or changes and adds to-dos by their numbers. A change need not repeat the text.
    pub(super) fn merge(&mut self, todos: impl Iterator<Item = (String, Todo)>, is_whole: bool) {
        let todos: Vec<(String, Todo)> = todos.take(MAX_TODOS).collect();
        if is_whole {
            self.replace(todos.iter().map(|(_, todo)| todo.clone()));
            self.tasks.iter_mut().zip(&todos).for_each(|(task, (number, _))| task.0.clone_from(number));
            return;
        }
        for (number, todo) in todos {
            let text = Some(todo.text).filter(|text| !text.trim().is_empty());
            if !self.tasks.iter().any(|(other, _)| *other == number) {
                let Some(text) = text.clone() else { continue };
                self.add(Some(&number), text);
            }
            self.change(&number, Some(todo.status), text);
        }
    }

    /// Changes one task. Without a status the task is removed.
    pub(super) fn change(&mut self, number: &str, status: Option<TodoStatus>, text: Option<String>) {
        let Some(at) = self.tasks.iter().position(|(other, _)| other == number) else { return };
        let Some(status) = status else {
            let (_, todo) = self.tasks.remove(at);
            if todo.status != TodoStatus::Completed {
                self.drop(todo.text);
            }
            return;
        };
        let todo = &mut self.tasks[at].1;
        todo.status = status;
        if let Some(text) = text {
            todo.text = text;
        }
    }

    fn drop(&mut self, text: String) {
        if !self.dropped.iter().any(|other| is_same(other, &text)) {
            self.dropped.push(text);
            if self.dropped.len() > MAX_DROPPED {
                self.dropped.remove(0);
            }
        }
    }

    /// The list at the end, and what was dropped from it.
    pub(super) fn finish(self) -> (Vec<Todo>, Vec<String>) {
        (self.tasks.into_iter().map(|(_, todo)| todo).collect(), self.dropped)
    }
}

/// The status that most agents name so. One that is cancelled is no longer on the list.
pub(super) fn status(name: &str) -> Option<TodoStatus> {
    match name {
        "pending" | "blocked" => Some(TodoStatus::Pending),
        "in_progress" => Some(TodoStatus::InProgress),
        "completed" | "done" => Some(TodoStatus::Completed),
        _ => None,
    }
}

/// The to-dos of a Markdown list: `- [x] done`, `- [ ] open`.
pub(super) fn of_markdown(list: &str) -> impl Iterator<Item = Todo> {
    list.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches(['-', '*']).trim_start();
        let (mark, text) = line.strip_prefix('[')?.split_once(']')?;
        let status = match mark {
            "x" | "X" => TodoStatus::Completed,
            " " | "" => TodoStatus::Pending,
            "/" | "~" | "-" => TodoStatus::InProgress,
            _ => return None,
        };
        Some(Todo { text: text.trim().to_owned(), status })
    })
}

/// Whether two texts are the same to-do: the same beginning, or most words in common.
fn is_same(one: &str, other: &str) -> bool {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
        letters.take(SAME_LETTERS).collect()
    };
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.take(SAME_LETTERS).map(str::to_lowercase).collect()
    };
    if letters(one) == letters(other) {
        return true;
    }
    let (one, other) = (words(one), words(other));
    let common = one.iter().filter(|word| other.contains(word)).count();
    common * 3 >= one.len().max(other.len()) * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn todo(text: &str, status: TodoStatus) -> Todo {
        Todo { text: text.to_owned(), status }
    }

    fn dropped(lists: &[&[(&str, TodoStatus)]]) -> Vec<String> {
        let mut list = TodoList::default();
        for todos in lists {
            list.replace(todos.iter().map(|(text, status)| todo(text, *status)));
        }
        list.finish().1
    }

    #[test]
    fn a_todo_that_vanishes_open_is_dropped() {
        use TodoStatus::{Completed, InProgress, Pending};
        let first: &[(&str, TodoStatus)] = &[
            ("Add spans to the lexer", Completed),
            ("Try the arena allocator", InProgress),
            ("Document spans", Pending),
        ];
        let same: &[(&str, TodoStatus)] = &[("Try the arena allocator", Completed), ("Document spans", Pending)];
        assert_eq!(dropped(&[first, same]), [""; 0]);
        let without: &[(&str, TodoStatus)] = &[("Add spans to the lexer", Completed), ("Document spans", Completed)];
        assert_eq!(dropped(&[first, without]), ["Try the arena allocator"]);
        assert_eq!(dropped(&[first, &[]]), ["Try the arena allocator", "Document spans"]);
        assert_eq!(dropped(&[first, without, first]), [""; 0], "it came back");
        let reworded: &[(&str, TodoStatus)] =
            &[("Try the arena allocator for tokens", Pending), ("document the spans", Pending), ("More", Pending)];
        assert_eq!(dropped(&[first, reworded]), [""; 0]);
        let in_place: &[(&str, TodoStatus)] =
            &[("Add spans to the lexer", Completed), ("Try bumpalo", InProgress), ("Document spans", Pending)];
        assert_eq!(dropped(&[first, in_place]), [""; 0]);
        let others: &[(&str, TodoStatus)] = &[("a", Pending), ("b", Pending), ("c", Pending)];
        assert_eq!(dropped(&[first, others]), ["Try the arena allocator", "Document spans"]);
    }

    #[test]
    fn a_task_that_is_deleted_open_is_dropped() {
        let mut list = TodoList::default();
        for text in ["one thing", "another", "third"] {
            list.add(None, text.to_owned());
        }
        list.change("1", Some(TodoStatus::Completed), None);
        list.change("1", None, None);
        list.change("2", None, None);
        list.change("7", None, None);
        list.change("3", Some(TodoStatus::InProgress), Some("third, renamed".to_owned()));
        let (todos, dropped) = list.finish();
        assert_eq!(todos, [todo("third, renamed", TodoStatus::InProgress)]);
        assert_eq!(dropped, ["another"]);
    }

    #[test]
    fn any_number_of_todos_is_bounded() {
        let mut list = TodoList::default();
        for number in 0..500 {
            list.replace((0..3).map(|item| todo(&format!("{number}x{item}"), TodoStatus::Pending)));
        }
        list.replace((0..1_000).map(|item| todo(&format!("last{item}"), TodoStatus::Pending)));
        let (todos, dropped) = list.finish();
        assert_eq!((todos.len(), dropped.len()), (MAX_TODOS, MAX_DROPPED));
    }
}
